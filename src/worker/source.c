/*
 * source.c: checks and reads command files. Runs in the worker, before any code of
 * a script; it never executes what it reads.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/xio.h"
#include "scratch.h"

/* Why not to run code from here, NULL when it may be trusted: a file that somebody
 * else can write would run with the caller's rights (docs/design.md#trusted-files). */
static const char *distrust(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it is owned by neither you nor root";
	if ((st->st_mode & S_IWOTH) && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return "it is world-writable";
	return NULL;
}

/* probe(path): "file" | "directory" | "other" | nil, then why it can't be trusted. */
static int l_probe(lua_State *L)
{
	struct stat st;
	const char *why;

	if (stat(luaL_checkstring(L, 1), &st) < 0)
		return 0;
	lua_pushstring(L, S_ISREG(st.st_mode) ? "file" : S_ISDIR(st.st_mode) ? "directory" : "other");
	why = distrust(&st);
	lua_pushstring(L, why);
	return 2;
}

#define SOURCE_MAX ((off_t)4 << 20)

static const char *read_source(int fd, struct buf *out, struct stat *st)
{
	ssize_t n = 0;

	if (fstat(fd, st) < 0)
		return strerror(errno);
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (distrust(st))
		return distrust(st);
	if (st->st_size > SOURCE_MAX)
		return "it is larger than 4 MiB";
	if (buf_reserve(out, (size_t)st->st_size + 1) < 0)
		return "not enough memory";
	while (out->len <= (size_t)SOURCE_MAX && buf_reserve(out, 4096) == 0 &&
	       (n = xread(fd, out->data + out->len, out->cap - out->len - 1)) > 0)
		out->len += (size_t)n;
	if (n < 0)
		return strerror(errno);
	return n > 0 ? "it grew beyond 4 MiB, or there is not enough memory for it" : NULL;
}

/* source(path): the text of a trusted file | nil, why not, errno name "ENOENT"
 * when it does not exist. Checked on the open file: no race with a rename. */
static int l_source(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct buf *out = scratch_push(L);
	int fd = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;
	const char *why = fd < 0 ? strerror(errno) : NULL;
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	if (!why)
		why = read_source(fd, out, &st);
	xclose(&fd);
	if (why) {
		lua_pushnil(L);
		lua_pushstring(L, why);
		lua_pushstring(L, missing ? "ENOENT" : NULL);
		return 3;
	}
	lua_pushlstring(L, buf_cstr(out), out->len);
	buf_release(out);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "probe", l_probe },
	{ "source", l_source },
	{ NULL, NULL },
};

void source_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
