/*
 * lua_target.c: drives a target that is written in Lua, tests/fuzz/fuzz_NAME.lua
 * (-DTARGET="NAME"): it returns a function that is called with each input as a
 * string and raises what does not hold. The library is the one embedded in
 * runner, on the real bindings.
 *
 * Lua itself is not instrumented: a line hook tells libFuzzer which lines
 * followed one another in lua/.
 */
#include "fuzz.h"

#include <lauxlib.h>
#include <lualib.h>

#include "../../src/bindings/bindings.h"

struct embedded_chunk {
	unsigned name, at, size;
};
extern const struct embedded_chunk embedded_chunks[];
extern const size_t embedded_chunk_count;
extern const char embedded_names[];
extern const unsigned char embedded_bytes[];

#define COUNTERS (1 << 15)
__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t counters[COUNTERS];

static lua_State *state;

/* By name: the same line counts the same in every run, and when it is loaded again. */
static uint32_t name_hash(const char *name)
{
	static const char *newest;
	static uint32_t hash;

	if (name == newest)
		return hash;
	newest = name;
	hash = 2166136261u;
	for (int i = 0; name[i] && i < 64; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash;
}

static void note_line(lua_State *L, lua_Debug *ar)
{
	static uint32_t before;
	uint32_t here;

	lua_getinfo(L, "S", ar);
	here = name_hash(ar->source) + (uint32_t)ar->currentline * 40503u;
	counters[(here ^ before) % COUNTERS]++;
	before = here >> 1;
}

static int give_upvalue(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	return 1;
}

/* Push what makes the module; those below types/ and agent_spec/ are text. */
static int push_maker(lua_State *L, const struct embedded_chunk *c, const char *name)
{
	if (strncmp(name, "types/", 6) != 0 && strncmp(name, "agent_spec/", 11) != 0)
		return luaL_loadbufferx(L, (const char *)embedded_bytes + c->at, c->size, name, "b") == LUA_OK ? 1 : lua_error(L);
	lua_pushlstring(L, (const char *)embedded_bytes + c->at, c->size);
	lua_pushcclosure(L, give_upvalue, 1);
	return 1;
}

/* require's searcher: runner.NAME is embedded as "NAME", folders for dots. */
static int search(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);

	if (strncmp(name, "runner.", 7) != 0)
		return 0;
	name = luaL_gsub(L, name + 7, ".", "/");
	for (const struct embedded_chunk *c = embedded_chunks; c < embedded_chunks + embedded_chunk_count; c++)
		if (strcmp(embedded_names + c->name, name) == 0)
			return push_maker(L, c, name);
	return 0;
}

/* Stack: package.preload, name → package.preload */
static void add_binding(lua_State *L, lua_CFunction open)
{
	lua_pushcfunction(L, open);
	lua_rawset(L, -3);
}

static void add_library(lua_State *L)
{
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	for (const struct binding *b = bindings; b->open; b++) {
		if (b->library) {
			lua_pushfstring(L, "runner.%s", b->library);
			add_binding(L, b->open);
		}
		if (b->scripts) {
			lua_pushstring(L, b->scripts);
			add_binding(L, b->open);
		}
	}
	lua_getglobal(L, "package");
	lua_getfield(L, -1, "searchers");
	lua_pushcfunction(L, search);
	lua_rawseti(L, -2, 2);
	lua_settop(L, 0);
}

static int traceback(lua_State *L)
{
	luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
	return 1;
}

static void demand(int status)
{
	if (status == LUA_OK)
		return;
	fprintf(stderr, "%s\n", lua_tostring(state, -1));
	abort();
}

static void start(void)
{
	state = luaL_newstate();
	HOLDS(state);
	luaL_openlibs(state);
	add_library(state);
	lua_pushcfunction(state, traceback);
	demand(luaL_loadfilex(state, "tests/fuzz/fuzz_" TARGET ".lua", "t"));
	demand(lua_pcall(state, 0, 1, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!state)
		start();
	lua_sethook(state, note_line, LUA_MASKLINE, 0); /* the library may have taken it */
	lua_pushvalue(state, 2);
	lua_pushlstring(state, (const char *)data, size);
	demand(lua_pcall(state, 1, 0, 1));
	return 0;
}
