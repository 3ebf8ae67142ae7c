/*
 * fs_lock.c: locks between processes: flock(2) on a close-on-exec descriptor,
 * so a lock ends with the process that holds it, however that ends. The file
 * says who holds it; it stays when the lock is gone. Runs in the worker.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "../common/mono.h"
#include "../common/xio.h"
#include "../worker/cancel.h"

#define LOCK "runner.lock"
#define STALE_TRIES 16

/* How long a waiter sleeps before it looks again: at most so long; less and less often after
 * the kernel has spoken, which it does an instant before the lock is free; where there is no
 * inotify, always as short as this. */
#define ANYWAY_MS 1000
#define SOON_MS 1
#define BLIND_MS 20
/* Closed by who had it open (readers too: flock(1) opens so), unlinked or renamed. */
#define EVENTS (IN_CLOSE | IN_ATTRIB | IN_MOVE_SELF | IN_DONT_FOLLOW)

/* --- who holds it --------------------------------------------------------------------- */

static double wall_seconds(void)
{
	struct timespec now;

	wall_now(&now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One write of one short line, so that a reader never sees half of it. */
static void write_holder(int fd)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%ld %.3f\n", (long)getpid(), wall_seconds());

	if (pwrite(fd, line, (size_t)n, 0) == n && ftruncate(fd, n) < 0)
		return; /* only a hint: the lock itself is flock's */
}

static int open_to_look(const char *path)
{
	return xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
}

/* Push {pid=, since=, age_ms=}, empty if the holder hasn't written it yet. Closes fd. */
static void push_holder(lua_State *L, int fd)
{
	char line[64] = "";
	ssize_t n = fd < 0 ? 0 : xread(fd, line, sizeof(line) - 1);
	long pid;
	double since;

	xclose(&fd);
	lua_createtable(L, 0, 3);
	if (n <= 0 || sscanf(line, "%ld %lf", &pid, &since) != 2)
		return;
	lua_pushinteger(L, pid);
	lua_setfield(L, -2, "pid");
	lua_pushnumber(L, since);
	lua_setfield(L, -2, "since");
	lua_pushinteger(L, (lua_Integer)MAX_OF(0.0, (wall_seconds() - since) * 1000));
	lua_setfield(L, -2, "age_ms");
}

/* --- taking ----------------------------------------------------------------------------- */

struct request {
	const char *path;
	int operation;       /* LOCK_SH or LOCK_EX */
	bool linked;         /* other names in its directory do no harm, if only the caller can make some */
	const char *refused; /* why the file can't be a lock; errno is EPERM then */
};

/* The directory that holds the file belongs to that user: what is in it is his to give. */
static bool owns_directory(const char *path, uid_t owner, mode_t *mode)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	struct stat st;

	if (n >= sizeof(dir))
		return false;
	memcpy(dir, path, n);
	strcpy(dir + n, n ? "" : ".");
	if (stat(dir, &st) < 0 || st.st_uid != owner)
		return false;
	*mode = st.st_mode;
	return true;
}

/* Why we must not use this file as a lock, or NULL. A link, hard or symbolic, would
 * lead us to what another user has chosen. */
static const char *refuse_file(const struct request *r, const struct stat *st)
{
	mode_t mode = 0;

	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_nlink > 1 &&
	    !(r->linked && owns_directory(r->path, geteuid(), &mode) && !(mode & (S_IWGRP | S_IWOTH))))
		return "it is a hard link to another file";
	if (st->st_uid != geteuid() && st->st_uid != 0 && !owns_directory(r->path, st->st_uid, &mode))
		return "it belongs to another user";
	return NULL;
}

/* Is the file at `path` still the one that is open? Else a process removed it
 * and the lock on it keeps no process out. */
static bool is_current(const struct stat *opened, const char *path)
{
	struct stat named;

	return lstat(path, &named) == 0 && opened->st_dev == named.st_dev && opened->st_ino == named.st_ino;
}

/* One try. 0 and the lock's descriptor in *fd; -1 with EWOULDBLOCK when it is held: *fd is the
 * file for the next try, since closing it would wake all who wait for it. */
static int try_lock(struct request *r, int *fd)
{
	for (int i = 0; i < STALE_TRIES; i++) {
		struct stat st;
		bool held;

		if (*fd < 0)
			*fd = xopen(r->path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0600);
		if (*fd < 0) {
			r->refused = errno == ELOOP ? "it is a symbolic link" : NULL;
			return -1;
		}
		held = flock(*fd, r->operation | LOCK_NB) < 0;
		if ((held && errno != EWOULDBLOCK) || fstat(*fd, &st) < 0)
			return -1;
		if (is_current(&st, r->path)) {
			if (held)
				return errno = EWOULDBLOCK, -1;
			r->refused = refuse_file(r, &st);
			return r->refused ? (errno = EPERM, -1) : 0;
		}
		xclose(fd);
	}
	return errno = ESTALE, -1;
}

/* Sleep until the lock may be free, at most until `until`. *pause_ms is how long, where nothing
 * happens. 0, or -1 with ECANCELED. */
static int sleep_on(int watch, int64_t *pause_ms, mono_t until)
{
	mono_t next = mono_add_ms(mono_now(), watch < 0 ? BLIND_MS : *pause_ms);
	struct pollfd fd = { .fd = watch, .events = POLLIN };
	int ready = cancel_poll(&fd, watch >= 0, MIN_OF(next, until));

	if (ready == CANCEL_POLL_CANCELLED)
		return errno = ECANCELED, -1;
	if (ready > 0)
		fs_watch_drain(watch);
	*pause_ms = ready > 0 ? SOON_MS : MIN_OF(*pause_ms * 2, (int64_t)ANYWAY_MS);
	return 0;
}

/* Try until it isn't held. The watch is renewed before each try, which costs nothing while the
 * path leads to the same file. */
static int wait_while_held(struct request *r, mono_t until, int *fd)
{
	int64_t pause_ms = ANYWAY_MS;
	int watch = fs_watch_open(), status;

	for (;;) {
		if (watch >= 0 && inotify_add_watch(watch, r->path, EVENTS) < 0 && errno != ENOENT)
			xclose(&watch);
		status = try_lock(r, fd);
		if (status == 0 || errno != EWOULDBLOCK || mono_now() >= until)
			break;
		status = sleep_on(watch, &pause_ms, until);
		if (status < 0)
			break;
	}
	xclose(&watch);
	return status;
}

/* As try_lock, and *fd is -1 on failure. */
static int take_lock(struct request *r, int64_t wait_ms, int *fd)
{
	mono_t until = mono_add_ms(mono_now(), wait_ms);
	int status = try_lock(r, fd);

	if (status < 0 && errno == EWOULDBLOCK && wait_ms > 0)
		status = wait_while_held(r, until, fd);
	if (status < 0)
		xclose(fd);
	return status;
}

/* --- the handle ---------------------------------------------------------------------------- */

struct lock {
	int fd; /* -1: released */
	bool shared;
};

int fs_lock_descriptor(lua_State *L, int index)
{
	const struct lock *lock = luaL_checkudata(L, index, LOCK);

	return lock->fd;
}

/* Also __gc and __close; idempotent. */
static int release(lua_State *L)
{
	struct lock *lock = luaL_checkudata(L, 1, LOCK);

	/* so that no process takes this one for the holder; a shared lock may have others */
	if (lock->fd >= 0 && !lock->shared && ftruncate(lock->fd, 0) < 0)
		errno = 0;
	xclose(&lock->fd);
	lua_pushboolean(L, 1);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "__close", release },
	{ "__gc", release },
	{ "release", release },
	{ NULL, NULL },
};

static struct lock *new_lock(lua_State *L, bool shared)
{
	struct lock *lock = lua_newuserdatauv(L, sizeof(*lock), 0);

	*lock = (struct lock){ .fd = -1, .shared = shared };
	if (luaL_newmetatable(L, LOCK)) {
		luaL_setfuncs(L, methods, 0);
		lua_pushvalue(L, -1);
		lua_setfield(L, -2, "__index");
	}
	lua_setmetatable(L, -2);
	return lock;
}

/*
 * lock(path[, {shared=false, wait_ms=0, linked=false}]): a handle with handle:release() |
 * nil, "held", {pid=, since=, age_ms=} | nil, message, errno name. The file is
 * made with mode 0600; one that is there must be a regular file of the caller's, of
 * root's, or of whom the directory belongs to (ELOOP, EPERM). It has no other name, unless `linked`
 * allows that in a directory that only the caller may write to. Waits at most wait_ms,
 * asleep (inotify): what another machine does on a shared file system is noticed within 1 s.
 */
int fs_lua_lock(lua_State *L)
{
	struct request r = { .path = fs_path(L, 1) };
	lua_Integer wait_ms = 0;
	struct lock *lock;
	bool shared = false;

	lua_settop(L, 2);
	if (!lua_isnil(L, 2)) {
		luaL_checktype(L, 2, LUA_TTABLE);
		lua_getfield(L, 2, "shared");
		shared = lua_toboolean(L, -1);
		lua_getfield(L, 2, "wait_ms");
		wait_ms = luaL_optinteger(L, -1, 0);
		lua_getfield(L, 2, "linked");
		r.linked = lua_toboolean(L, -1);
	}
	lock = new_lock(L, shared);
	r.operation = shared ? LOCK_SH : LOCK_EX;
	if (take_lock(&r, wait_ms, &lock->fd) == 0) {
		write_holder(lock->fd);
		return 1;
	}
	if (r.refused)
		return fs_fail_because(L, "lock", r.path, r.refused);
	if (errno != EWOULDBLOCK)
		return fs_fail(L, "lock", r.path, NULL);
	lua_pushnil(L);
	lua_pushliteral(L, "held");
	push_holder(L, open_to_look(r.path));
	return 3;
}

/*
 * locked(path): {pid=, since=, age_ms=} of the exclusive holder; nil when there is
 * none; nil, message, errno name. Creates and writes nothing, so the caller is never
 * mistaken for the holder.
 */
int fs_lua_locked(lua_State *L)
{
	const char *path = fs_path(L, 1);
	int fd = open_to_look(path);
	int status = fd < 0 ? -1 : flock(fd, LOCK_SH | LOCK_NB);

	if (status < 0 && errno == EWOULDBLOCK)
		return push_holder(L, fd), 1;
	if (status < 0 && errno != ENOENT) {
		xclose(&fd);
		return fs_fail(L, "check the lock", path, NULL);
	}
	xclose(&fd);
	lua_pushnil(L);
	return 1;
}
