/*
 * json_lua.h: what the parts of the JSON binding share. json.c registers,
 * json_decode.c reads text, json_encode.c writes it (common/json.h).
 */
#ifndef RUNNER_JSON_LUA_H
#define RUNNER_JSON_LUA_H

#include <lua.h>

/* Push the metatable that marks a table as a JSON array, empty or not. */
void json_push_array_mark(lua_State *L);
/* Push json.null: the light userdata NULL, the same value as cjson.null. */
void json_push_null(lua_State *L);
/* json.decode(text[, opts]) and json.weight(text): see json.c for the contract. */
int json_lua_decode(lua_State *L);
int json_lua_weight(lua_State *L);
/* json.encode(value[, opts]): see json.c for the contract. */
int json_lua_encode(lua_State *L);

#endif
