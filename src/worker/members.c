/*
 * members.c: members of result tables. Runs in the worker.
 */
#include "members.h"

void members_set_string(lua_State *L, const char *key, const char *value)
{
	lua_pushstring(L, value);
	lua_setfield(L, -2, key);
}

void members_set_int(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

void members_set_bool(lua_State *L, const char *key, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, key);
}
