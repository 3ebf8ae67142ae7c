/*
 * fs_watch.c: sleep until the kernel says that files have changed (inotify(7)). Runs in the
 * worker. A watch says that something has happened, never what: the caller that waits looks again.
 */
#include "fs.h"

#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdalign.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "../common/mono.h"
#include "../common/xio.h"
#include "../worker/cancel.h"

#define WATCH "runner.watch"
/*
 * Of a file: written, closed by who could write (a lock's holder has gone), moved or removed. Of a
 * directory the same of what is in it, and what comes and goes there.
 */
#define EVENTS \
	(IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

struct watch {
	int fd; /* -1: closed */
};

/* Also __gc and __close; idempotent. */
static int watch_close(lua_State *L)
{
	struct watch *watch = luaL_checkudata(L, 1, WATCH);

	xclose(&watch->fd);
	return 0;
}

int fs_watch_open(void)
{
	return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

void fs_watch_drain(int fd)
{
	alignas(struct inotify_event) char events[4096];

	while (xread(fd, events, sizeof(events)) > 0)
		;
}

/* watch:wait(ms): true: something has happened since the last time; false: nothing, for so long. */
static int watch_wait(lua_State *L)
{
	const struct watch *watch = luaL_checkudata(L, 1, WATCH);
	mono_t until = mono_add_ms(mono_now(), luaL_checkinteger(L, 2));
	struct pollfd fd = { .fd = watch->fd, .events = POLLIN };
	int ready = cancel_poll(&fd, 1, until);

	if (ready == CANCEL_POLL_CANCELLED)
		return cancel_raise(L);
	if (ready > 0 && watch->fd >= 0)
		fs_watch_drain(watch->fd);
	lua_pushboolean(L, ready > 0);
	return 1;
}

/*
 * watch:add(path) → true | nil, message, errno name: ENOSPC where the system allows no more
 * (fs.inotify.max_user_watches), EBADF once it is closed. A path that is watched already is no
 * second one, and one that is removed is forgotten by the kernel.
 */
static int watch_add(lua_State *L)
{
	const struct watch *watch = luaL_checkudata(L, 1, WATCH);
	const char *path = fs_path(L, 2);

	if (inotify_add_watch(watch->fd, path, EVENTS) < 0)
		return fs_fail(L, "watch", path, NULL);
	lua_pushboolean(L, 1);
	return 1;
}

/* watch:watch() → fd, events: for process.set, as those of runner.stream. */
static int watch_watch(lua_State *L)
{
	const struct watch *watch = luaL_checkudata(L, 1, WATCH);

	lua_pushinteger(L, watch->fd);
	lua_pushinteger(L, POLLIN);
	return 2;
}

static const luaL_Reg methods[] = {
	{ "__close", watch_close },
	{ "__gc", watch_close },
	{ "add", watch_add },
	{ "close", watch_close },
	{ "wait", watch_wait },
	{ "watch", watch_watch },
	{ NULL, NULL },
};

static struct watch *new_watch(lua_State *L)
{
	struct watch *watch = lua_newuserdatauv(L, sizeof(*watch), 0);

	*watch = (struct watch){ .fd = -1 };
	if (luaL_newmetatable(L, WATCH)) {
		luaL_setfuncs(L, methods, 0);
		lua_pushvalue(L, -1);
		lua_setfield(L, -2, "__index");
	}
	lua_setmetatable(L, -2);
	return watch;
}

/*
 * watch(path, …): a handle with handle:wait(ms), :add(path) and :close() | nil, message, errno name.
 * From its return on no change is missed. A path that isn't there is left out. What another
 * machine does on a shared file system is not noticed: look now and then, too.
 */
int fs_lua_watch(lua_State *L)
{
	int count = lua_gettop(L);
	struct watch *watch;

	for (int i = 1; i <= count; i++)
		(void)fs_path(L, i);
	watch = new_watch(L);
	watch->fd = fs_watch_open();
	if (watch->fd < 0)
		return fs_fail(L, "watch", count ? fs_path(L, 1) : ".", NULL);
	for (int i = 1; i <= count; i++)
		if (inotify_add_watch(watch->fd, fs_path(L, i), EVENTS) < 0 && errno != ENOENT)
			return fs_fail(L, "watch", fs_path(L, i), NULL);
	return 1;
}
