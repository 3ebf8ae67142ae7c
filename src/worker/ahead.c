/*
 * ahead.c: see ahead.h. Runs in a zygote, in a supervisor that will try again, and in the workers that
 * they fork.
 */
#include "ahead.h"

#include <lauxlib.h>

static const char entries;  /* key in the registry: name → { names that it needs, module = … } */
static bool noting, is_there;
static const char *loading; /* the module that loads now */

void ahead_begin(lua_State *L)
{
	lua_newtable(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &entries);
	noting = true;
}

/* Push the entry of a name, a new one where there is none. */
static void push_entry(lua_State *L, const char *name)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &entries);
	luaL_getsubtable(L, -1, name);
	lua_remove(L, -2);
}

void ahead_need(lua_State *L, const char *name)
{
	if (!loading)
		return;
	push_entry(L, loading);
	lua_pushstring(L, name);
	lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
	lua_pop(L, 1);
}

const char *ahead_enter(const char *name)
{
	const char *outer = loading;

	loading = noting ? name : NULL;
	return outer;
}

void ahead_leave(const char *outer)
{
	loading = outer;
}

void ahead_put(lua_State *L, const char *name)
{
	push_entry(L, name);
	lua_insert(L, -2);
	lua_setfield(L, -2, "module");
	lua_pop(L, 1);
}

void ahead_end(void)
{
	noting = false;
	is_there = true;
}

/* Push the entry of a name, which no caller gets again. */
static bool take_entry(lua_State *L, const char *name)
{
	if (!is_there)
		return false;
	lua_rawgetp(L, LUA_REGISTRYINDEX, &entries);
	if (lua_getfield(L, -1, name) == LUA_TNIL)
		return lua_pop(L, 2), false;
	lua_pushnil(L);
	lua_setfield(L, -3, name);
	lua_remove(L, -2);
	return true;
}

bool ahead_take(lua_State *L, const char *name)
{
	if (!take_entry(L, name))
		return false;
	lua_getfield(L, -1, "module");
	lua_remove(L, -2);
	return true;
}

bool ahead_show(lua_State *L, const char *name, void (*load)(lua_State *L, const char *name))
{
	int entry;

	if (!take_entry(L, name))
		return false;
	luaL_checkstack(L, 8, name);
	entry = lua_gettop(L);
	for (lua_Integer i = 1; lua_rawgeti(L, entry, i) == LUA_TSTRING; i++) {
		(void)ahead_show(L, lua_tostring(L, -1), load);
		lua_settop(L, entry);
	}
	lua_getfield(L, entry, "module");
	load(L, name);
	lua_replace(L, entry);
	lua_settop(L, entry);
	return true;
}
