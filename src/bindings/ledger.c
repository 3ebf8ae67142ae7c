/*
 * ledger.c: require "runner.ledger": the audit ledger of a project (src/engine/ledger.h).
 *
 *   append(path, object, sync)   true; nil, message
 *   verify(file, most)           how many lines an open file has from here on, the digest of its last row (zeros: none),
 *                                and a list of { line, problem }, of at most so many; nil, message
 *   digest(text)                 SHA-256 in lower-case hexadecimal
 *   user()                       the number of the real user, and the name that it has; nil: none
 */
#include "../engine/ledger.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "../common/sha256.h"
#include "../common/xio.h"
#include "../worker/cancel.h"
#include "bindings.h"

#define PIECE (256 << 10) /* longer than any row */

static int append(lua_State *L)
{
	size_t n;
	const char *path = luaL_checkstring(L, 1), *object = luaL_checklstring(L, 2, &n), *why;

	if (ledger_append(path, object, n, lua_toboolean(L, 3), &why) == 0)
		return lua_pushboolean(L, 1), 1;
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

/* Argument 1 is the file, 2 how many problems are kept; 3 the list of them; 4 a buffer. */
struct check {
	lua_Integer lines;
	char last[SHA256_HEX];
	bool is_long; /* the line that is being read is longer than any row */
};

static void check_line(lua_State *L, struct check *c, const char *line, size_t n)
{
	const char *problem = ledger_problem(line, c->is_long ? 0 : n, c->last);

	c->lines++;
	c->is_long = false;
	if (!problem || lua_rawlen(L, 3) >= (size_t)lua_tointeger(L, 2))
		return;
	lua_createtable(L, 0, 2);
	lua_pushinteger(L, c->lines);
	lua_setfield(L, -2, "line");
	lua_pushstring(L, problem);
	lua_setfield(L, -2, "problem");
	lua_rawseti(L, 3, (lua_Integer)lua_rawlen(L, 3) + 1);
}

/* Check the whole lines among n bytes, and move what is left to the front: its size. */
static size_t check_lines(lua_State *L, struct check *c, char *bytes, size_t n)
{
	size_t from = 0;

	for (char *end; (end = memchr(bytes + from, '\n', n - from)); from = (size_t)(end - bytes) + 1)
		check_line(L, c, bytes + from, (size_t)(end - bytes) + 1 - from);
	memmove(bytes, bytes + from, n - from);
	return n - from;
}

static int verify(lua_State *L)
{
	luaL_Stream *file = luaL_checkudata(L, 1, LUA_FILEHANDLE);
	struct check c = { .last = "" };
	size_t has = 0;
	ssize_t n;
	char *bytes;

	luaL_argcheck(L, file->closef, 1, "it is closed");
	luaL_checkinteger(L, 2);
	lua_settop(L, 2);
	lua_newtable(L);
	bytes = lua_newuserdatauv(L, PIECE, 0);
	memset(c.last, '0', SHA256_HEX - 1);
	while ((n = xread(fileno(file->f), bytes + has, PIECE - has)) > 0) {
		has = check_lines(L, &c, bytes, has + (size_t)n);
		c.is_long = c.is_long || has == PIECE;
		has = has == PIECE ? 0 : has;
		if (cancel_pending())
			return cancel_raise(L);
	}
	if (n < 0)
		return lua_pushnil(L), lua_pushstring(L, strerror(errno)), 2;
	if (has > 0 || c.is_long)
		check_line(L, &c, bytes, has);
	lua_pushinteger(L, c.lines);
	lua_pushstring(L, c.last);
	lua_pushvalue(L, 3);
	return 3;
}

static int digest(lua_State *L)
{
	char hex[SHA256_HEX];
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	sha256_hex(text, n, hex);
	lua_pushstring(L, hex);
	return 1;
}

/* By the kernel: no variable of the environment has a part in it. */
static int user(lua_State *L)
{
	char text[4096];
	struct passwd entry, *found = NULL;

	lua_pushinteger(L, (lua_Integer)getuid());
	if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found)
		lua_pushstring(L, found->pw_name);
	else
		lua_pushnil(L);
	return 2;
}

static const luaL_Reg functions[] = {
	{ "append", append },
	{ "digest", digest },
	{ "user", user },
	{ "verify", verify },
	{ NULL, NULL },
};

int luaopen_runner_ledger(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
