/*
 * fork_fixture.h: runs a scenario in a process of its own, so that
 * descriptors, signals, children and the subreaper flag of one test can't leak
 * into the next. Inside a scenario CHECK() replaces cmocka's assertions, which
 * jump, and so must not run in a fork. For unit tests only.
 */
#ifndef RUNNER_TEST_FORK_FIXTURE_H
#define RUNNER_TEST_FORK_FIXTURE_H

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/common/mono.h"

#define WAIT_LIMIT_MS 20000 /* bounds every wait below; a pass takes a fraction */

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			dprintf(test_stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

static int test_stderr = 2;

/* Poll until it is true or the limit is over. */
#define EVENTUALLY(condition) \
	({ \
		mono_t wait_end = mono_add_ms(mono_now(), WAIT_LIMIT_MS); \
		bool wait_met; \
		while (!(wait_met = (condition)) && mono_now() < wait_end) \
			poll(NULL, 0, 1); \
		wait_met; \
	})

static inline void run_forked(void (*scenario)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		scenario();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A child that does nothing until it is killed, but not forever. */
static inline pid_t fork_idle(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		poll(NULL, 0, 3 * WAIT_LIMIT_MS);
		_exit(99);
	}
	return pid;
}

static inline int wait_for(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static inline void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A soft limit: what walks all descriptors, or uses them up, ends soon. */
static inline void limit_descriptors(rlim_t count)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = count;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

#endif
