/*
 * system_calls.c: a table of what is refused, and the program of BPF that it becomes. Rows of one
 * call stand together; the first whose conditions all hold decides, and a call without one is allowed.
 */
#include "system_calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000U
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* The same on every architecture; headers may be older than the kernel. */
#define NR_IO_URING_SETUP 425
#define NR_CLONE3 435

#define NETLINK_FOR_ROUTES 0 /* which addresses this machine has: getaddrinfo(3) asks; changes need a capability */
#define TCP 6
#define UDP 17
#define TYPE_BITS 0xfU       /* the others are SOCK_CLOEXEC and SOCK_NONBLOCK */
#define FASTOPEN 0x20000000U /* sendto(2) that connects */
#define OF_ONE_PROCESS 1     /* ioprio_set(2) */
#define ALL 0xffffffffU

/* Of the 32 bits of an argument: int and unsigned are no more, and of the rest the kernel takes no notice. */
enum test { NONE, IS, IS_NOT, HAS };
struct condition {
	enum test test;
	uint8_t argument;
	bool high; /* the upper half of a pointer */
	uint32_t mask, value;
};

struct row {
	uint32_t number;
	int refuse; /* errno; 0: allow */
	struct condition when[3];
};

#define EQUAL(arg, v) { IS, arg, false, ALL, v }
#define OTHER(arg, v) { IS_NOT, arg, false, ALL, v }
#define BITS(arg, m) { HAS, arg, false, m, 0 }
#define NO_POINTER(arg) { IS, arg, false, ALL, 0 }, { IS, arg, true, ALL, 0 }
#define STREAM { IS, 1, false, TYPE_BITS, SOCK_STREAM }
#define DATAGRAM { IS, 1, false, TYPE_BITS, SOCK_DGRAM }

static const struct row local_sockets[] = {
	{ SYS_socket, 0, { EQUAL(0, AF_UNIX) } },
	{ SYS_socket, 0, { EQUAL(0, AF_NETLINK), EQUAL(2, NETLINK_FOR_ROUTES) } },
	{ SYS_socket, EACCES, { { 0 } } },
	{ SYS_socketpair, EACCES, { OTHER(0, AF_UNIX) } },
};

/* The first rows are for UDP. */
#define UDP_ROWS 4
static const struct row inet_sockets[] = {
	{ SYS_socket, 0, { EQUAL(0, AF_INET), DATAGRAM, EQUAL(2, 0) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET), DATAGRAM, EQUAL(2, UDP) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET6), DATAGRAM, EQUAL(2, 0) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET6), DATAGRAM, EQUAL(2, UDP) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET), STREAM, EQUAL(2, 0) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET), STREAM, EQUAL(2, TCP) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET6), STREAM, EQUAL(2, 0) } },
	{ SYS_socket, 0, { EQUAL(0, AF_INET6), STREAM, EQUAL(2, TCP) } },
	{ SYS_socket, 0, { EQUAL(0, AF_UNIX) } },
	{ SYS_socket, 0, { EQUAL(0, AF_NETLINK), EQUAL(2, NETLINK_FOR_ROUTES) } },
	{ SYS_socket, EACCES, { { 0 } } },
	{ SYS_socketpair, EACCES, { OTHER(0, AF_UNIX) } },
};

/* Where there are TCP sockets: what Landlock doesn't see of them. */
static const struct row ways_of_tcp[] = {
	{ SYS_sendto, EACCES, { BITS(3, FASTOPEN) } },
	{ SYS_sendmsg, EACCES, { BITS(2, FASTOPEN) } },
	{ SYS_sendmmsg, EACCES, { BITS(3, FASTOPEN) } },
	{ SYS_listen, EACCES, { { 0 } } }, /* without bind(2) it takes any port */
};

static const struct row always[] = {
	/* what is typed into a terminal is read by the shell that comes after us */
	{ SYS_ioctl, EPERM, { EQUAL(1, TIOCSTI) } },
	{ SYS_ioctl, EPERM, { EQUAL(1, TIOCLINUX) } },

	/* other processes of the same user: a process may change itself alone */
	{ SYS_prlimit64, 0, { EQUAL(0, 0) } },
	{ SYS_prlimit64, 0, { NO_POINTER(2) } }, /* it only asks */
	{ SYS_prlimit64, EPERM, { { 0 } } },
	{ SYS_setpriority, 0, { EQUAL(0, PRIO_PROCESS), EQUAL(1, 0) } },
	{ SYS_setpriority, EPERM, { { 0 } } },
	{ SYS_ioprio_set, 0, { EQUAL(0, OF_ONE_PROCESS), EQUAL(1, 0) } },
	{ SYS_ioprio_set, EPERM, { { 0 } } },
	{ SYS_sched_setscheduler, EPERM, { OTHER(0, 0) } },
	{ SYS_sched_setparam, EPERM, { OTHER(0, 0) } },
	{ SYS_sched_setattr, EPERM, { OTHER(0, 0) } },
	{ SYS_sched_setaffinity, EPERM, { OTHER(0, 0) } },
	{ SYS_migrate_pages, EPERM, { OTHER(0, 0) } },
	{ SYS_move_pages, EPERM, { OTHER(0, 0) } },

	/* objects of the user that no file system shows: whose one is can't be told by its number */
	{ SYS_shmget, EPERM, { { 0 } } },
	{ SYS_shmat, EPERM, { { 0 } } },
	{ SYS_shmctl, EPERM, { { 0 } } },
	{ SYS_semget, EPERM, { { 0 } } },
	{ SYS_semop, EPERM, { { 0 } } },
	{ SYS_semtimedop, EPERM, { { 0 } } },
	{ SYS_semctl, EPERM, { { 0 } } },
	{ SYS_msgget, EPERM, { { 0 } } },
	{ SYS_msgsnd, EPERM, { { 0 } } },
	{ SYS_msgrcv, EPERM, { { 0 } } },
	{ SYS_msgctl, EPERM, { { 0 } } },
	{ SYS_mq_open, EPERM, { { 0 } } },
	{ SYS_mq_unlink, EPERM, { { 0 } } },
	{ SYS_add_key, EPERM, { { 0 } } },
	{ SYS_request_key, EPERM, { { 0 } } },
	{ SYS_keyctl, EPERM, { { 0 } } },
	{ SYS_bpf, EPERM, { { 0 } } },

	/* a user namespace gives all capabilities; libc does without clone3, whose flags can't be seen */
	{ SYS_unshare, EPERM, { BITS(0, CLONE_NEWUSER) } },
	{ SYS_setns, EPERM, { { 0 } } },
	{ SYS_clone, EPERM, { BITS(0, CLONE_NEWUSER) } },
	{ NR_CLONE3, ENOSYS, { { 0 } } },

	/* its requests pass by this filter */
	{ NR_IO_URING_SETUP, EPERM, { { 0 } } },
};

/* --- the program ------------------------------------------------------------------------- */

static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static struct sock_filter answer(int refuse)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse ? SECCOMP_RET_ERRNO | (uint32_t)refuse : SECCOMP_RET_ALLOW);
}

static struct sock_filter jump(uint16_t how, uint32_t value, int yes, int no)
{
	return (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | how), value, (uint8_t)yes, (uint8_t)no);
}

static size_t offset_of(const struct condition *c)
{
	const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return offsetof(struct seccomp_data, args) + c->argument * sizeof(uint64_t) + (c->high != big_endian ? sizeof(uint32_t) : 0);
}

/* Three instructions, then the next condition, or `past` more are skipped. */
static int add_condition(struct sock_filter *out, const struct condition *c, int past)
{
	out[0] = load(offset_of(c));
	out[1] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask);
	out[2] = c->test == IS       ? jump(BPF_JEQ, c->value, 0, past)
	         : c->test == IS_NOT ? jump(BPF_JEQ, c->value, past, 0)
	                             : jump(BPF_JEQ, 0, past, 0);
	return 3;
}

static int add_row(struct sock_filter *out, const struct row *row)
{
	int conditions = 0, n = 0;

	while (conditions < (int)ARRAY_LEN(row->when) && row->when[conditions].test != NONE)
		conditions++;
	for (int i = 0; i < conditions; i++)
		n += add_condition(out + n, &row->when[i], 3 * (conditions - 1 - i) + 1);
	out[n++] = answer(row->refuse);
	return n;
}

/* The number stays loaded until the call is found. */
static int add_rows(struct sock_filter *out, const struct row *rows, size_t count)
{
	int n = 0;

	for (size_t i = 0; i < count;) {
		struct sock_filter *found = out + n++;
		const uint32_t number = rows[i].number;

		for (; i < count && rows[i].number == number; i++)
			n += add_row(out + n, &rows[i]);
		out[n++] = answer(0);
		*found = jump(BPF_JEQ, number, 0, (int)(out + n - found) - 1);
	}
	return n;
}

/* A program for another architecture, or by its numbers, would find every door open: it is ended. */
static int add_architecture(struct sock_filter *out UNUSED)
{
	int n = 0;

#ifdef ARCH
	out[n++] = load(offsetof(struct seccomp_data, arch));
	out[n++] = jump(BPF_JEQ, ARCH, 1, 0);
	out[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	out[n++] = load(offsetof(struct seccomp_data, nr));
#endif
#ifdef X32_BIT
	out[n++] = jump(BPF_JSET, X32_BIT, 0, 1);
	out[n++] = answer(ENOSYS);
#endif
	return n;
}

static int add_sockets(struct sock_filter *out, enum sockets sockets)
{
	const size_t passed_over = sockets == SOCKETS_TCP ? UDP_ROWS : 0;
	int n;

	if (sockets == SOCKETS_ALL)
		return 0;
	n = sockets == SOCKETS_LOCAL || sockets == SOCKETS_GIVEN
	        ? add_rows(out, local_sockets, ARRAY_LEN(local_sockets))
	        : add_rows(out, inet_sockets + passed_over, ARRAY_LEN(inet_sockets) - passed_over);
	return sockets == SOCKETS_LOCAL ? n : n + add_rows(out + n, ways_of_tcp, ARRAY_LEN(ways_of_tcp));
}

int system_calls_filter(enum sockets sockets, struct sock_filter *out)
{
	int n = add_architecture(out);

	n += add_sockets(out + n, sockets);
	n += add_rows(out + n, always, ARRAY_LEN(always));
	out[n++] = answer(0);
	return n;
}

/* --- system calls ------------------------------------------------------------------------ */

/* A kernel that has it fails to read the program. */
bool system_calls_can_be_held(void)
{
#ifdef ARCH
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) < 0 && errno == EFAULT;
#else
	return false; /* their numbers are unknown to us */
#endif
}

int system_calls_confine(enum sockets sockets)
{
	struct sock_filter filter[SYSTEM_CALLS_MAX];
	const struct sock_fprog program = { (unsigned short)system_calls_filter(sockets, filter), filter };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
