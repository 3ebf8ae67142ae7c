/*
 * unread.c: looks at stdin once the run is over (docs/design.md#streams). Runs in the supervisor.
 */
#include "unread.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../engine/os.h"
#include "warn.h"

/* Bytes that a pipe, a socket or a file has for its next reader; 0 of all else, as a terminal or /dev/null. */
static int64_t waiting(int fd, const struct stat *st)
{
	int n = 0;
	off_t at;

	if (S_ISREG(st->st_mode))
		return (at = lseek(fd, 0, SEEK_CUR)) >= 0 && st->st_size > at ? st->st_size - at : 0;
	if ((S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) && ioctl(fd, FIONREAD, &n) == 0)
		return n;
	return 0;
}

/* A caller that has the same stdin goes on to read it: a loop of a shell over lines, a script that is piped into
 * one. Where that can't be seen, it is taken to be so. */
static bool is_shared(pid_t caller, const struct stat *ours)
{
	struct stat theirs;

	if (caller <= 0) /* the first process of a container: its caller is outside */
		return false;
	switch (os_process_stdin(caller, &theirs)) {
	case 0:  return theirs.st_dev == ours->st_dev && theirs.st_ino == ours->st_ino;
	case 1:  return false;
	default: return true;
	}
}

void unread_warn(struct run *run)
{
	const struct report *r = &run->verdict.report;
	struct stat st;
	int64_t n;

	if (!r->entered_run || run->plan.reads_stdin || run->launch.stdin_is_tty)
		return;
	if ((fcntl(run->launch.stdin_fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return;
	if (fstat(run->launch.stdin_fd, &st) < 0 || (n = waiting(run->launch.stdin_fd, &st)) == 0)
		return;
	if (getenv("RUNNER_ARGUMENTS") || is_shared(run->caller, &st)) /* the first: what is there are arguments */
		return;
	run_warn_counted(run, "STDIN_IGNORED",
	                 "Nothing has read what came on stdin: the command declares no stdin, or takes it only with --input-file -",
	                 "bytes", n, NULL);
}
