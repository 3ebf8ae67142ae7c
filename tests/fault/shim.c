/*
 * shim.c: for tests: the Nth call of one libc function fails. A library that is preloaded, or, for the
 * static build (SHIM_LINKED), an object that is linked into it with ld's --wrap. The call fails
 * in one process of a run: the supervisor (role 0), the worker (1), what the worker
 * forks until it execs (2), or a zygote and all that it forks (3); in other programs that those
 * execute it does nothing. Which calls: shim_calls.h; tests/fault/calls.py checks that none is missing.
 *
 *   FAULT_STATE=FILE                 counters, shared by all processes (struct state)
 *   FAULT=CALL:ROLE:NTH:ERRNO:EVER   ERRNO 0: a short count; EVER 1: from there on always
 *     of poll and ppoll, ERRNO 0: they return at once; negative: … with these events of each descriptor
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "shim_calls.h"

#define CHILD 2
#define ZYGOTE 3
#define ROLES 4
#define NOBODY (-1)

#define NAME(name) CALL_##name,
enum call {
#define CALL(result, name, ...) CALL_##name,
	PLAIN_CALLS POINTER_CALLS STREAM_CALLS
#undef CALL
#define CALL(name, ...) CALL_##name,
	COUNTED_CALLS ERRNO_CALLS CLOSING_CALLS
#undef CALL
	OTHER_CALLS CALL_COUNT
};
#undef NAME

#define NAME(name) #name,
static const char *const names[] = {
#define CALL(result, name, ...) #name,
	PLAIN_CALLS POINTER_CALLS STREAM_CALLS
#undef CALL
#define CALL(name, ...) #name,
	COUNTED_CALLS ERRNO_CALLS CLOSING_CALLS
#undef CALL
	OTHER_CALLS
	NULL
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

/* Ours, and what it stands for: found behind us by the loader, or named so by the linker. */
#ifdef SHIM_LINKED
#define OURS(name) __wrap_##name
#define REAL(name) \
	extern __typeof__(name) __real_##name; \
	__typeof__(name) *next = __real_##name
#else
#define OURS(name) name
#define REAL(name) \
	static __typeof__(name) *next; \
	if (!next) \
		next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#endif

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
	if (pid == 0 && role != NOBODY && role < CHILD)
		role++;
}

#define CALL(result, name, parameters, arguments) \
	result OURS(name) parameters \
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
	result OURS(name) parameters \
	{ \
		REAL(name); \
		return fate(CALL_##name) == FAIL ? NULL : next arguments; \
	}
POINTER_CALLS
#undef CALL

#define CALL(name, parameters, arguments) \
	ssize_t OURS(name) parameters \
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

#define CALL(name, parameters, arguments) \
	int OURS(name) parameters \
	{ \
		REAL(name); \
		return fate(CALL_##name) == FAIL ? errno : next arguments; \
	}
ERRNO_CALLS
#undef CALL

/* What ferror(3) looks at: the same bit of the first member in glibc (_IO_ERR_SEEN) and in musl (F_ERR). */
static void mark_failed(FILE *f)
{
	if (f)
		*(unsigned *)f |= 0x20;
}

#define CALL(result, name, parameters, arguments, failure) \
	result OURS(name) parameters \
	{ \
		REAL(name); \
		if (fate(CALL_##name) != FAIL) \
			return next arguments; \
		mark_failed(f); \
		return failure; \
	}
STREAM_CALLS
#undef CALL

/* The descriptor is gone even where close(2) fails. */
#define CALL(name, parameters, arguments) \
	int OURS(name) parameters \
	{ \
		enum fate f_ = fate(CALL_##name); \
		int saved = errno, r; \
		REAL(name); \
		r = next arguments; \
		if (f_ != FAIL) \
			return r; \
		errno = saved; \
		return -1; \
	}
CLOSING_CALLS
#undef CALL

#ifndef SHIM_LINKED
/* --- what _FORTIFY_SOURCE calls instead --------------------------------------------- */

int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *m, size_t size)
{
	(void)size;
	return ppoll(p, n, t, m);
}

char *__realpath_chk(const char *path, char *b, size_t size)
{
	(void)size;
	return realpath(path, b);
}

int __fprintf_chk(FILE *f, int flag, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = __vfprintf_chk(f, flag, format, ap);
	va_end(ap);
	return n;
}
#endif

/* --- with bodies of their own ------------------------------------------------------- */

/* (dlsym(3) itself allocates) */
#ifdef SHIM_LINKED
#define ALLOCATE(name) __real_##name
#else
#define ALLOCATE(name) __libc_##name
#endif
extern void *ALLOCATE(malloc)(size_t n);
extern void *ALLOCATE(calloc)(size_t count, size_t n);
extern void *ALLOCATE(realloc)(void *p, size_t n);

void *OURS(malloc)(size_t n)
{
	return fate(CALL_malloc) == FAIL ? NULL : ALLOCATE(malloc)(n);
}

void *OURS(calloc)(size_t count, size_t n)
{
	return fate(CALL_calloc) == FAIL ? NULL : ALLOCATE(calloc)(count, n);
}

void *OURS(realloc)(void *p, size_t n)
{
	return fate(CALL_realloc) == FAIL ? NULL : ALLOCATE(realloc)(p, n);
}

int OURS(open)(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	REAL(open);

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fate(CALL_open) == FAIL ? -1 : next(path, flags, mode);
}

int OURS(openat)(int fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;
	REAL(openat);

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fate(CALL_openat) == FAIL ? -1 : next(fd, path, flags, mode);
}

int OURS(fcntl)(int fd, int command, ...)
{
	va_list ap;
	void *argument;
	REAL(fcntl);

	va_start(ap, command);
	argument = va_arg(ap, void *);
	va_end(ap);
	return fate(CALL_fcntl) == FAIL ? -1 : next(fd, command, argument);
}

long OURS(syscall)(long number, ...)
{
	va_list ap;
	long a[6], r;
	REAL(syscall);

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	/* (without a libc that has pwritev2, src/engine/os_linux.c does this) */
	if (fate(number == SYS_pwritev2 ? CALL_pwritev2 : CALL_syscall) == FAIL)
		return -1;
	r = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_clone)
		became_child((pid_t)r);
	return r;
}

int OURS(ioctl)(int fd, unsigned long request, ...)
{
	va_list ap;
	void *argument;
	REAL(ioctl);

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	return fate(CALL_ioctl) == FAIL ? -1 : next(fd, request, argument);
}

/* Our only use shares the memory and stops the caller until the child executes or ends:
 * what is called meanwhile is the child's. */
int OURS(clone)(int (*run)(void *), void *stack, int flags, void *data, ...)
{
	int r, was = role;
	REAL(clone);

	if (fate(CALL_clone) == FAIL)
		return -1;
	if ((flags & (CLONE_VM | CLONE_VFORK)) != (CLONE_VM | CLONE_VFORK))
		abort();
	if (was != NOBODY)
		role = ROLES - 1;
	r = next(run, stack, flags, data);
	role = was;
	return r;
}

/* What a wait says that ends without a reason; signals came in all the same. One for nothing but time is none. */
static int wake(struct pollfd *p, nfds_t n, int r)
{
	int woken = 0;

	for (nfds_t i = 0; i < n && r >= 0 && wanted_errno < 0; i++) {
		p[i].revents = (short)(p[i].fd >= 0 ? -wanted_errno : 0);
		woken += p[i].revents != 0;
	}
	return r < 0 || wanted_errno == 0 ? r : woken;
}

int OURS(ppoll)(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *m)
{
	const struct timespec none = { 0 };
	enum fate f;
	REAL(ppoll);

	f = fate(CALL_ppoll);
	if (f == PASS || (n == 0 && wanted_errno <= 0))
		return next(p, n, t, m);
	return f == FAIL && wanted_errno > 0 ? -1 : wake(p, n, next(p, n, &none, m));
}

int OURS(poll)(struct pollfd *p, nfds_t n, int t)
{
	enum fate f;
	REAL(poll);

	f = fate(CALL_poll);
	if (f == PASS || (n == 0 && wanted_errno <= 0))
		return next(p, n, t);
	return f == FAIL && wanted_errno > 0 ? -1 : wake(p, n, next(p, n, 0));
}

/* dlerror(3) has to have something to say. */
void *OURS(dlopen)(const char *path, int flags)
{
	REAL(dlopen);

	return next(fate(CALL_dlopen) == FAIL ? "/nonexistent.so" : path, flags);
}

int OURS(prctl)(int option, ...)
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

void *OURS(mmap)(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	REAL(mmap);

	return fate(CALL_mmap) == FAIL ? MAP_FAILED : next(at, n, protection, flags, fd, offset);
}

/* A NULL with errno untouched would be the end of the directory. */
struct dirent *OURS(readdir)(DIR *dir)
{
	REAL(readdir);

	return fate(CALL_readdir) == FAIL ? NULL : next(dir);
}

/* --- set-up --------------------------------------------------------------------- */

static void read_fault(const char *text)
{
	char name[48];

	if (!text || sscanf(text, "%47[^:]:%d:%u:%d:%d", name, &wanted_role, &wanted_nth, &wanted_errno, &ever) != 5)
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
	else if (strcmp(program_invocation_name, "runner-zygote") == 0)
		role = ZYGOTE;
}

/* The names in their order, NULL last: what a reader of the file needs. */
const char *const *shim_names(void)
{
	return names;
}
