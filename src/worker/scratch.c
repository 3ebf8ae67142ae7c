/*
 * scratch.c: struct buf as a Lua userdata. Runs in the worker.
 */
#include "scratch.h"

#include <lauxlib.h>

static int buffer_gc(lua_State *L)
{
	buf_release(lua_touserdata(L, 1));
	return 0;
}

struct buf *scratch_push(lua_State *L)
{
	struct buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

	*b = (struct buf)BUF_INIT;
	if (luaL_newmetatable(L, "runner.buffer")) {
		lua_pushcfunction(L, buffer_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	return b;
}
