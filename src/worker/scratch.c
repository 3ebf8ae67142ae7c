/*
 * scratch.c: struct buf as a Lua userdata. Runs in the worker.
 */
#include "scratch.h"

#include <lauxlib.h>

#define TYPE "runner.buffer"
#define SPARE_MAX ((size_t)256 << 10)

static struct buf spare = BUF_INIT; /* memory for the next one */

void scratch_release(struct buf *b)
{
	struct buf old = *b;

	*b = (struct buf)BUF_INIT;
	if (old.cap > spare.cap && old.cap <= SPARE_MAX) {
		struct buf smaller = spare;

		buf_clear(&old);
		spare = old;
		old = smaller;
	}
	buf_release(&old);
}

static int buffer_gc(lua_State *L)
{
	scratch_release(luaL_checkudata(L, 1, TYPE)); /* a script can reach one: json.encode, opts.buffer */
	return 0;
}

struct buf *scratch_push(lua_State *L)
{
	struct buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

	*b = spare;
	spare = (struct buf)BUF_INIT;
	if (luaL_newmetatable(L, TYPE)) {
		lua_pushcfunction(L, buffer_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	return b;
}

const char *scratch_text(lua_State *L, int at, size_t *n)
{
	const struct buf *b = lua_type(L, at) == LUA_TUSERDATA ? luaL_testudata(L, at, TYPE) : NULL;

	if (!b)
		return luaL_checklstring(L, at, n);
	*n = b->len;
	return buf_cstr(b);
}
