/*
 * test_forker.c: shepherds of a forker are the worker's children and get the whole request;
 * whatever happens to the forker, programs start. Every scenario runs in a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shepherd_fixture.h"

#ifdef FULL_SYSTEM

static int sibling_error; /* not 0: no forker can fork */

pid_t __real_os_fork_sibling(void);
pid_t __wrap_os_fork_sibling(void);
pid_t __wrap_os_fork_sibling(void)
{
	if (sibling_error == 0)
		return __real_os_fork_sibling();
	errno = sibling_error;
	return -1;
}

/* Of the next read from a report. */
static int read_error;

ssize_t __real_xread(int fd, void *bytes, size_t n);
ssize_t __wrap_xread(int fd, void *bytes, size_t n);
ssize_t __wrap_xread(int fd, void *bytes, size_t n)
{
	if (read_error == 0)
		return __real_xread(fd, bytes, n);
	errno = read_error;
	read_error = 0;
	return -1;
}

static pid_t parent_of(pid_t pid)
{
	pid_t parent = -1;
	uint64_t start_time;

	CHECK(os_process_info(pid, &parent, &start_time) == 0);
	return parent;
}

/* The program says its shepherd's number, which is our child whoever forked it. */
static void check_start(void)
{
	pid_t shepherd = start(SH("echo $PPID; read word"), GRACE_MS);

	CHECK(heard_pid() == shepherd);
	CHECK(parent_of(shepherd) == getpid());
	wait_for(shepherd);
	xclose(&output[0]);
}

static void scenario_forker_killed(void)
{
	by_forker = true;
	check_start();
	kill(forker, SIGKILL);
	check_start();
	check_start();
	wait_for(forker);
	shepherd_dismiss();
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void without_its_forker_a_worker_forks_by_itself(void **state UNUSED)
{
	run_forked(scenario_forker_killed);
}

/* A stopped one has got the request, but forks nobody any more. */
static void scenario_forker_killed_meanwhile(void)
{
	pid_t other;

	by_forker = true;
	prepare();
	kill(forker, SIGSTOP);
	if ((other = fork()) == 0) {
		poll(NULL, 0, 200);
		kill(forker, SIGKILL);
		_exit(0);
	}
	check_start();
	wait_for(other);
	dismiss();
}

static void a_request_that_its_forker_never_took_is_not_lost(void **state UNUSED)
{
	run_forked(scenario_forker_killed_meanwhile);
}

static void scenario_start_in_doubt(void)
{
	struct child_spec spec = { .argv = SH("echo started"), .fd = { -1, -1, -1 } };
	struct child_error error;
	int n = 0;

	by_forker = true;
	prepare();
	CHECK(xpipe(output) == 0);
	spec.fd[1] = output[1];
	read_error = EIO;
	CHECK(shepherd_spawn(&spec, GRACE_MS, -1, &report, &error) == -1);
	CHECK(error.step == CHILD_FORK && error.err == EIO);
	xclose(&output[1]);
	while (strcmp(heard(), "started") == 0)
		n++;
	CHECK(n <= 1);
	dismiss();
}

static void a_program_that_may_have_started_is_not_started_again(void **state UNUSED)
{
	run_forked(scenario_start_in_doubt);
}

static void scenario_forker_refused(void)
{
	by_forker = true;
	sibling_error = EINVAL; /* of a kernel without CLONE_PARENT; EPERM, ENOSYS: of a sandbox */
	check_start();
	check_start();
	wait_for(forker); /* it is of no use */
	dismiss();
	sibling_error = EAGAIN;
	check_start();
	CHECK(waitpid(forker, NULL, WNOHANG) == 0); /* there may be room later */
	dismiss();
}

static void where_its_forker_may_not_fork_a_worker_does(void **state UNUSED)
{
	run_forked(scenario_forker_refused);
}

static void scenario_lost_by_forker(void)
{
	pid_t ours = fork();
	int status;

	if (ours == 0) {
		by_forker = true;
		prepare();
		kill(getpid(), SIGKILL);
	}
	CHECK(os_become_subreaper() == 0);
	CHECK(waitpid(ours, &status, 0) == ours && WIFSIGNALED(status));
	/* it is ours now, and ends by itself */
	while (waitpid(-1, &status, 0) > 0)
		;
	CHECK(errno == ECHILD);
}

static void a_forker_ends_with_its_worker(void **state UNUSED)
{
	run_forked(scenario_lost_by_forker);
}

static void scenario_large_request(void)
{
	static char large[100 << 10];
	struct child_spec spec = { .fd = { -1, -1, -1 } };
	struct child_error error;

	by_forker = true;
	prepare();
	memset(large, 'x', sizeof(large) - 1);
	spec.argv = ARGV("sh", "-c", "test ${#1} -eq 102399", "sh", large);
	CHECK(wait_for(shepherd_spawn(&spec, GRACE_MS, -1, &report, &error)) == 0);
	check_start(); /* the next one is its again */
	dismiss();
}

static void a_request_too_large_for_its_forker_is_served(void **state UNUSED)
{
	run_forked(scenario_large_request);
}

static void scenario_own_environment(void)
{
	by_forker = true;
	prepare();
	CHECK(setenv("SINCE", "then", 1) == 0 && unsetenv("HOME") == 0);
	start(SH("echo $SINCE${HOME-}"), GRACE_MS);
	CHECK(strcmp(heard(), "then") == 0);
}

static void a_program_inherits_our_environment_as_it_is_now(void **state UNUSED)
{
	run_forked(scenario_own_environment);
}

static void scenario_environment(void)
{
	struct child_spec spec = { .argv = SH("test \"$A\" = 'b c' && test -z \"$HOME\" && test \"$PWD\" = / && read x && test $x = in"),
		                   .envp = ARGV("A=b c", "PATH=/bin:/usr/bin"), .cwd = "/", .fd = { -1, -1, -1 } };
	struct child_error error;
	int in[2];

	by_forker = true;
	prepare();
	CHECK(xpipe(in) == 0);
	CHECK(write(in[1], "in\n", 3) == 3);
	spec.fd[0] = in[0];
	CHECK(wait_for(shepherd_spawn(&spec, GRACE_MS, -1, &report, &error)) == 0);
}

static void its_forker_passes_on_the_whole_request(void **state UNUSED)
{
	run_forked(scenario_environment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_its_forker_a_worker_forks_by_itself),
		cmocka_unit_test(a_request_that_its_forker_never_took_is_not_lost),
		cmocka_unit_test(a_program_that_may_have_started_is_not_started_again),
		cmocka_unit_test(where_its_forker_may_not_fork_a_worker_does),
		cmocka_unit_test(a_program_inherits_our_environment_as_it_is_now),
		cmocka_unit_test(a_forker_ends_with_its_worker),
		cmocka_unit_test(a_request_too_large_for_its_forker_is_served),
		cmocka_unit_test(its_forker_passes_on_the_whole_request),
	};

	return cmocka_run_group_tests_name("forkers", tests, NULL, NULL);
}

#else

int main(void)
{
	return 0; /* without CLONE_PARENT */
}

#endif
