/*
 * regex.c: anchored regular expressions (PCRE2) for argument patterns: the whole
 * text must match. Runs in the worker. Never hangs: it gives up a match that costs
 * too much.
 *
 *   match(pattern, text)   true | false | nil, message
 *   check(pattern)         true | nil, message
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <lauxlib.h>
#include <lua.h>
#include <pcre2.h>

#include "../common/base.h"
#include "bindings.h"

/* At worst about 50 ms. */
#define MATCH_LIMIT 1000000u
#define DEPTH_LIMIT 100000u
#define HEAP_LIMIT_KIB 16384u
#define PATTERN_MAX 65536u

#define CODE "runner.regex.code"
#define CACHE "runner.regex.cache"
#define CACHE_MAX 64

/* --- compiling ------------------------------------------------------------------ */

struct pattern {
	pcre2_code *code;
};

static int collect(lua_State *L)
{
	struct pattern *p = lua_touserdata(L, 1);

	pcre2_code_free(p->code);
	p->code = NULL;
	return 0;
}

static struct pattern *new_pattern(lua_State *L)
{
	struct pattern *p = lua_newuserdatauv(L, sizeof(*p), 0);

	p->code = NULL;
	if (luaL_newmetatable(L, CODE)) {
		lua_pushcfunction(L, collect);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	return p;
}

static void push_message(lua_State *L, int error, PCRE2_SIZE offset)
{
	PCRE2_UCHAR text[256];

	pcre2_get_error_message(error, text, sizeof(text));
	lua_pushfstring(L, "invalid regular expression: %s at offset %I", (const char *)text,
	                (lua_Integer)offset);
}

/* Compile the pattern at index 1 and push its userdata; on failure push a message
 * and return NULL. */
static pcre2_code *compile(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	PCRE2_SIZE offset;
	struct pattern *p;
	int error;

	if (n > PATTERN_MAX) {
		lua_pushliteral(L, "the regular expression is longer than 64 KiB");
		return NULL;
	}
	p = new_pattern(L);
	p->code = pcre2_compile((PCRE2_SPTR)text, n,
	                      PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C,
	                      &error, &offset, NULL);
	if (!p->code)
		push_message(L, error, offset);
	return p->code;
}

/* --- the cache: pattern → code, emptied when it is full --------------------------- */

/* Is the value on top a cache with room? [1] counts its entries. */
static bool has_room(lua_State *L)
{
	lua_Integer count;

	if (!lua_istable(L, -1))
		return false;
	lua_rawgeti(L, -1, 1);
	count = lua_tointeger(L, -1);
	lua_pop(L, 1);
	return count < CACHE_MAX;
}

static void push_cache(lua_State *L)
{
	lua_getfield(L, LUA_REGISTRYINDEX, CACHE);
	if (has_room(L))
		return;
	lua_pop(L, 1);
	lua_newtable(L);
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, CACHE);
}

/* Stack: …, cache, code. Leaves both. */
static void remember(lua_State *L)
{
	lua_rawgeti(L, -2, 1);
	lua_pushinteger(L, lua_tointeger(L, -1) + 1);
	lua_rawseti(L, -4, 1);
	lua_pop(L, 1);
	lua_pushvalue(L, 1);
	lua_pushvalue(L, -2);
	lua_rawset(L, -4);
}

/* As compile(), through the cache. */
static pcre2_code *cached(lua_State *L)
{
	pcre2_code *code;

	push_cache(L);
	lua_pushvalue(L, 1);
	if (lua_rawget(L, -2) == LUA_TUSERDATA)
		return ((struct pattern *)lua_touserdata(L, -1))->code;
	lua_pop(L, 1);
	code = compile(L);
	if (code)
		remember(L);
	return code;
}

/* --- matching --------------------------------------------------------------------- */

static int run(pcre2_code *code, const char *text, size_t n)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int result = PCRE2_ERROR_NOMEMORY;

	if (limits && data) {
		pcre2_set_match_limit(limits, MATCH_LIMIT);
		pcre2_set_depth_limit(limits, DEPTH_LIMIT);
		pcre2_set_heap_limit(limits, HEAP_LIMIT_KIB);
		result = pcre2_match(code, (PCRE2_SPTR)text, n, 0, 0, data, limits);
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(limits);
	return result;
}

static bool too_complex(int result)
{
	return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT ||
	       result == PCRE2_ERROR_HEAPLIMIT;
}

static void push_match_error(lua_State *L, int result)
{
	PCRE2_UCHAR text[256];

	if (too_complex(result)) {
		lua_pushliteral(L, "too complex: matching this text would take too long");
	} else if (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21) {
		lua_pushliteral(L, "the text is not valid UTF-8");
	} else {
		pcre2_get_error_message(result, text, sizeof(text));
		lua_pushstring(L, (const char *)text);
	}
}

static int match(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 2, &n);
	pcre2_code *code;
	int result;

	luaL_checktype(L, 1, LUA_TSTRING);
	code = cached(L);
	result = code ? run(code, text, n) : 0;
	if (code && (result >= 0 || result == PCRE2_ERROR_NOMATCH)) {
		lua_pushboolean(L, result >= 0);
		return 1;
	}
	if (code)
		push_match_error(L, result);
	lua_pushnil(L);
	lua_insert(L, -2);
	return 2;
}

static int check(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TSTRING);
	if (cached(L)) {
		lua_pushboolean(L, 1);
		return 1;
	}
	lua_pushnil(L);
	lua_insert(L, -2);
	return 2;
}

static const luaL_Reg functions[] = {
	{ "check", check },
	{ "match", match },
	{ NULL, NULL },
};

int luaopen_runner_regex(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
