/*
 * os_linux.c: os.h on Linux: prctl, close_range, /proc. Runs in both processes,
 * and partly in signal handlers and fresh forks: those functions format and
 * parse by hand, since stdio and malloc may be in the middle of something.
 */
#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)

#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os_close.h"

#define PROC_PATH_MAX 64
#define STAT_MAX 1024

int os_become_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int os_parent_death_signal(int sig)
{
	return prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);
}

/* Not by its resource limit: a core that is piped to a program heeds none (core(5)). */
void os_refuse_core(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* --- descriptors ----------------------------------------------------------------- */

static int close_between(unsigned first, unsigned last)
{
#ifdef SYS_close_range
	return first > last ? 0 : (int)syscall(SYS_close_range, first, last, 0);
#else
	errno = ENOSYS;
	return -1;
#endif
}

void os_close_from(int lowest, const int *keep, size_t keep_count)
{
	int from = lowest;

	for (size_t i = 0; i < keep_count; i++) {
		if (keep[i] < from)
			continue;
		if (keep[i] > from && close_between((unsigned)from, (unsigned)keep[i] - 1) < 0)
			goto one_by_one;
		from = keep[i] + 1;
	}
	if (close_between((unsigned)from, ~0U) == 0)
		return;
one_by_one:
	os_close_each(lowest, keep, keep_count);
}

/* --- /proc, by hand -------------------------------------------------------------- */

static char *put_str(char *at, const char *s)
{
	while (*s != '\0')
		*at++ = *s++;
	*at = '\0';
	return at;
}

static char *put_number(char *at, unsigned v)
{
	char digits[12];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	while (n > 0)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}

/* "/proc/PID" + tail, or "/proc/PID/task/PID" + tail. */
static int open_proc(pid_t pid, bool task, const char *tail)
{
	char path[PROC_PATH_MAX];
	char *at = put_number(put_str(path, "/proc/"), (unsigned)pid);

	if (task)
		at = put_number(put_str(at, "/task/"), (unsigned)pid);
	put_str(at, tail);
	return xopen(path, O_RDONLY, 0);
}

/* Numbers that are split between two reads are carried in *number. */
static int take_pids(const char *s, size_t n, unsigned *number, pid_t *out, int count, int cap)
{
	for (size_t i = 0; i < n && count < cap; i++) {
		if (s[i] >= '0' && s[i] <= '9') {
			*number = *number * 10 + (unsigned)(s[i] - '0');
		} else if (*number > 0) {
			out[count++] = (pid_t)*number;
			*number = 0;
		}
	}
	return count;
}

int os_children(pid_t pid, pid_t *out, int cap)
{
	char chunk[4096];
	unsigned number = 0;
	int count = 0;
	ssize_t got;
	int fd = open_proc(pid, true, "/children");

	if (fd < 0)
		return -1;
	while (count < cap && (got = xread(fd, chunk, sizeof(chunk))) > 0)
		count = take_pids(chunk, (size_t)got, &number, out, count, cap);
	xclose(&fd);
	return count;
}

/* Skip `fields` blank-separated fields; NULL when there are fewer. */
static const char *skip_fields(const char *s, int fields)
{
	while (s != NULL && fields-- > 0) {
		s = strchr(s, ' ');
		if (s != NULL)
			s++;
	}
	return s;
}

/* proc_pid_stat(5): the name (2) may hold anything, ")" and blanks included, so
 * counting starts behind its last ")", which is what comes back: state 3, ppid 4,
 * starttime 22. */
static const char *read_stat(pid_t pid, char *stat, size_t size)
{
	ssize_t got;
	int fd = open_proc(pid, false, "/stat");

	if (fd < 0)
		return NULL;
	got = xread(fd, stat, size - 1);
	xclose(&fd);
	if (got <= 0)
		return NULL;
	stat[got] = '\0';
	return strrchr(stat, ')');
}

int os_process_info(pid_t pid, pid_t *parent, uint64_t *start_time)
{
	char stat[STAT_MAX];
	const char *state = read_stat(pid, stat, sizeof(stat));
	const char *start = skip_fields(state, 20);

	if (start == NULL)
		return -1;
	*parent = (pid_t)strtol(skip_fields(state, 2), NULL, 10);
	*start_time = strtoull(start, NULL, 10);
	return 0;
}

bool os_process_lives(pid_t pid)
{
	char stat[STAT_MAX];
	const char *state = skip_fields(read_stat(pid, stat, sizeof(stat)), 1);

	return state != NULL && *state != 'Z' && *state != 'X';
}

/* proc_pid_stat(5): starttime counts as CLOCK_BOOTTIME does, in _SC_CLK_TCK. */
int os_ticks_now(uint64_t *ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;

	if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return -1;
	*ticks = (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec * hz / 1000000000;
	return 0;
}

int os_watch_process(pid_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	errno = ENOSYS;
	return -1;
#endif
}

pid_t os_fork_borrowing(int (*child)(void *data), void *data)
{
	static char stack[64 << 10] __attribute__((aligned(16)));

	return clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, data);
}

/* clone(2): with no exit signal it is no child to a wait without __WALL, until
 * somebody adopts it. All arguments 0: their order, which differs, does not matter. */
pid_t os_fork_unnoticed(void)
{
	return (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

void os_reap_unnoticed(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

bool os_has_children(void)
{
	siginfo_t info;

	/* The state asked for does not matter: ECHILD is about having any. */
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* --- the rest -------------------------------------------------------------------- */

/* A regular file never blocks, and a new description would start at offset 0
 * and overwrite what is there; a socket can't be opened by name. */
int os_reopen_nonblocking(int fd, int flags)
{
	char path[PROC_PATH_MAX];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	put_number(put_str(path, "/proc/self/fd/"), (unsigned)fd);
	return xopen(path, flags | O_NONBLOCK | O_NOCTTY, 0);
}

/* Pipes know it since Linux 6.4. */
ssize_t os_write_nowait(int fd, const void *bytes, size_t n)
{
#ifdef RWF_NOWAIT
	struct iovec all = { .iov_base = (void *)bytes, .iov_len = n };
	ssize_t put = pwritev2(fd, &all, 1, -1, RWF_NOWAIT);

	if (put >= 0 || (errno != ENOSYS && errno != EINVAL && errno != ESPIPE))
		return put;
#endif
	errno = EOPNOTSUPP;
	return -1;
}

int os_random(void *out, size_t n)
{
	char *at = out;

	while (n > 0) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno != EINTR)
			return -1;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

#else
typedef int os_linux_is_empty; /* ISO C wants something in a file */
#endif
