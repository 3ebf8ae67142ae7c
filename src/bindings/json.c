/*
 * json.c: JSON for scripts and for our own Lua: require "json". It is read and written
 * here (json_decode.c, json_encode.c), because Debian's lua-cjson cuts integers to 14
 * digits and turns [] into {}. Runs in the worker; never touches frames.
 *
 *   decode(text[, opts])  value | nil, "line 1 column 5: …"; opts.unique: no key twice in an object;
 *                         opts.memory: bytes; above: nil, message, "TOO_LARGE"
 *   weight(text)          about the bytes that its values would take in memory
 *   encode(value)         text | nil, message, CODE
 *   encode(value, opts)   text, nil, {nonfinite=n, repaired=n} | nil, message, CODE; opts.buffer: the text as a buffer
 *                         (worker/scratch.h), for functions of ours that take one
 *   shorten(text, bytes)  the text in at most so many bytes, and what was cut: rows { field=, items=, before=, after= };
 *                         nil: it can't be done (common/shorten.h)
 *   array([t])            t, marked: an array even when it is empty
 *   is_array(v)           is v a table that encodes as an array?
 *   null                  what JSON's null reads as, and writes as
 */
#include "json_lua.h"

#include <lauxlib.h>

#include "../common/json.h"
#include "../common/shorten.h"
#include "../worker/scratch.h"
#include "bindings.h"

#define ARRAY_MARK "runner.json.array"

void json_push_array_mark(lua_State *L)
{
	if (luaL_newmetatable(L, ARRAY_MARK)) {
		lua_pushliteral(L, "json.array");
		lua_setfield(L, -2, "__name");
	}
}

/* json.null: the light userdata NULL, the same value as cjson.null. */
void json_push_null(lua_State *L)
{
	lua_pushlightuserdata(L, NULL);
}

/* --- arrays ------------------------------------------------------------------- */

static int array(lua_State *L)
{
	lua_settop(L, 1);
	if (lua_isnil(L, 1)) {
		lua_newtable(L);
		lua_replace(L, 1);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	json_push_array_mark(L);
	if (lua_getmetatable(L, 1)) {
		luaL_argcheck(L, lua_rawequal(L, -1, -2), 1, "the table already has a metatable");
		lua_pop(L, 1);
	}
	lua_setmetatable(L, 1);
	return 1;
}

static int is_array(lua_State *L)
{
	bool marked = false;

	luaL_checkany(L, 1);
	if (lua_istable(L, 1) && lua_getmetatable(L, 1)) {
		json_push_array_mark(L);
		marked = lua_rawequal(L, -1, -2);
	}
	lua_pushboolean(L, marked || (lua_istable(L, 1) && lua_rawlen(L, 1) > 0));
	return 1;
}

/* --- shorter texts --------------------------------------------------------------- */

static void push_cuts(lua_State *L, const struct shorten_cuts *cuts)
{
	lua_newtable(L);
	for (size_t i = 0; i < MIN_OF(cuts->count, (size_t)SHORTEN_CUTS); i++) {
		const struct shorten_cut *row = &cuts->row[i];

		lua_createtable(L, 0, 4);
		lua_pushstring(L, row->path), lua_setfield(L, -2, "field");
		lua_pushboolean(L, row->of_items), lua_setfield(L, -2, "items");
		lua_pushinteger(L, (lua_Integer)row->before), lua_setfield(L, -2, "before");
		lua_pushinteger(L, (lua_Integer)row->after), lua_setfield(L, -2, "after");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static int shorten_text(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 1, &n);
	lua_Integer most = luaL_checkinteger(L, 2);
	struct buf *out = scratch_push(L);
	struct shorten_cuts cuts;

	if (json_check(s, n) == JSON_INVALID || most < 2 || !shorten(out, s, n, (size_t)most, false, &cuts)) {
		scratch_release(out);
		lua_pushnil(L);
		return 1;
	}
	lua_pushlstring(L, out->data, out->len);
	scratch_release(out);
	push_cuts(L, &cuts);
	return 2;
}

static const luaL_Reg functions[] = {
	{ "array", array },
	{ "decode", json_lua_decode },
	{ "encode", json_lua_encode },
	{ "is_array", is_array },
	{ "shorten", shorten_text },
	{ "weight", json_lua_weight },
	{ NULL, NULL },
};

int luaopen_runner_json(lua_State *L)
{
	luaL_newlib(L, functions);
	json_push_null(L);
	lua_setfield(L, -2, "null");
	return 1;
}
