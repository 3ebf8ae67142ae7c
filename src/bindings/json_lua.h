/*
 * json_lua.h: what the two halves of the JSON binding share. json.c reads
 * text (Jansson) and registers; json_encode.c writes it (common/json.h).
 */
#ifndef RUNNER_JSON_LUA_H
#define RUNNER_JSON_LUA_H

#include <lua.h>

/* Push the metatable that marks a table as a JSON array, empty or not. */
void json_push_array_mark(lua_State *L);
/* json.encode(value[, opts]): see json.c for the contract. */
int json_lua_encode(lua_State *L);

#endif
