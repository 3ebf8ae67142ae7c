/*
 * test_system_calls.c: what the filter of a confined process answers to a call, whatever kernel runs this test: its
 * program is interpreted here. That the kernel does the same is for tests/cli/ways_out.bats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "../../src/engine/system_calls.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define HIGH 0x500000000ULL /* a pointer whose lower half is 0 */
#define ALLOWED 0
#define KILLED (-1)

static uint32_t value(const struct seccomp_data *call, uint32_t at)
{
	uint32_t word;

	assert_true(at + sizeof(word) <= sizeof(*call));
	memcpy(&word, (const char *)call + at, sizeof(word));
	return word;
}

/* errno, ALLOWED or KILLED */
static int run(const struct sock_filter *f, int n, const struct seccomp_data *call)
{
	uint32_t a = 0;

	for (int i = 0; i < n; i++) {
		const struct sock_filter *at = &f[i];

		switch (at->code) {
		case BPF_LD | BPF_W | BPF_ABS: a = value(call, at->k); break;
		case BPF_ALU | BPF_AND | BPF_K: a &= at->k; break;
		case BPF_JMP | BPF_JEQ | BPF_K: i += a == at->k ? at->jt : at->jf; break;
		case BPF_JMP | BPF_JSET | BPF_K: i += a & at->k ? at->jt : at->jf; break;
		case BPF_RET | BPF_K:
			return at->k == SECCOMP_RET_ALLOW          ? ALLOWED
			       : at->k == SECCOMP_RET_KILL_PROCESS ? KILLED
			                                           : (int)(at->k & SECCOMP_RET_DATA);
		default: fail_msg("instruction %d: %#x", i, at->code);
		}
	}
	fail_msg("no answer");
	return 0;
}

struct case_row {
	enum sockets sockets;
	int answer;
	long number;
	uint64_t args[6];
};

static void check(const struct case_row *rows, size_t count)
{
#ifdef ARCH
	for (size_t i = 0; i < count; i++) {
		struct sock_filter f[SYSTEM_CALLS_MAX];
		struct seccomp_data call = { .nr = (int)rows[i].number, .arch = ARCH };
		int n = system_calls_filter(rows[i].sockets, f);

		assert_in_range(n, 1, SYSTEM_CALLS_MAX);
		for (int arg = 0; arg < 6; arg++)
			call.args[arg] = rows[i].args[arg];
		if (run(f, n, &call) != rows[i].answer)
			fail_msg("row %zu: %d", i, run(f, n, &call));
	}
#else
	(void)rows, (void)count;
	assert_false(system_calls_can_be_held());
#endif
}

static void sockets_are_those_that_are_left(void **state)
{
	static const struct case_row rows[] = {
		{ SOCKETS_LOCAL, 0, SYS_socket, { AF_UNIX, SOCK_STREAM } },
		{ SOCKETS_LOCAL, 0, SYS_socket, { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC } },
		{ SOCKETS_LOCAL, 0, SYS_socket, { AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0 } },
		{ SOCKETS_LOCAL, EACCES, SYS_socket, { AF_NETLINK, SOCK_RAW, 2 } },
		{ SOCKETS_LOCAL, EACCES, SYS_socket, { AF_INET, SOCK_STREAM } },
		{ SOCKETS_LOCAL, EACCES, SYS_socket, { HIGH | AF_INET, SOCK_STREAM } },
		{ SOCKETS_LOCAL, EACCES, SYS_socket, { AF_INET6, SOCK_DGRAM } },
		{ SOCKETS_LOCAL, EACCES, SYS_socket, { AF_INET, SOCK_STREAM, 262 } },
		{ SOCKETS_LOCAL, 0, SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET } },
		{ SOCKETS_LOCAL, EACCES, SYS_socketpair, { 30, SOCK_STREAM } },
		{ SOCKETS_LOCAL, 0, SYS_listen, { 3, 5 } },
		{ SOCKETS_ALL, 0, SYS_socket, { AF_INET, SOCK_STREAM, 262 } },
		{ SOCKETS_ALL, EPERM, 425, { 4 } },
		{ SOCKETS_TCP, 0, SYS_socket, { AF_UNIX, SOCK_STREAM } },
		{ SOCKETS_TCP, 0, SYS_socket, { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0 } },
		{ SOCKETS_TCP, 0, SYS_socket, { AF_INET6, SOCK_STREAM, IPPROTO_TCP } },
		{ SOCKETS_TCP, EACCES, SYS_socket, { AF_INET, SOCK_STREAM, 262 } },
		{ SOCKETS_TCP, EACCES, SYS_socket, { AF_INET, SOCK_DGRAM, 0 } },
		{ SOCKETS_TCP, EACCES, SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_TCP } },
		{ SOCKETS_TCP, EACCES, SYS_socket, { AF_PACKET, SOCK_RAW, 0 } },
		{ SOCKETS_TCP, EACCES, SYS_sendto, { 3, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL } },
		{ SOCKETS_TCP, 0, SYS_sendto, { 3, 0, 0, MSG_NOSIGNAL } },
		{ SOCKETS_TCP, EACCES, SYS_sendmsg, { 3, 0, MSG_FASTOPEN } },
		{ SOCKETS_TCP, EACCES, SYS_sendmmsg, { 3, 0, 0, MSG_FASTOPEN } },
		{ SOCKETS_TCP, EACCES, SYS_listen, { 3, 5 } },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void a_process_changes_itself_alone(void **state)
{
	static const struct case_row rows[] = {
		{ SOCKETS_ALL, 0, SYS_prlimit64, { 0, 1, HIGH + 8 } },
		{ SOCKETS_ALL, 0, SYS_prlimit64, { 77, 1, 0, HIGH } },
		{ SOCKETS_ALL, EPERM, SYS_prlimit64, { 77, 1, 8 } },
		{ SOCKETS_ALL, EPERM, SYS_prlimit64, { 77, 1, HIGH } },
		{ SOCKETS_ALL, EPERM, SYS_prlimit64, { HIGH | 77, 1, 8 } },
		{ SOCKETS_ALL, 0, SYS_setpriority, { 0, 0, 5 } },
		{ SOCKETS_ALL, EPERM, SYS_setpriority, { 0, 77, 5 } },
		{ SOCKETS_ALL, EPERM, SYS_setpriority, { 1, 0, 5 } },
		{ SOCKETS_ALL, EPERM, SYS_setpriority, { 2, 0, 5 } },
		{ SOCKETS_ALL, 0, SYS_ioprio_set, { 1, 0, 5 } },
		{ SOCKETS_ALL, EPERM, SYS_ioprio_set, { 1, 77, 5 } },
		{ SOCKETS_ALL, EPERM, SYS_ioprio_set, { 3, 0, 5 } },
		{ SOCKETS_ALL, 0, SYS_sched_setaffinity, { 0, 8, 8 } },
		{ SOCKETS_ALL, EPERM, SYS_sched_setaffinity, { 77, 8, 8 } },
		{ SOCKETS_ALL, 0, SYS_sched_setscheduler, { HIGH, 0, 8 } }, /* the kernel sees 0 */
		{ SOCKETS_ALL, EPERM, SYS_sched_setscheduler, { 77, 0, 8 } },
		{ SOCKETS_ALL, EPERM, SYS_shmctl, { 5, 0, 0 } },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void a_terminal_is_not_typed_into(void **state)
{
	static const struct case_row rows[] = {
		{ SOCKETS_ALL, EPERM, SYS_ioctl, { 0, TIOCSTI, 8 } },
		{ SOCKETS_ALL, EPERM, SYS_ioctl, { 0, HIGH | TIOCSTI, 8 } },
		{ SOCKETS_ALL, EPERM, SYS_ioctl, { 0, TIOCLINUX, 8 } },
		{ SOCKETS_ALL, 0, SYS_ioctl, { 0, TIOCGWINSZ, 8 } },
		{ SOCKETS_ALL, 0, SYS_ioctl, { TIOCSTI, TCGETS, TIOCSTI } },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void no_namespace_gives_capabilities(void **state)
{
	static const struct case_row rows[] = {
		{ SOCKETS_ALL, EPERM, SYS_unshare, { CLONE_NEWNET | CLONE_NEWUSER } },
		{ SOCKETS_ALL, 0, SYS_unshare, { CLONE_FS } },
		{ SOCKETS_ALL, EPERM, SYS_clone, { CLONE_NEWUSER | 17 } },
		{ SOCKETS_ALL, 0, SYS_clone, { CLONE_VM | CLONE_VFORK | 17 } },
		{ SOCKETS_ALL, ENOSYS, 435, { 8, 88 } },
		{ SOCKETS_ALL, 0, SYS_execve, { 8, 8, 8 } },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void calls_of_another_architecture_end_the_program(void **state)
{
#ifdef ARCH
	struct sock_filter f[SYSTEM_CALLS_MAX];
	int n = system_calls_filter(SOCKETS_ALL, f);
	struct seccomp_data call = { .nr = SYS_getpid, .arch = AUDIT_ARCH_I386 };

	assert_int_equal(run(f, n, &call), KILLED);
#ifdef __x86_64__
	call = (struct seccomp_data){ .nr = 0x40000000 | SYS_getpid, .arch = ARCH };
	assert_int_equal(run(f, n, &call), ENOSYS);
#endif
#endif
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_those_that_are_left),
		cmocka_unit_test(a_process_changes_itself_alone),
		cmocka_unit_test(a_terminal_is_not_typed_into),
		cmocka_unit_test(no_namespace_gives_capabilities),
		cmocka_unit_test(calls_of_another_architecture_end_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
