/*
 * child.c: how a child process starts. Runs in the supervisor (workers use the
 * signal half only: they are forks without exec) and in the worker (ctx:run).
 * The child formats no errors: it sends {step, errno} over a pipe that exec
 * closes, and the parent returns them. child_end.c ends children.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "bounds.h"
#include "os.h"

#define FIRST_FREE_FD 3
#define EXIT_NOT_STARTED 127 /* as shells do; no process reads it here */
#define DEFAULT_PATH "/bin:/usr/bin"

extern char **environ;

static const char *const step_names[] = {
	[CHILD_OK] = "ok",           [CHILD_PIPE] = "pipe", [CHILD_FORK] = "fork",
	[CHILD_CHDIR] = "chdir",     [CHILD_SESSION] = "session",
	[CHILD_DUP] = "dup",         [CHILD_EXEC] = "exec",
	[CHILD_CONFINE] = "confine",
};

const char *child_step_name(enum child_step step)
{
	return step_names[step];
}

/* --- signals --------------------------------------------------------------------- */

static const int inherited_signals[] = { SIGINT, SIGHUP, SIGQUIT };
static bool ignored_at_entry[ARRAY_LEN(inherited_signals)];

void child_remember_ignored(void)
{
	struct sigaction act;

	for (size_t i = 0; i < ARRAY_LEN(inherited_signals); i++)
		ignored_at_entry[i] = sigaction(inherited_signals[i], NULL, &act) == 0 &&
		                      act.sa_handler == SIG_IGN;
}

bool child_was_ignored(int sig)
{
	for (size_t i = 0; i < ARRAY_LEN(inherited_signals); i++)
		if (inherited_signals[i] == sig)
			return ignored_at_entry[i];
	return false;
}

void child_reset_signals(void)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	for (int sig = 1; sig < NSIG; sig++) {
		act.sa_handler = child_was_ignored(sig) ? SIG_IGN : SIG_DFL;
		sigaction(sig, &act, NULL); /* KILL, STOP and libc's own signals refuse, as they should */
	}
	sigemptyset(&act.sa_mask);
	sigprocmask(SIG_SETMASK, &act.sa_mask, NULL);
}

/* --- the child's side ------------------------------------------------------------ */

static NO_RETURN void give_up(int report_fd, enum child_step step)
{
	struct child_error error = { step, errno };

	(void)!xwrite(report_fd, &error, sizeof(error));
	_exit(EXIT_NOT_STARTED);
}

/* A source for a standard descriptor that no dup2 onto 0–2 can overwrite. */
static int source_above(int fd)
{
	int null, above;

	if (fd >= FIRST_FREE_FD)
		return fd;
	if (fd >= 0)
		return xdup_above(fd, FIRST_FREE_FD);
	null = xopen_null();
	if (null < 0 || null >= FIRST_FREE_FD)
		return null;
	above = xdup_above(null, FIRST_FREE_FD);
	close(null);
	return above;
}

/* Move all above 2 first, then down: correct for every permutation of sources. */
static int place_standard_fds(const int fd[3])
{
	int source[3];

	for (int i = 0; i < 3; i++)
		if ((source[i] = source_above(fd[i])) < 0)
			return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(source[i], i) < 0)
			return -1;
	return 0;
}

/* After the standard ones, whose sources may be anywhere; dup2 clears close-on-exec, unless
 * it is there already. */
static int place_held(int fd)
{
	if (fd == FIRST_FREE_FD)
		return fcntl(fd, F_SETFD, 0);
	return fd > 0 ? dup2(fd, FIRST_FREE_FD) : 0;
}

static const char *env_path(const char *const *envp)
{
	for (; *envp != NULL; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return DEFAULT_PATH;
}

/* The errors after which execvp(3) tries the next directory. */
static bool try_next(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ESTALE ||
	       err == ENODEV || err == ETIMEDOUT || err == ENAMETOOLONG;
}

/* "dir/name" for the first n bytes of dir; an empty one is the cwd (POSIX). */
static int join_path(char *out, size_t size, const char *dir, size_t n, const char *name)
{
	size_t name_size = strlen(name) + 1;

	if (n + 1 + name_size > size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, dir, n);
	if (n > 0)
		out[n++] = '/';
	memcpy(out + n, name, name_size);
	return 0;
}

/* execvpe(3) with the child's PATH and without the shell for ENOEXEC. Returns
 * on failure, with errno: EACCES when something was there but not for us. */
static void exec_search(const char *const *argv, const char *const *envp)
{
	char path[PATH_MAX];
	int err = ENOENT;
	const char *dir = env_path(envp);
	size_t n;

	for (;; dir += n + 1) {
		n = strcspn(dir, ":");
		if (join_path(path, sizeof(path), dir, n, argv[0]) == 0)
			execve(path, (char *const *)argv, (char *const *)envp);
		if (!try_next(errno))
			return;
		if (errno == EACCES)
			err = EACCES;
		if (dir[n] == '\0')
			break;
	}
	errno = err;
}

static void exec_program(const char *path, const char *const *argv, const char *const *envp)
{
	if (path != NULL)
		execve(path, (char *const *)argv, (char *const *)envp);
	else if (argv[0] == NULL || argv[0][0] == '\0')
		errno = ENOENT;
	else if (strchr(argv[0], '/') != NULL)
		execve(argv[0], (char *const *)argv, (char *const *)envp);
	else
		exec_search(argv, envp);
}

/* If the parent dies before this call takes effect, we would be reparented and live on. */
static void die_with(pid_t parent)
{
	os_parent_death_signal(SIGKILL); /* best effort: not every system has it */
	if (getppid() != parent)
		_exit(EXIT_NOT_STARTED);
}

int child_become(const struct child_spec *spec, int report_fd, pid_t parent)
{
	int first_free = FIRST_FREE_FD + (spec->held_fd > 0);

	if (report_fd < first_free && (report_fd = xdup_above(report_fd, first_free)) < 0)
		_exit(EXIT_NOT_STARTED);
	if ((spec->new_session || spec->takes_terminal) && setsid() < 0)
		give_up(report_fd, CHILD_SESSION);
	if (spec->new_group && !spec->new_session && !spec->takes_terminal && setpgid(0, 0) < 0)
		give_up(report_fd, CHILD_SESSION);
	if (place_standard_fds(spec->fd) < 0 || place_held(spec->held_fd) < 0)
		give_up(report_fd, CHILD_DUP);
	if (spec->takes_terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		give_up(report_fd, CHILD_SESSION);
	if (spec->bounds && bounds_enter_files(spec->bounds) < 0) /* its descriptor is closed next */
		give_up(report_fd, CHILD_CONFINE);
	os_close_from(first_free, &report_fd, 1);
	if (spec->cwd != NULL && chdir(spec->cwd) < 0)
		give_up(report_fd, CHILD_CHDIR);
	if (spec->dies_with_parent)
		die_with(parent);
	if (spec->mark != 0)
		os_mark(spec->mark); /* best effort: its session is spared anyway */
	return report_fd;
}

static NO_RETURN void child_main(const struct child_spec *spec, int report_fd, pid_t parent)
{
	const char *const *envp = spec->envp ? spec->envp : (const char *const *)environ;

	report_fd = child_become(spec, report_fd, parent);
	child_reset_signals();
	if (spec->bounds && bounds_enter_calls(spec->bounds) < 0)
		give_up(report_fd, CHILD_CONFINE);
	exec_program(spec->program, spec->argv, envp);
	give_up(report_fd, CHILD_EXEC);
}

/* --- the parent's side ----------------------------------------------------------- */

struct birth {
	const struct child_spec *spec;
	int report_fd;
	pid_t parent;
};

static NO_RETURN int be_born(void *data)
{
	const struct birth *b = data;

	child_main(b->spec, b->report_fd, b->parent);
}

/* Signals stay blocked until the child has default dispositions: our handlers
 * must not run there. */
static pid_t fork_blocked(const struct child_spec *spec, const int report[2])
{
	struct birth birth = { spec, report[1], getpid() };
	sigset_t all, before;
	pid_t pid;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = spec->borrow_memory ? os_fork_borrowing(be_born, &birth) : fork();
	if (pid == 0)
		be_born(&birth);
	err = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return pid;
}

static void reap_failed(pid_t pid)
{
	int err = errno;

	while (waitpid(pid, NULL, 0) < 0 && rest_again())
		;
	errno = err;
}

pid_t child_spawn(const struct child_spec *spec, struct child_error *error)
{
	int report[2];
	ssize_t got;
	pid_t pid;

	*error = (struct child_error){ CHILD_OK, 0 };
	if (xpipe(report) < 0) {
		*error = (struct child_error){ CHILD_PIPE, errno };
		return -1;
	}
	pid = fork_blocked(spec, report);
	if (pid < 0)
		*error = (struct child_error){ CHILD_FORK, errno };
	xclose(&report[1]);
	got = pid < 0 ? 0 : xread(report[0], error, sizeof(*error));
	xclose(&report[0]);
	if (got > 0) {
		reap_failed(pid);
		return -1;
	}
	return pid;
}
