/*
 * json.c: JSON for scripts and for our own Lua: require "json". Jansson reads,
 * because Debian's lua-cjson cuts integers to 14 digits and turns [] into {};
 * the writer is json_encode.c. Runs in the worker; never touches frames.
 *
 *   decode(text[, opts])  value | nil, "line 1 column 5: …"; opts.unique: no key twice in an object;
 *                         opts.memory: bytes; above: nil, message, "TOO_LARGE"
 *   weight(text)          about the bytes that its values would take in memory
 *   encode(value)         text | nil, message, CODE
 *   encode(value, opts)   text, nil, {nonfinite=n, repaired=n} | nil, message, CODE
 *   array([t])            t, marked: an array even when it is empty
 *   is_array(v)           is v a table that encodes as an array?
 *   null                  what JSON's null reads as, and writes as
 */
#include "json_lua.h"

#include <jansson.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/base.h"
#include "bindings.h"

#define ARRAY_MARK "runner.json.array"
#define TREE "runner.json.tree"

void json_push_array_mark(lua_State *L)
{
	if (luaL_newmetatable(L, ARRAY_MARK)) {
		lua_pushliteral(L, "json.array");
		lua_setfield(L, -2, "__name");
	}
}

/* json.null: the light userdata NULL, the same value as cjson.null. */
static void push_null(lua_State *L)
{
	lua_pushlightuserdata(L, NULL);
}

/* --- decode ------------------------------------------------------------------- */

/* The parsed tree belongs to a userdata while Lua allocates. */
struct tree {
	json_t *root;
};

static int collect_tree(lua_State *L)
{
	struct tree *tree = lua_touserdata(L, 1);

	json_decref(tree->root);
	tree->root = NULL;
	return 0;
}

static struct tree *new_tree(lua_State *L)
{
	struct tree *tree = lua_newuserdatauv(L, sizeof(*tree), 0);

	tree->root = NULL;
	if (luaL_newmetatable(L, TREE)) {
		lua_pushcfunction(L, collect_tree);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	return tree;
}

/* Depth is bounded by Jansson's parser (2048). `mark` is the stack index of
 * the array metatable. */
static void push_value(lua_State *L, json_t *v, int mark);

static void push_array(lua_State *L, json_t *v, int mark)
{
	size_t n = json_array_size(v);

	lua_createtable(L, n > INT32_MAX ? INT32_MAX : (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		push_value(L, json_array_get(v, i), mark);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_pushvalue(L, mark);
	lua_setmetatable(L, -2);
}

static void push_object(lua_State *L, json_t *v, int mark)
{
	const char *key;
	json_t *item;

	lua_createtable(L, 0, (int)json_object_size(v));
	json_object_foreach(v, key, item) {
		lua_pushstring(L, key);
		push_value(L, item, mark);
		lua_rawset(L, -3);
	}
}

static void push_value(lua_State *L, json_t *v, int mark)
{
	luaL_checkstack(L, 6, "JSON nested too deeply");
	switch (json_typeof(v)) {
	case JSON_OBJECT:  push_object(L, v, mark); break;
	case JSON_ARRAY:   push_array(L, v, mark); break;
	case JSON_STRING:  lua_pushlstring(L, json_string_value(v), json_string_length(v)); break;
	case JSON_INTEGER: lua_pushinteger(L, json_integer_value(v)); break;
	case JSON_REAL:    lua_pushnumber(L, json_real_value(v)); break;
	case JSON_TRUE:    lua_pushboolean(L, 1); break;
	case JSON_FALSE:   lua_pushboolean(L, 0); break;
	case JSON_NULL:    push_null(L); break;
	}
}

/* Jansson's message, or ours where Jansson's mentions its own flags. */
static const char *plain_words(const json_error_t *e)
{
	switch (json_error_code(e)) {
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a string contains \\u0000 (NUL), which is not accepted";
	case json_error_numeric_overflow:
		return "a number is too large (integers have 64 bits)";
	case json_error_stack_overflow:
		return "nested too deeply (more than 2048 levels)";
	default:
		return e->text;
	}
}

/* --- how much a text becomes --------------------------------------------------------
 * `[],[],…` takes two hundred times its length as values of Jansson and of Lua. So the
 * values are counted before there are any. */

#define CONTAINER_BYTES 512 /* an array or object, empty, in both */
#define SCALAR_BYTES    64  /* a value or a key in one */
#define MEMORY_MAX      ((size_t)512 << 20) /* default of opts.memory */

/* Behind the string that begins at `at`; `end` if it has no end. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

static size_t weight_of(const char *text, size_t n)
{
	const char *end = text + n;
	size_t weight = SCALAR_BYTES;

	while (text < end) {
		const char *from = text;

		switch (*text) {
		case '"':
			text = skip_string(text, end);
			weight += 2 * (size_t)(text - from);
			continue;
		case '[':
		case '{': weight += CONTAINER_BYTES; break;
		case ',':
		case ':': weight += SCALAR_BYTES; break;
		default:  break;
		}
		text++;
	}
	return weight;
}

static int weight(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	lua_pushinteger(L, (lua_Integer)weight_of(text, n));
	return 1;
}

struct options {
	size_t flags;
	size_t memory;
};

static struct options check_options(lua_State *L)
{
	struct options o = { .flags = JSON_DECODE_ANY, .memory = MEMORY_MAX };

	lua_settop(L, 2);
	if (lua_isnil(L, 2))
		return o;
	luaL_checktype(L, 2, LUA_TTABLE);
	/* two equal keys: readers differ in which of them counts */
	if (lua_getfield(L, 2, "unique"), lua_toboolean(L, -1))
		o.flags |= JSON_REJECT_DUPLICATES;
	if (lua_getfield(L, 2, "memory") != LUA_TNIL) {
		lua_Integer memory = luaL_checkinteger(L, -1);

		luaL_argcheck(L, memory > 0, 2, "memory must be a positive number of bytes");
		o.memory = (size_t)memory;
	}
	lua_pop(L, 2);
	return o;
}

/* A short text needs no count: each container has two bytes. */
static bool is_too_large(const char *text, size_t n, size_t memory)
{
	return n > memory / (CONTAINER_BYTES / 2) && weight_of(text, n) > memory;
}

static int decode(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	struct options o = check_options(L);
	json_error_t error;
	struct tree *tree;

	if (is_too_large(text, n, o.memory)) {
		lua_pushnil(L);
		lua_pushfstring(L, "its values would take more than %d MiB of memory", (int)(o.memory >> 20));
		lua_pushliteral(L, "TOO_LARGE");
		return 3;
	}
	json_push_array_mark(L);
	tree = new_tree(L);
	tree->root = json_loadb(text, n, o.flags, &error);
	if (!tree->root) {
		lua_pushnil(L);
		lua_pushfstring(L, "line %d column %d: %s", error.line, error.column, plain_words(&error));
		return 2;
	}
	push_value(L, tree->root, lua_gettop(L) - 1);
	json_decref(tree->root);
	tree->root = NULL;
	return 1;
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

static const luaL_Reg functions[] = {
	{ "array", array },
	{ "decode", decode },
	{ "encode", json_lua_encode },
	{ "is_array", is_array },
	{ "weight", weight },
	{ NULL, NULL },
};

int luaopen_runner_json(lua_State *L)
{
	luaL_newlib(L, functions);
	push_null(L);
	lua_setfield(L, -2, "null");
	return 1;
}
