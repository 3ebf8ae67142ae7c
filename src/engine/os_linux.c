/*
 * os_linux.c: os.h on Linux: prctl, clone, close_range. Runs in both processes,
 * and partly in signal handlers and fresh forks. What /proc says about processes
 * is os_proc.c's.
 */
#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)

#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "os_close.h"
#include "os_proc.h"

int os_become_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int os_parent_death_signal(int sig)
{
	return prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);
}

void os_name_process(const char *name)
{
	const char *slash = strrchr(name, '/');

	prctl(PR_SET_NAME, slash ? slash + 1 : name, 0, 0, 0);
}

/* Not by its resource limit, which a core piped to a program ignores (core(5)). */
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

/* --- processes --------------------------------------------------------------------- */

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

/* RLIMIT_LOCKS has limited nothing since Linux 2.4.25 (getrlimit(2)), and is inherited like
 * every limit. The hard limit is a mark, too, which only a capability can take off: a process that has it may not
 * approve anything (lua/core/person.lua). */
int os_mark(uint64_t mark)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_LOCKS, &limit) < 0)
		return -1;
	limit.rlim_cur = (rlim_t)mark;
	if (limit.rlim_max == RLIM_INFINITY)
		limit.rlim_max--;
	return setrlimit(RLIMIT_LOCKS, &limit);
}

uint64_t os_mark_of(pid_t pid)
{
	struct rlimit limit;

	return prlimit(pid, RLIMIT_LOCKS, NULL, &limit) < 0 ? 0 : (uint64_t)limit.rlim_cur;
}

bool os_is_marked(pid_t pid)
{
	struct rlimit limit;

	return prlimit(pid, RLIMIT_LOCKS, NULL, &limit) < 0 || limit.rlim_max != RLIM_INFINITY;
}

int os_watch_signals(const sigset_t *set)
{
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int os_take_signal(int fd)
{
	struct signalfd_siginfo info;

	return xread(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

int os_peer(int fd, pid_t *pid, uid_t *user)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -1;
	*pid = peer.pid;
	*user = peer.uid;
	return 0;
}

int os_name_senders(int fd)
{
	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int));
}

/* unix(7): bytes of two senders never come together. There is no room for a descriptor. */
ssize_t os_receive(int fd, void *bytes, size_t n, pid_t *sender)
{
	union {
		char room[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec data = { bytes, n };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	struct ucred from = { 0 };
	ssize_t got;

	do
		got = recvmsg(fd, &m, 0);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		rest_changed();
	c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
		memcpy(&from, CMSG_DATA(c), sizeof(from));
	*sender = from.pid;
	return got;
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

/* clone(2): without an exit signal, wait(2) without __WALL does not see the child,
 * until another process adopts it. All arguments are 0, so that their order, which
 * differs between systems, does not matter. */
pid_t os_fork_unnoticed(void)
{
	return (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

void os_reap_unnoticed(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && rest_again())
		;
}

/* clone(2): the flags are the first argument, but on s390. */
pid_t os_fork_sibling(void)
{
#if defined(__s390__)
	return (pid_t)syscall(SYS_clone, 0L, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L);
#else
	return (pid_t)syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);
#endif
}

bool os_has_children(void)
{
	siginfo_t info;

	/* Which state we ask for does not matter: ECHILD means no children at all. */
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* --- the rest -------------------------------------------------------------------- */

/* A regular file never blocks, and a new description would start at offset 0
 * and overwrite what is there; a socket can't be opened by name. */
int os_reopen_nonblocking(int fd, int flags)
{
	char path[OS_PROC_PATH_MAX];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	os_put_number(os_put_str(path, "/proc/self/fd/"), (unsigned)fd);
	return xopen(path, flags | O_NONBLOCK | O_NOCTTY, 0);
}

int os_timer(int sig)
{
	struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	int timer;

	return syscall(SYS_timer_create, (long)CLOCK_MONOTONIC, &by_signal, &timer) == 0 ? timer : -1;
}

void os_timer_every(int timer, long ns)
{
	struct itimerspec every = { { 0, ns }, { 0, ns } };

	(void)syscall(SYS_timer_settime, (long)timer, 0L, &every, NULL);
}

#ifndef RWF_NOWAIT /* musl 1.2.3 */
#define RWF_NOWAIT 8
static ssize_t pwritev2(int fd, const struct iovec *all, int n, off_t at, int flags)
{
	return syscall(SYS_pwritev2, fd, all, (long)n, (long)at, (long)at, (long)flags);
}
#endif

/* Pipes support it since Linux 6.4. */
ssize_t os_write_nowait(int fd, const void *bytes, size_t n)
{
	struct iovec all = { .iov_base = (void *)bytes, .iov_len = n };
	ssize_t put = pwritev2(fd, &all, 1, -1, RWF_NOWAIT);

	if (put >= 0 || (errno != ENOSYS && errno != EINVAL && errno != ESPIPE))
		return put;
	errno = EOPNOTSUPP;
	return -1;
}

int os_memory_file(void)
{
	return memfd_create("runner", MFD_CLOEXEC);
}

#define PAGE_BYTES 4096

void *os_named_page(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	xclose(&fd);
	return page == MAP_FAILED ? NULL : page;
}

void os_unmap_page(void *page)
{
	munmap(page, PAGE_BYTES);
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int os_sealed_memory(size_t size)
{
	int fd = memfd_create("runner", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0))
		xclose(&fd);
	return fd;
}

bool os_is_sealed_memory(int fd, size_t size)
{
	struct stat st;

	return fcntl(fd, F_GET_SEALS) == SEALS && fstat(fd, &st) == 0 && st.st_size == (off_t)size;
}

int os_random(void *out, size_t n)
{
	char *at = out;

	while (n > 0) {
		ssize_t got = getrandom(at, n, 0);

		if (got == 0 || (got < 0 && !rest_again()))
			return -1;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

static bool in_a_hurry;

/* (the functions of musl only fail: POSIX means a whole process, Linux a thread) */
static int schedule(int policy, int priority)
{
	return (int)syscall(SYS_sched_setscheduler, 0L, (long)policy, &(struct sched_param){ .sched_priority = priority });
}

void os_hurry(void)
{
	if (!in_a_hurry && syscall(SYS_sched_getscheduler, 0L) == SCHED_OTHER)
		in_a_hurry = schedule(SCHED_RR | SCHED_RESET_ON_FORK, 1) == 0;
}

/* An ordinary user whom RLIMIT_RTPRIO allowed this can't clear the flag, which is harmless. */
void os_rest(void)
{
	if (in_a_hurry && schedule(SCHED_OTHER, 0) < 0)
		(void)schedule(SCHED_OTHER | SCHED_RESET_ON_FORK, 0);
	in_a_hurry = false;
}

#else
typedef int os_linux_is_empty; /* ISO C wants something in a file */
#endif
