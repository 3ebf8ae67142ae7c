/*
 * supervisor_fixture.h: whole runs with workers written in C: supervisor_main()
 * in a process of its own, its envelope, exit status, time and memory, and the
 * proof that nothing of it is left. For unit tests only.
 */
#ifndef RUNNER_TEST_SUPERVISOR_FIXTURE_H
#define RUNNER_TEST_SUPERVISOR_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/common/xio.h"
#include "../../src/engine/os.h"
#include "../../src/supervisor/supervisor.h"
#include "needs.h"
#include "run_fixture.h"

#define SCENARIO_LIMIT_MS 30000 /* bounds every scenario; a pass takes a fraction */
#define GRACE_MS 200          /* of every worker that sets no other */
#define LATE_MS 15000         /* what a loaded machine may add */

/* Tools that need memory and signals of their own. */
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER true
#elif defined(__has_feature)
#define UNDER_SANITIZER __has_feature(address_sanitizer)
#else
#define UNDER_SANITIZER false
#endif

/* --- the worker's side ------------------------------------------------------------- */

#define SEND(launch, kind, ...) \
	do { \
		struct buf send_out = BUF_INIT; \
		ADD_FRAME(&send_out, kind, __VA_ARGS__); \
		send_frames(launch, &send_out); \
	} while (0)

/* Ignores errors: nobody may be reading any more. */
static inline void send_frames(const struct launch *launch, struct buf *frames)
{
	(void)!xwrite_all(launch->frame_fd, frames->data, frames->len);
	buf_release(frames);
}

/* Not forever, whatever becomes of the supervisor. */
static inline void hang(void)
{
	mono_t until = mono_add_ms(mono_now(), SCENARIO_LIMIT_MS);

	while (mono_now() < until)
		poll(NULL, 0, 1000);
	_exit(98);
}

static inline void ignore_term(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
}

/* --- the caller's side --------------------------------------------------------------- */

struct answer {
	struct buf out; /* stdout */
	int err;        /* stderr: a file */
	int wait_status;
	int64_t ms;
	long peak_kib;
};

static struct answer answer = { .err = -1 };

/* What the next scenario does before it begins, and which signal it gets. */
static struct {
	void (*before)(void);
	int sig;
	const char *sig_after; /* sent once stderr contains this */
	int64_t read_after_ms; /* a caller that is slow to read */
	int out;               /* its stdout; -1: a pipe that we read */
	bool text;             /* the answer need not be an envelope */
	prepare_fn *prepare;
} setup = { .out = -1 };

static inline pid_t begin(worker_fn *worker, int out)
{
	static char name[] = "runner", command[] = "test";
	static char *argv[] = { name, command, NULL };
	pid_t pid;

	fflush(NULL);
	if ((pid = fork()) == 0) {
		int null = open("/dev/null", O_RDONLY);

		dup2(null, 0);
		dup2(setup.out >= 0 ? setup.out : out, 1);
		dup2(answer.err, 2);
		os_close_from(3, NULL, 0);
		for (int sig = 1; sig <= SIGTERM; sig++)
			signal(sig, SIG_DFL);
		if (setup.before)
			setup.before();
		_exit(supervisor_main(2, argv, worker, setup.prepare));
	}
	assert_true(pid > 0);
	return pid;
}

/* The text on stderr; valid until the next call. */
static inline const char *stderr_text(void)
{
	static char text[256 << 10];
	ssize_t n = pread(answer.err, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Read to the end; send the signal on the way. */
static inline void serve_caller(pid_t pid, int from, mono_t began)
{
	static char bytes[64 << 10];
	bool sent = setup.sig == 0;
	ssize_t n = 1;

	while (n != 0) {
		struct pollfd p = { .fd = from, .events = POLLIN };
		int64_t ms = mono_elapsed_ms(began, mono_now());

		if (ms > SCENARIO_LIMIT_MS) {
			kill(pid, SIGKILL);
			fail_msg("no answer within %d ms", SCENARIO_LIMIT_MS);
		}
		if (!sent && strstr(stderr_text(), setup.sig_after))
			sent = true, kill(pid, setup.sig);
		if (ms < setup.read_after_ms || poll(&p, 1, 10) <= 0) {
			poll(NULL, 0, 1);
			continue;
		}
		n = xread(from, bytes, sizeof(bytes));
		if (n > 0)
			buf_add(&answer.out, bytes, (size_t)n);
	}
}

/* The whole tree is our own as soon as the supervisor is gone. */
static inline void assert_nothing_is_left(void)
{
	pid_t left = waitpid(-1, NULL, WNOHANG);

	if (left >= 0)
		fail_msg("process %d is left; wait status %d; %s", (int)left, answer.wait_status,
		         stderr_text());
	assert_int_equal(errno, ECHILD);
}

/* Run one scenario; its answer is in `answer`. */
static inline const char *run_scenario(worker_fn *worker)
{
	mono_t began = mono_now();
	struct rusage usage;
	int p[2];
	pid_t pid;

	os_become_subreaper();
	buf_release(&answer.out);
	xclose(&answer.err);
	answer.err = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(answer.err >= 0);
	assert_int_equal(xpipe(p), 0);
	pid = begin(worker, p[1]);
	xclose(&p[1]);
	serve_caller(pid, p[0], began);
	xclose(&p[0]);
	assert_int_equal(wait4(pid, &answer.wait_status, 0, &usage), pid);
	answer.ms = mono_elapsed_ms(began, mono_now());
	answer.peak_kib = usage.ru_maxrss;
	assert_nothing_is_left();
	if (!setup.text && setup.out < 0)
		assert_json_lines(buf_cstr(&answer.out), 1);
	return buf_cstr(&answer.out);
}

static inline int exit_status(void)
{
	assert_true(WIFEXITED(answer.wait_status));
	return WEXITSTATUS(answer.wait_status);
}

/* "ok" and the exit status agree, and the code is this (NULL: success). */
static inline const char *assert_answer(worker_fn *worker, int status, const char *code)
{
	const char *text = run_scenario(worker);
	char wanted[96];

	if (exit_status() != status)
		fail_msg("exit status %d, not %d: %s", exit_status(), status, text);
	assert_contains(text, status == 0 ? "{\"ok\":true," : "{\"ok\":false,");
	snprintf(wanted, sizeof(wanted), code ? "\"error\":{\"code\":\"%s\"," : "\"error\":%s", code ? code : "null,");
	assert_contains(text, wanted);
	snprintf(wanted, sizeof(wanted), "\"exit_code\":%d,", status);
	assert_contains(text, wanted);
	return text;
}

/* PLAN, RUN: the first frames of every worker here. */
#define BEGIN_RUN(launch, ...) \
	do { \
		SEND(launch, PLAN, STR(command, "test"), INT(grace_ms, GRACE_MS), __VA_ARGS__); \
		SEND(launch, RUN); \
	} while (0)

static inline int replies_ok(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	SEND(launch, RESULT, INT(ok, 1), STR(data, "{\"n\":1}"));
	return 0;
}

static inline int replies_failure(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	SEND(launch, RESULT, INT(ok, 0), STR(code, "NOT_FOUND"), STR(message, "no such thing"), STR(phase, "execution"));
	return 0;
}

/* --- bounds --------------------------------------------------------------------------- */

static inline void assert_ended_between(int64_t least, int64_t most)
{
	if (answer.ms < least || answer.ms > most + LATE_MS)
		fail_msg("ended after %lld ms, not %lld to %lld", (long long)answer.ms, (long long)least, (long long)most);
}

static inline void assert_small(void)
{
	if (!UNDER_SANITIZER && !under_valgrind())
		assert_in_range(answer.peak_kib, 1, 96 << 10);
}

static inline int reset_fixture(void **state UNUSED)
{
	memset(&setup, 0, sizeof(setup));
	setup.out = -1;
	buf_release(&answer.out);
	xclose(&answer.err);
	return 0;
}

#endif
