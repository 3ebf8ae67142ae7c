/*
 * shepherd_fixture.h: a shepherd and its program inside a scenario (fork_fixture.h): what the
 * program says, and how both end. For unit tests only.
 */
#ifndef RUNNER_TEST_SHEPHERD_FIXTURE_H
#define RUNNER_TEST_SHEPHERD_FIXTURE_H

#include <poll.h>

#include "../../src/common/xio.h"
#include "../../src/engine/os.h"
#include "../../src/engine/shepherd.h"
#include "child_fixture.h"
#include "needs.h"

#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)
#define FULL_SYSTEM
#endif

#define GRACE_MS 20000 /* what ends sooner did not wait for it */
#define SOON_MS 30000 /* what waits for another's end does so for longer */
#define SH(script) ARGV("sh", "-c", script)

static int output[2];
static int report = -1;
static bool by_forker; /* the shepherds are forked by another process */
static pid_t forker;

static inline void prepare(void)
{
	if (by_forker && forker == 0)
		CHECK((forker = shepherd_prepare()) > 0);
}

static inline void dismiss(void)
{
	shepherd_dismiss();
	forker = 0;
}

/* A program whose stdout is the pipe `output`. */
static inline pid_t start(const char *const *argv, int64_t grace_ms)
{
	struct child_spec spec = { .argv = argv, .fd = { -1, -1, test_stderr } };
	struct child_error error;
	pid_t pid;

	prepare();
	xclose(&report);
	CHECK(xpipe(output) == 0);
	spec.fd[1] = output[1];
	pid = shepherd_spawn(&spec, grace_ms, -1, &report, &error);
	xclose(&output[1]);
	CHECK(pid > 0 && error.step == CHILD_OK && report >= 0);
	return pid;
}

/* Of a shepherd that has seen the end of its program and of its tree. */
static inline bool ended_itself(void)
{
	struct shepherd_account account = shepherd_account(report);

	CHECK(account.complete);
	return account.ended_itself;
}

/* One line that it has written. */
static inline const char *heard(void)
{
	static char line[256];
	size_t n = 0;

	while (n < sizeof(line) - 1 && xread(output[0], line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return line;
}

static inline pid_t heard_pid(void)
{
	return (pid_t)strtol(heard(), NULL, 10);
}

/* The pipe's other end is closed: nobody who could write is left. */
static inline bool at_end(void)
{
	char byte;

	return xread(output[0], &byte, 1) == 0;
}

static inline int end_of(const char *script)
{
	int status = wait_for(start(SH(script), GRACE_MS));

	xclose(&output[0]);
	return status;
}

static inline bool gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

#endif
