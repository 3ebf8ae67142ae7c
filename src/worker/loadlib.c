/*
 * loadlib.c: what comes before a C module is loaded (loadlib.h). Runs in the worker.
 */
#include "loadlib.h"

#include <lauxlib.h>
#include <lualib.h>

#include "adopted.h"
#include "channel.h"
#include "libm.h"
#include "source.h"

/* Upvalue: the function that loads a C module. */
static int guarded_call(lua_State *L)
{
	channel_guard();
	adopted_before_module();
	libm_open();
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* Stack: …, function → …, the same behind a guard. */
static void push_guarded(lua_State *L)
{
	lua_pushcclosure(L, guarded_call, 1);
}

#define PLAIN_LOADLIB "runner.loadlib" /* in the registry; absent: nothing is guarded */

int loadlib_plain(lua_State *L)
{
	const char *why;
	bool missing;

	lua_settop(L, 2);
	if (lua_getfield(L, LUA_REGISTRYINDEX, PLAIN_LOADLIB) == LUA_TNIL) {
		lua_getglobal(L, LUA_LOADLIBNAME);
		lua_getfield(L, -1, "loadlib");
	}
	lua_insert(L, 1);
	lua_settop(L, 3);
	why = source_refuse_module(L, luaL_checkstring(L, 2), &missing);
	if (why)
		return lua_pushnil(L), lua_pushstring(L, why), 2;
	libm_open();
	lua_call(L, 2, LUA_MULTRET);
	return lua_gettop(L);
}

/* Its searchers are {preload, Lua, C, all in one}. */
#define SEARCHER_C 3
#define SEARCHER_ALL_IN_ONE 4

void loadlib_init(lua_State *L)
{
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_getfield(L, -1, "loadlib");
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, PLAIN_LOADLIB);
	push_guarded(L);
	lua_setfield(L, -2, "loadlib");
	lua_getfield(L, -1, "searchers");
	for (int i = SEARCHER_C; i <= SEARCHER_ALL_IN_ONE; i++) {
		lua_rawgeti(L, -1, i);
		push_guarded(L);
		lua_rawseti(L, -2, i);
	}
	lua_pop(L, 2);
}
