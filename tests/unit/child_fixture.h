/*
 * child_fixture.h: children for tests of child_spawn(), inside a scenario
 * (fork_fixture.h). For unit tests only.
 */
#ifndef RUNNER_TEST_CHILD_FIXTURE_H
#define RUNNER_TEST_CHILD_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../src/engine/child.h"
#include "fork_fixture.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Run to the end with stdin /dev/null and stderr ours: its wait status. */
static inline int run(const char *const *argv, int out)
{
	struct child_spec spec = { .argv = argv, .fd = { -1, out, test_stderr } };
	struct child_error error;
	pid_t pid = child_spawn(&spec, &error);

	CHECK(pid > 0);
	CHECK(error.step == CHILD_OK);
	return wait_for(pid);
}

/* What a command writes to stdout; static. */
static inline const char *output_of(struct child_spec spec)
{
	static char text[8192];
	struct child_error error;
	size_t n = 0;
	ssize_t got;
	int p[2];
	pid_t pid;

	CHECK(pipe(p) == 0);
	spec.fd[0] = -1;
	spec.fd[1] = p[1];
	spec.fd[2] = test_stderr;
	CHECK((pid = child_spawn(&spec, &error)) > 0);
	close(p[1]);
	while ((got = read(p[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(p[0]);
	wait_for(pid);
	text[n] = '\0';
	return text;
}

static inline char *make_dir(char *dir)
{
	strcpy(dir, "/tmp/test_child.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	return dir;
}

static inline void make_program(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CHECK((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600)) >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(fchmod(fd, mode) == 0);
	close(fd);
}

static inline void remove_dir(const char *dir)
{
	CHECK(run(ARGV("rm", "-rf", dir), -1) == 0);
}

static inline void check_error(struct child_spec spec, enum child_step step, int err)
{
	struct child_error error;

	spec.fd[0] = spec.fd[1] = spec.fd[2] = -1;
	errno = 0;
	CHECK(child_spawn(&spec, &error) == -1);
	if (error.step != step || error.err != err)
		dprintf(test_stderr, "%s: %s\n", child_step_name(error.step), strerror(error.err));
	CHECK(error.step == step);
	CHECK(error.err == err);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); /* it was reaped */
}

#endif
