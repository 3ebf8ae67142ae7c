/*
 * shim.c: a preloaded library for tests: the Nth call of one libc function fails
 * in one process of a run: the supervisor (role 0), the worker (1) or what the worker
 * forks until it execs (2); in programs that those execute it does nothing.
 *
 *   FAULT_STATE=FILE                 counters, shared by all processes (struct state)
 *   FAULT=CALL:ROLE:NTH:ERRNO:EVER   ERRNO 0: a short count; EVER 1: from there on always
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROLES 3
#define NOBODY (-1)

/* CALL(result, name, (parameters), (arguments)): fails as -1 with errno */
#define PLAIN_CALLS \
	CALL(pid_t, fork, (void), ()) \
	CALL(int, pipe2, (int fd[2], int flags), (fd, flags)) \
	CALL(int, socketpair, (int d, int t, int p, int fd[2]), (d, t, p, fd)) \
	CALL(int, ppoll, (struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *m), (p, n, t, m)) \
	CALL(int, poll, (struct pollfd *p, nfds_t n, int t), (p, n, t)) \
	CALL(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options)) \
	CALL(int, waitid, (idtype_t t, id_t id, siginfo_t *i, int options), (t, id, i, options)) \
	CALL(int, fsync, (int fd), (fd)) \
	CALL(int, flock, (int fd, int operation), (fd, operation)) \
	CALL(int, rename, (const char *from, const char *to), (from, to)) \
	CALL(int, symlink, (const char *to, const char *path), (to, path)) \
	CALL(int, symlinkat, (const char *to, int fd, const char *path), (to, fd, path)) \
	CALL(int, mkdir, (const char *path, mode_t mode), (path, mode)) \
	CALL(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode)) \
	CALL(int, unlink, (const char *path), (path)) \
	CALL(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags)) \
	CALL(int, rmdir, (const char *path), (path)) \
	CALL(int, remove, (const char *path), (path)) \
	CALL(ssize_t, readlink, (const char *path, char *b, size_t n), (path, b, n)) \
	CALL(int, stat, (const char *path, struct stat *st), (path, st)) \
	CALL(int, lstat, (const char *path, struct stat *st), (path, st)) \
	CALL(int, fstat, (int fd, struct stat *st), (fd, st)) \
	CALL(int, fstatat, (int fd, const char *p, struct stat *st, int flags), (fd, p, st, flags)) \
	CALL(int, fchmod, (int fd, mode_t mode), (fd, mode)) \
	CALL(int, futimens, (int fd, const struct timespec t[2]), (fd, t)) \
	CALL(int, ftruncate, (int fd, off_t n), (fd, n)) \
	CALL(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence)) \
	CALL(int, dup2, (int from, int to), (from, to)) \
	CALL(int, setsid, (void), ()) \
	CALL(int, setpgid, (pid_t pid, pid_t group), (pid, group)) \
	CALL(int, chdir, (const char *path), (path)) \
	CALL(int, sigaction, (int s, const struct sigaction *a, struct sigaction *o), (s, a, o)) \
	CALL(int, execve, (const char *p, char *const *a, char *const *e), (p, a, e)) \
	CALL(ssize_t, getrandom, (void *b, size_t n, unsigned flags), (b, n, flags))

/* CALL(name, (parameters), (arguments with a shorter `n`)): fail or do less */
#define COUNTED_CALLS \
	CALL(read, (int fd, void *b, size_t n), (fd, b, n)) \
	CALL(write, (int fd, const void *b, size_t n), (fd, b, n)) \
	CALL(pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at)) \
	CALL(send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags))

/* CALL(result, name, (parameters), (arguments)): fails as NULL with errno */
#define POINTER_CALLS \
	CALL(DIR *, opendir, (const char *path), (path)) \
	CALL(DIR *, fdopendir, (int fd), (fd)) \
	CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode)) \
	CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode)) \
	CALL(char *, getcwd, (char *b, size_t n), (b, n))

/* Those with a body of their own. */
#define OTHER_CALLS \
	NAME(malloc) NAME(calloc) NAME(realloc) NAME(open) NAME(openat) NAME(fcntl) NAME(syscall) NAME(prctl) \
	NAME(mmap) NAME(close) NAME(readdir)

#define NAME(name) CALL_##name,
enum call {
#define CALL(result, name, ...) CALL_##name,
	PLAIN_CALLS POINTER_CALLS
#undef CALL
#define CALL(name, ...) CALL_##name,
	COUNTED_CALLS
#undef CALL
	OTHER_CALLS CALL_COUNT
};
#undef NAME

#define NAME(name) #name,
static const char *const names[] = {
#define CALL(result, name, ...) #name,
	PLAIN_CALLS POINTER_CALLS
#undef CALL
#define CALL(name, ...) #name,
	COUNTED_CALLS
#undef CALL
	OTHER_CALLS
};
#undef NAME

/* The file: what the test reads back. Rows are in the order of `names`. */
struct state {
	_Atomic int supervisor;
	_Atomic unsigned fired;
	_Atomic unsigned counts[ROLES][CALL_COUNT];
};

static struct state *state;
static int role = NOBODY;
static int wanted_call = -1, wanted_role, wanted_errno, ever;
static unsigned wanted_nth;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

enum fate { PASS, FAIL, SHORT };

static enum fate fate(enum call call)
{
	unsigned n;

	if (role == NOBODY || !state)
		return PASS;
	n = atomic_fetch_add(&state->counts[role][call], 1) + 1;
	if ((int)call != wanted_call || role != wanted_role || n < wanted_nth || (n > wanted_nth && !ever))
		return PASS;
	atomic_fetch_add(&state->fired, 1);
	if (wanted_errno == 0)
		return SHORT;
	errno = wanted_errno;
	return FAIL;
}

/* --- the calls ------------------------------------------------------------------ */

static void became_child(pid_t pid)
{
	if (pid == 0 && role != NOBODY && role < ROLES - 1)
		role++;
}

#define REAL(name) \
	static __typeof__(name) *next; \
	if (!next) \
		next = (__typeof__(name) *)real(#name)

#define CALL(result, name, parameters, arguments) \
	result name parameters \
	{ \
		result r; \
		REAL(name); \
		if (fate(CALL_##name) == FAIL) \
			return (result)-1; \
		r = next arguments; \
		if (CALL_##name == CALL_fork) \
			became_child((pid_t)r); \
		return r; \
	}
PLAIN_CALLS
#undef CALL

#define CALL(result, name, parameters, arguments) \
	result name parameters \
	{ \
		REAL(name); \
		return fate(CALL_##name) == FAIL ? NULL : next arguments; \
	}
POINTER_CALLS
#undef CALL

#define CALL(name, parameters, arguments) \
	ssize_t name parameters \
	{ \
		enum fate f; \
		REAL(name); \
		f = fate(CALL_##name); \
		if (f == FAIL) \
			return -1; \
		if (f == SHORT && n > 1) \
			n /= 2; \
		return next arguments; \
	}
COUNTED_CALLS
#undef CALL

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t count, size_t n);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	return fate(CALL_malloc) == FAIL ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t n)
{
	return fate(CALL_calloc) == FAIL ? NULL : __libc_calloc(count, n);
}

void *realloc(void *p, size_t n)
{
	return fate(CALL_realloc) == FAIL ? NULL : __libc_realloc(p, n);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	REAL(open);

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fate(CALL_open) == FAIL ? -1 : next(path, flags, mode);
}

int openat(int fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	REAL(openat);

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fate(CALL_openat) == FAIL ? -1 : next(fd, path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
	va_list ap;
	void *argument;
	REAL(fcntl);

	va_start(ap, command);
	argument = va_arg(ap, void *);
	va_end(ap);
	return fate(CALL_fcntl) == FAIL ? -1 : next(fd, command, argument);
}

long syscall(long number, ...)
{
	va_list ap;
	long a[6];
	REAL(syscall);

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return fate(CALL_syscall) == FAIL ? -1 : next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int prctl(int option, ...)
{
	va_list ap;
	unsigned long a[4];
	REAL(prctl);

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return fate(CALL_prctl) == FAIL ? -1 : next(option, a[0], a[1], a[2], a[3]);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	REAL(mmap);

	return fate(CALL_mmap) == FAIL ? MAP_FAILED : next(at, n, protection, flags, fd, offset);
}

/* close(2): the descriptor is gone even where it fails. */
int close(int fd)
{
	enum fate f = fate(CALL_close);
	int saved = errno, r;
	REAL(close);

	r = next(fd);
	if (f != FAIL)
		return r;
	errno = saved;
	return -1;
}

/* A NULL with errno untouched would be the end of the directory. */
struct dirent *readdir(DIR *dir)
{
	REAL(readdir);

	return fate(CALL_readdir) == FAIL ? NULL : next(dir);
}

/* --- set-up --------------------------------------------------------------------- */

static void read_fault(const char *text)
{
	char name[32];

	if (!text || sscanf(text, "%31[^:]:%d:%u:%d:%d", name, &wanted_role, &wanted_nth, &wanted_errno, &ever) != 5)
		return;
	for (int i = 0; i < CALL_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			wanted_call = i;
	if (wanted_call < 0)
		abort(); /* a test that names no call would pass for nothing */
}

__attribute__((constructor)) static void prepare(void)
{
	const char *path = getenv("FAULT_STATE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	int nobody = 0;
	void *page;

	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	read_fault(getenv("FAULT"));
	state = page;
	if (atomic_compare_exchange_strong(&state->supervisor, &nobody, getpid()))
		role = 0;
}

/* Run by hand, the names in their order: what a reader of the file needs. */
const char *const *shim_names(void)
{
	return names;
}
