/*
 * confinement.c: confines the worker, and with it all that a command starts, just before
 * `run`. The engine knows how; lua/project/confine.lua knows what.
 */
#include "confinement.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/xio.h"
#include "../engine/confine.h"

int confinement_abi(lua_State *L)
{
	lua_pushinteger(L, confine_abi());
	return 1;
}

/* A list of paths at `key`: those that don't exist need no right. -1: errno says why. */
static int give_all(lua_State *L, const char *key, int ruleset, uint64_t rights)
{
	int result = 0;

	if (lua_getfield(L, 1, key) != LUA_TTABLE || rights == 0)
		return lua_pop(L, 1), 0;
	for (lua_Integer i = 1; result == 0 && lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
		if (confine_give(ruleset, lua_tostring(L, -1), rights) < 0 && errno != ENOENT && errno != ENOTDIR &&
		    errno != EACCES)
			result = -1;
		lua_pop(L, 1);
	}
	lua_settop(L, 1);
	return result;
}

static bool flag(lua_State *L, const char *key)
{
	bool set;

	lua_getfield(L, 1, key);
	set = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return set;
}

int confinement_enter(lua_State *L)
{
	int abi = confine_abi(), ruleset;
	bool done;
	struct confine_masks masks;
	struct confine what;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	what = (struct confine){ flag(L, "write"), flag(L, "read"), flag(L, "network") };
	confine_masks(abi, &what, &masks);
	ruleset = confine_open(abi, &masks);
	if (ruleset < 0 && errno == ENOMSG)
		return lua_pushboolean(L, 1), 1;
	done = ruleset >= 0 && give_all(L, "writable", ruleset, masks.give_write) == 0 &&
	       give_all(L, "readable", ruleset, masks.give_read) == 0 &&
	       (!masks.give_root || confine_give(ruleset, "/", masks.give_root) == 0) && confine_enter(ruleset) == 0;
	if (!done)
		lua_pushstring(L, strerror(errno));
	xclose(&ruleset);
	if (done)
		return lua_pushboolean(L, 1), 1;
	lua_pushnil(L);
	lua_insert(L, -2);
	return 2;
}
