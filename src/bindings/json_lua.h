/*
 * json_lua.h: what the parts of the JSON binding share. json.c registers,
 * json_decode.c reads text, json_encode.c writes it (common/json.h).
 */
#ifndef RUNNER_JSON_LUA_H
#define RUNNER_JSON_LUA_H

#include <lua.h>

#include "../common/buf.h"

/* Push the metatable that marks a table as a JSON array, empty or not. */
void json_push_array_mark(lua_State *L);
/* Push json.null: the light userdata NULL, the same value as cjson.null. */
void json_push_null(lua_State *L);
/* json.decode(text[, opts]) and json.weight(text): see json.c for the contract. */
int json_lua_decode(lua_State *L);
int json_lua_weight(lua_State *L);
/* json.encode(value[, opts]): see json.c for the contract. */
int json_lua_encode(lua_State *L);

/* What a value is written with. Only `out` has anything to say between two calls. */
struct json_room {
	struct buf out, members, sorted, message;
	lua_Integer nonfinite, repaired; /* of the last value: numbers and strings that had to be changed */
};

/*
 * Append the value at the positive index to room->out as json.encode(value, { envelope = true, max = max }) writes it; `mark`
 * is json_push_array_mark()'s table. 0; or -1 with room->message, and `out` with what was written until then. Neither
 * allocates in Lua nor raises.
 */
int json_lua_append(lua_State *L, int at, const void *mark, size_t max, struct json_room *room);

#endif
