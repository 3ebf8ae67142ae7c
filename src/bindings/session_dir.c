/*
 * session_dir.c: require "runner.session_dir": the run's directory, and the
 * directories that killed runs have left, or files for their callers. Runs in the worker. A shared flock(2) on a
 * directory proves that its run is alive: the worker takes it here, the supervisor as
 * soon as it learns of the directory, so that it also holds between two attempts.
 * Nothing is removed without the exclusive lock.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/remover.h"
#include "../common/ulid.h"
#include "../common/way.h"
#include "../common/xio.h"
#include "../worker/worker_launch.h"
#include "bindings.h"

#define LOCK_TRIES 100 /* of 1 ms: a sweep lasts a few */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* --- making ------------------------------------------------------------------------ */

static bool is_ours(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & S_IWOTH);
}

/* Is it still there, or did a sweep remove it before we locked it? */
static bool is_still_there(const char *path, const struct stat *opened)
{
	struct stat named;

	return lstat(path, &named) == 0 && named.st_dev == opened->st_dev && named.st_ino == opened->st_ino;
}

enum tried { TRIED_DONE, TRIED_AGAIN, TRIED_FAILED };

/* Create it, unless an earlier attempt did, and lock it. On a file system without
 * locks, no sweep can lock it either. */
static enum tried try_make(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return TRIED_FAILED;
	fd = xopen(path, OPEN_DIRECTORY, 0);
	if (fd < 0)
		return errno == ENOENT ? TRIED_AGAIN : TRIED_FAILED;
	if (fstat(fd, &st) < 0 || !is_ours(&st)) {
		xclose(&fd);
		return errno = EEXIST, TRIED_FAILED;
	}
	if ((flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK) || !is_still_there(path, &st)) {
		xclose(&fd);
		return TRIED_AGAIN;
	}
	return TRIED_DONE; /* fd stays open until the worker ends */
}

/* make(path): true | nil, message */
static int l_make(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);

	for (int i = 0; i < LOCK_TRIES; i++) {
		enum tried tried = try_make(path);

		if (tried == TRIED_DONE)
			return lua_pushboolean(L, 1), 1;
		if (tried == TRIED_FAILED)
			break;
		errno = EBUSY;
		poll(NULL, 0, 1);
	}
	lua_pushnil(L);
	lua_pushfstring(L, "%s: %s", path, strerror(errno));
	return 2;
}

/* --- sweeping ------------------------------------------------------------------------ */

#define HANDED_OUT_PREFIX "runner-out-" /* lua/ctx/temporary_files.lua */
#define HANDED_OUT_S 300                /* how long a caller finds what is in it */

static bool is_named(const char *name, const char *prefix)
{
	const char *id = name + strlen(prefix);
	size_t n = 0;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	while (isdigit((unsigned char)id[n]) || isupper((unsigned char)id[n]))
		n++;
	return n == ULID_LENGTH && id[n] == '\0';
}

/* What was handed out is the caller's for a while after its run. */
static bool is_kept(const char *name, const struct stat *st)
{
	time_t now = time(NULL);

	return is_named(name, HANDED_OUT_PREFIX) && st->st_mtime <= now && now - st->st_mtime < HANDED_OUT_S;
}

/* Remove it if its run is dead. What can't be removed is left for the next sweep, which finds it as old as it was:
 * the removal of some of its entries changed its time. */
static void sweep_one(int dir, const char *name, mono_t deadline)
{
	struct removal removal = REMOVAL_INIT;
	struct stat st;
	int fd = openat(dir, name, OPEN_DIRECTORY | O_CLOEXEC);

	removal.deadline = deadline;
	if (fd >= 0 && fstat(fd, &st) == 0 && is_ours(&st) && !is_kept(name, &st) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    remover_remove_in(&removal, dir, name) < 0)
		futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim });
	buf_release(&removal.left);
	xclose(&fd);
}

static void sweep(int dir, mono_t deadline)
{
	int fd = openat(dir, ".", OPEN_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (entries && mono_now() < deadline && (entry = readdir(entries)))
		if (is_named(entry->d_name, TEMPDIR_PREFIX) || is_named(entry->d_name, HANDED_OUT_PREFIX))
			sweep_one(dir, entry->d_name, deadline);
	if (entries)
		closedir(entries);
	else
		xclose(&fd);
}

/* sweep(dir, ms): remove what killed runs of this user have left in dir, taking at
 * most that long. Only where no other user can create entries with our names. */
static int l_sweep(lua_State *L)
{
	const char *in_it = lua_pushfstring(L, "%s/.", luaL_checkstring(L, 1));
	mono_t deadline = mono_add_ms(mono_now(), luaL_checkinteger(L, 2));
	struct way way = WAY_INIT;

	if (way_open(&way, in_it, 0) == 0)
		sweep(way.dir, deadline);
	xclose(&way.dir);
	return 0;
}

/* protect(path): mode 0600 for a file, whatever the umask has left it: true | nil, message */
static int l_protect(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	int fd = xopen(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	int status = fd < 0 ? -1 : fchmod(fd, 0600);

	lua_pushnil(L);
	lua_pushfstring(L, "%s: %s", path, strerror(errno));
	xclose(&fd);
	if (status < 0)
		return 2;
	lua_pushboolean(L, 1);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "make", l_make },
	{ "protect", l_protect },
	{ "sweep", l_sweep },
	{ NULL, NULL },
};

int luaopen_runner_session_dir(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
