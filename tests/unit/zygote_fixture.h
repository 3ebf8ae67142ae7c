/*
 * zygote_fixture.h: a test that is its own zygote, and calls of it inside a scenario
 * (fork_fixture.h); what a call does is its first argument. For unit tests only.
 */
#ifndef RUNNER_TEST_ZYGOTE_FIXTURE_H
#define RUNNER_TEST_ZYGOTE_FIXTURE_H

#include <stdio.h>

#include "../../src/engine/fork_server.h"
#include "shepherd_fixture.h"

/* --- in the zygote ------------------------------------------------------------------- */

static int sibling_error; /* not 0: it can't fork */

pid_t __real_os_fork_sibling(void);
pid_t __wrap_os_fork_sibling(void);
pid_t __wrap_os_fork_sibling(void)
{
	if (sibling_error == 0)
		return __real_os_fork_sibling();
	errno = sibling_error;
	return -1;
}

static int dirt; /* what a call changes of its memory */

static inline int refuse_to_fork(void)
{
	const char *error = getenv("SIBLING_ERROR");

	sibling_error = error ? atoi(error) : 0;
	return getenv("UNPREPARED") ? -1 : 0;
}

static inline int say_fds(void)
{
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d%s ", fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? "c" : "");
	return 0;
}

/* Whatever one call can change of itself. */
static inline int get_dirty(void)
{
	struct rlimit files = { 50, 50 };

	dirt = 1;
	umask(0);
	signal(SIGUSR1, SIG_IGN);
	return chdir("/proc") < 0 || setenv("DIRT", "1", 1) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0 || setsid() >= 0 ||
	       dup2(0, 40) < 0;
}

static inline int say_facts(void)
{
	struct rlimit files;
	char cwd[256] = "";
	mode_t mask = umask(0);
	sigset_t blocked;

	getrlimit(RLIMIT_NOFILE, &files);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	printf("%d %d %o %s %d %s %d %d %d", dirt, getenv("DIRT") != NULL, mask, getcwd(cwd, sizeof(cwd)), files.rlim_cur > 50,
	       signal(SIGUSR1, SIG_DFL) == SIG_DFL ? "default" : "other", getpgrp() == getpid(), getsid(0) == getsid(getppid()),
	       sigismember(&blocked, SIGTERM));
	return 0;
}

static inline int leave_a_process(void)
{
	pid_t pid;

	os_become_subreaper();
	pid = fork();
	if (pid == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		poll(NULL, 0, 3 * WAIT_LIMIT_MS);
		_exit(0);
	}
	printf("%d", (int)pid);
	return 7;
}

static inline int hang(void)
{
	printf("here\n");
	fflush(stdout);
	poll(NULL, 0, 3 * WAIT_LIMIT_MS);
	return 0;
}

static inline int do_as_told(int argc, char **argv, pid_t parent)
{
	int status = argc < 2                            ? 99
	             : strcmp(argv[1], "fds") == 0       ? say_fds()
	             : strcmp(argv[1], "dirty") == 0     ? get_dirty()
	             : strcmp(argv[1], "facts") == 0     ? say_facts()
	             : strcmp(argv[1], "leave") == 0     ? leave_a_process()
	             : strcmp(argv[1], "hang") == 0      ? hang()
	             : strcmp(argv[1], "parent") == 0    ? printf("%d", (int)parent) < 0
	             : strcmp(argv[1], "name") == 0      ? printf("%s", getenv("NAME") ? getenv("NAME") : "none") < 0
	             : strcmp(argv[1], "arguments") == 0 ? printf("%d %s", argc, argv[argc - 1]) < 0 || argv[argc] != NULL
	                                                 : atoi(argv[1]);

	fflush(stdout);
	return status;
}

/* --- asking -------------------------------------------------------------------------- */

/* A call whose stdout is the pipe `output`; 0: it was refused. */
static inline pid_t ask(struct child_spec spec)
{
	pid_t pid;

	xclose(&report);
	CHECK(xpipe(output) == 0);
	spec.fd[0] = -1;
	spec.fd[1] = output[1];
	spec.fd[2] = test_stderr;
	zygote_start();
	pid = zygote_spawn(&spec, 100, &report);
	xclose(&output[1]);
	return pid;
}

#define CALL(...) ((struct child_spec){ .argv = ARGV("call", __VA_ARGS__) })

static inline int end_of_call(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	status = wait_for(pid);
	CHECK(shepherd_account(report).complete);
	xclose(&output[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What it says, without the end of the line. */
static inline const char *said(struct child_spec spec)
{
	pid_t pid = ask(spec);
	const char *text;

	CHECK(pid > 0);
	text = heard();
	CHECK(end_of_call(pid) == 0);
	return text;
}

static inline void no_child_is_left(void)
{
	zygote_dismiss();
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* A program none of whose tests can run here says so: a plan and a skip. */
static inline int skip_all(const char *why)
{
	printf("1..1\nok 1 - every test of this program # SKIP %s\n", why);
	return 0;
}

#endif
