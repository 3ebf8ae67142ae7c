/*
 * worker.c: one attempt's process: a Lua state with a memory limit, our
 * modules within reach of require, and lua/boot.lua under one protected call.
 * It knows no command, no flag and no error code but those of its own failure.
 */
#include "worker.h"

#include <lauxlib.h>
#include <lua-cjson.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cancel.h"
#include "channel.h"
#include "guard.h"
#include "memory.h"

struct embedded_chunk {
	const char *name;
	const unsigned char *bytes;
	size_t size;
};
extern const struct embedded_chunk embedded_chunks[];

LUALIB_API int luaopen_cjson_safe(lua_State *L); /* in the archive, not in its header */

/* Outside an attempt (a test's Lua has loaded us): nobody was told anything. */
static const struct launch untold = { .frame_fd = -1, .stdin_fd = -1, .attempt = 1 };
static const struct launch *launch = &untold;
static struct spared our_spared, *spared = &our_spared;

const struct launch *worker_launch(void)
{
	return launch;
}

struct spared *worker_spared(void)
{
	return spared;
}

int worker_share_spared(void)
{
	struct spared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return -1;
	*shared = *spared;
	spared = shared;
	return 0;
}

/* --- modules --------------------------------------------------------------------- */

static const luaL_Reg bindings[] = {
	{ "runner.fs", luaopen_runner_fs },
	{ "runner.host", luaopen_runner_host },
	{ "runner.http_client", luaopen_runner_http },
	{ "runner.json", luaopen_runner_json },
	{ "runner.process", luaopen_runner_proc },
	{ "runner.regex", luaopen_runner_regex },
	{ "runner.sqlite", luaopen_runner_sqlite },
	{ "runner.terminal", luaopen_runner_tty },
	/* the names that scripts use */
	{ "cjson", luaopen_cjson },
	{ "cjson.safe", luaopen_cjson_safe },
	{ "fs", luaopen_runner_fs },
	{ "json", luaopen_runner_json },
	{ NULL, NULL },
};

static const struct embedded_chunk *find_chunk(const char *name)
{
	for (const struct embedded_chunk *c = embedded_chunks; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/*
 * The library's own globals: a copy of the standard ones, tables of functions
 * included (but `package`, whose path is meant to be shared). A script that
 * assigns to `type` or `print` by accident breaks itself, not us.
 */
static const char private_globals;

/* Push a copy of the table at `from`, sized before it is filled. */
static void push_copy(lua_State *L, int from)
{
	int to, count = 0;

	for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1))
		count++;
	lua_createtable(L, 0, count);
	to = lua_gettop(L);
	for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1)) {
		lua_pushvalue(L, -2);
		lua_pushvalue(L, -2);
		lua_rawset(L, to);
	}
}

static void make_private_globals(lua_State *L)
{
	static const char *const libraries[] = { "coroutine", "debug", "io", "math", "os",
	                                         "string", "table", "utf8" };
	int globals, env;

	lua_pushglobaltable(L);
	globals = lua_gettop(L);
	push_copy(L, globals);
	env = globals + 1;
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		lua_getfield(L, globals, libraries[i]);
		push_copy(L, env + 1);
		lua_setfield(L, env, libraries[i]);
		lua_pop(L, 1);
	}
	lua_rawsetp(L, LUA_REGISTRYINDEX, &private_globals);
	lua_pop(L, 1);
}

/* Push the chunk `name` ("args", "commands/help"): from RUNNER_LUA when that
 * is set, else from the binary. LUA_OK, or an error message on the stack. */
static int find_and_load(lua_State *L, const char *name)
{
	const char *dir = getenv("RUNNER_LUA");
	const struct embedded_chunk *chunk;

	if (dir && *dir) {
		const char *path = lua_pushfstring(L, "%s/%s.lua", dir, name);
		int status = luaL_loadfilex(L, path, "t");
		lua_remove(L, -2);
		return status;
	}
	chunk = find_chunk(name);
	if (!chunk) {
		lua_pushfstring(L, "no module 'runner.%s' inside runner", name);
		return LUA_ERRFILE;
	}
	return luaL_loadbufferx(L, (const char *)chunk->bytes, chunk->size, name, "b");
}

static int load_chunk(lua_State *L, const char *name)
{
	int status = find_and_load(L, name);

	if (status == LUA_OK) {
		lua_rawgetp(L, LUA_REGISTRYINDEX, &private_globals);
		lua_setupvalue(L, -2, 1);
	}
	return status;
}

/* require's searcher for runner.*: dots in the rest are folders. */
static int search_library(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	int status;

	if (strncmp(name, "runner.", 7) != 0)
		return 0;
	luaL_gsub(L, name + 7, ".", "/");
	status = load_chunk(L, lua_tostring(L, -1));
	if (status == LUA_ERRMEM)
		return lua_error(L);
	if (status != LUA_OK)
		return 1; /* the message: require collects it */
	lua_pushvalue(L, 1);
	return 2;
}

static void add_modules(lua_State *L)
{
	guard_init(L);
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	luaL_setfuncs(L, bindings, 0);
	lua_pop(L, 1);

	/* behind preload, before the file system: ours can't be shadowed */
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_getfield(L, -1, "searchers");
	for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {
		lua_rawgeti(L, -1, i);
		lua_rawseti(L, -2, i + 1);
	}
	lua_pushcfunction(L, search_library);
	lua_rawseti(L, -2, 2);
	lua_pop(L, 2);
}

/* --- the attempt -------------------------------------------------------------------- */

static int add_traceback(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TSTRING)
		luaL_traceback(L, L, lua_tostring(L, 1), 1);
	return 1;
}

/* A short command ends before its garbage is worth collecting. */
#define GC_CREDIT_KIB 2048

static int boot(lua_State *L)
{
	luaL_openlibs(L);
	add_modules(L);
	if (cancel_init(L) < 0)
		return luaL_error(L, "can't prepare for signals");
	make_private_globals(L);
	if (load_chunk(L, "boot") != LUA_OK)
		return lua_error(L);
	lua_gc(L, LUA_GCRESTART);
	lua_gc(L, LUA_GCSTEP, -GC_CREDIT_KIB);
	lua_call(L, 0, 0);
	return 0;
}

/* boot.lua reports every failure of a command itself; this is for its own. */
static int run_boot(lua_State *L)
{
	int status;

	lua_gc(L, LUA_GCSTOP);
	lua_pushcfunction(L, add_traceback);
	lua_pushcfunction(L, boot);
	status = lua_pcall(L, 0, 0, 1);
	if (status == LUA_OK || cancel_seen())
		return 0;
	channel_fail(status == LUA_ERRMEM ? "MEMORY_LIMIT" : "INTERNAL_ERROR",
	                  lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "boot failed");
	return 1;
}

int worker_main(const struct launch *told)
{
	lua_State *L;
	int status;

	launch = told;
	memory_init();
	L = lua_newstate(memory_alloc, NULL);
	if (!L) {
		channel_fail("MEMORY_LIMIT", "not enough memory for a Lua state");
		return 1;
	}
	status = run_boot(L);
	/* The process ends here: closing the state would only run the script's
	 * finalizers outside every protection; boot has run cleanup already. */
	fflush(NULL);
	guard_dismiss();
	return status;
}
