/*
 * test_refused.c: system calls that an old kernel lacks or a full system refuses.
 * A seccomp filter makes one call fail in a scenario of its own; what the engine
 * reports then is true, and nothing leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../../src/engine/os.h"
#include "child_fixture.h"

/* From now on this process and its children get `err` from that call. */
static void refuse(unsigned call, unsigned err)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LEN(rows), .filter = rows };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* --- starting a child --------------------------------------------------------------- */

static void check_no_descriptor_leaks(struct child_spec spec, enum child_step step, int err)
{
	int before = dup(0), after;

	close(before);
	check_error(spec, step, err);
	after = dup(0);
	close(after);
	CHECK(before == after);
}

static void scenario_no_pipe(void)
{
	refuse(SYS_pipe2, ENFILE);
	check_no_descriptor_leaks((struct child_spec){ .argv = ARGV("true") }, CHILD_PIPE, ENFILE);
}

static void scenario_no_fork(void)
{
	refuse(SYS_clone, EAGAIN);
	check_no_descriptor_leaks((struct child_spec){ .argv = ARGV("true") }, CHILD_FORK, EAGAIN);
}

static void scenario_no_session(void)
{
	refuse(SYS_setsid, EPERM);
	check_no_descriptor_leaks((struct child_spec){ .argv = ARGV("true"), .new_session = true },
	                          CHILD_SESSION, EPERM);
}

static void scenario_no_group(void)
{
	refuse(SYS_setpgid, EPERM);
	check_no_descriptor_leaks((struct child_spec){ .argv = ARGV("true"), .new_group = true },
	                          CHILD_SESSION, EPERM);
}

static void a_child_that_the_system_refuses_says_which_call_and_why(void **state UNUSED)
{
	run_forked(scenario_no_pipe);
	run_forked(scenario_no_fork);
	run_forked(scenario_no_session);
	run_forked(scenario_no_group);
}

/* --- what an older kernel lacks ------------------------------------------------------- */

static void scenario_no_close_range(void)
{
	int low = 10, kept = 20, high = 30;

	limit_descriptors(64);
	CHECK(dup2(0, low) == low && dup2(0, kept) == kept && dup2(0, high) == high);
	refuse(SYS_close_range, ENOSYS);
	os_close_from(low, &kept, 1);
	CHECK(!is_open(low) && is_open(kept) && !is_open(high) && is_open(0));
}

static void scenario_no_random(void)
{
	char bytes[4];

	refuse(SYS_getrandom, ENOSYS);
	CHECK(os_random(bytes, sizeof(bytes)) == -1 && errno == ENOSYS);
}

static void scenario_no_nowait(void)
{
	int p[2];

	CHECK(pipe(p) == 0);
	refuse(SYS_pwritev2, ENOSYS);
	CHECK(os_write_nowait(p[1], "x", 1) == -1 && errno == EOPNOTSUPP);
}

static void scenario_no_proc(void)
{
	uint64_t start;
	pid_t parent, children[4];

	refuse(SYS_openat, EMFILE);
	CHECK(os_process_info(getpid(), &parent, &start) == -1);
	CHECK(os_children(getpid(), children, 4) == -1);
}

static void what_a_kernel_lacks_is_done_another_way_or_reported(void **state UNUSED)
{
	run_forked(scenario_no_close_range);
	run_forked(scenario_no_random);
	run_forked(scenario_no_nowait);
	run_forked(scenario_no_proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_that_the_system_refuses_says_which_call_and_why),
		cmocka_unit_test(what_a_kernel_lacks_is_done_another_way_or_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
