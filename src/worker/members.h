/*
 * members.h: setting a member of the Lua table on top of the stack, in one line.
 */
#ifndef RUNNER_MEMBERS_H
#define RUNNER_MEMBERS_H

#include <lua.h>

#include "../common/base.h"

/* Set the string; NULL means nil, so the member stays absent. */
void members_set_string(lua_State *L, const char *key, const char *value);
void members_set_int(lua_State *L, const char *key, lua_Integer value);
void members_set_bool(lua_State *L, const char *key, bool value);

#endif
