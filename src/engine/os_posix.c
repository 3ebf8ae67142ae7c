/*
 * os_posix.c: os.h where there is only POSIX. What has no counterpart returns -1,
 * and the callers keep weaker guarantees (docs/design.md#portability). Also built on
 * Linux with -DRUNNER_POSIX_ONLY, so that those paths are tested.
 */
#if !defined(__linux__) || defined(RUNNER_POSIX_ONLY)

#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os_close.h"

static int unsupported(void)
{
	errno = ENOSYS;
	return -1;
}

int os_become_subreaper(void)
{
	return unsupported();
}

int os_parent_death_signal(int sig UNUSED)
{
	return unsupported();
}

int os_process_stdin(pid_t pid UNUSED, struct stat *its UNUSED)
{
	return unsupported();
}

int os_name_senders(int fd UNUSED)
{
	return 0;
}

ssize_t os_receive(int fd, void *bytes, size_t n, pid_t *sender)
{
	*sender = -1;
	return xread(fd, bytes, n);
}

void os_name_process(const char *name UNUSED)
{
}

void os_refuse_core(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

void os_close_from(int lowest, const int *keep, size_t keep_count)
{
	os_close_each(lowest, keep, keep_count);
}

void os_hurry(void)
{
}

void os_rest(void)
{
}

int os_children(pid_t pid UNUSED, pid_t *out UNUSED, int cap UNUSED)
{
	return unsupported();
}

int os_children_ends(pid_t pid UNUSED, pid_t *out UNUSED, int cap UNUSED)
{
	return unsupported();
}

int os_process_info(pid_t pid UNUSED, pid_t *parent UNUSED, uint64_t *start_time UNUSED)
{
	return unsupported();
}

bool os_process_lives(pid_t pid UNUSED)
{
	return false;
}

int os_watch_signals(const sigset_t *set UNUSED)
{
	return unsupported();
}

int os_take_signal(int fd UNUSED)
{
	return 0;
}

int os_peer(int fd UNUSED, pid_t *pid UNUSED, uid_t *user UNUSED)
{
	return unsupported();
}

int os_watch_process(pid_t pid UNUSED)
{
	return unsupported();
}

pid_t os_fork_borrowing(int (*child)(void *data), void *data)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(child(data));
	return pid;
}

pid_t os_fork_unnoticed(void)
{
	return unsupported();
}

void os_reap_unnoticed(pid_t pid UNUSED)
{
}

pid_t os_fork_sibling(void)
{
	return unsupported();
}

void os_drop_heap(void)
{
}

int os_each_process(void (*f)(pid_t pid, void *data) UNUSED, void *data UNUSED)
{
	errno = ENOSYS;
	return -1;
}

int os_mark(uint64_t mark UNUSED)
{
	return unsupported();
}

bool os_is_marked(pid_t pid UNUSED)
{
	return false;
}

uint64_t os_mark_of(pid_t pid UNUSED)
{
	return 0;
}

int os_ticks_now(uint64_t *ticks UNUSED)
{
	return unsupported();
}

bool os_has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Elsewhere opening /dev/fd/N is dup(2): it would share the flags. */
int os_reopen_nonblocking(int fd UNUSED, int flags UNUSED)
{
	return unsupported();
}

ssize_t os_write_nowait(int fd UNUSED, const void *bytes UNUSED, size_t n UNUSED)
{
	errno = EOPNOTSUPP;
	return -1;
}

int os_memory_file(void)
{
	return unsupported();
}

void *os_named_page(const char *name)
{
	(void)name;
	return NULL;
}

void os_unmap_page(void *page)
{
	(void)page;
}

int os_sealed_memory(size_t size)
{
	(void)size;
	return unsupported();
}

bool os_is_sealed_memory(int fd, size_t size)
{
	(void)fd, (void)size;
	return false;
}

int os_timer(int sig UNUSED)
{
	return unsupported();
}

void os_timer_every(int timer UNUSED, long ns UNUSED)
{
}

int os_random(void *out, size_t n)
{
	char *at = out;
	int fd = xopen("/dev/urandom", O_RDONLY, 0);
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	while (n > 0 && (got = xread(fd, at, n)) > 0) {
		at += got;
		n -= (size_t)got;
	}
	xclose(&fd);
	return n == 0 ? 0 : -1;
}

#else
typedef int os_posix_is_empty; /* ISO C wants something in a file */
#endif
