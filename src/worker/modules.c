/*
 * modules.c: loads our modules: the chunks of lua/ and the C bindings it is given.
 * Runs in the worker. The library has its own globals and its own `require`, so
 * whatever a script does to `package`, the modules that an answer needs still load.
 * Scripts find the same modules with their own `require`.
 */
#include "modules.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/base.h"
#include "ahead.h"
#include "source.h"

struct embedded_chunk {
	unsigned name, at, size; /* in embedded_names and embedded_bytes */
};
extern const struct embedded_chunk embedded_chunks[]; /* by name */
extern const size_t embedded_chunk_count;
extern const char embedded_names[];
extern const unsigned char embedded_bytes[];

static const struct binding *bindings;
static const char private_globals, private_loaded; /* keys in the registry */

#define PREFIX "runner."
#define LIBRARY "library" /* the folder of the modules that scripts call "runner.NAME" */
#define READ_BYTES 4096

/* Modules that are text: the prefix of their names, and what their files end in. */
static const struct text_folder {
	const char *prefix, *extension;
} text_folders[] = {
	{ "types.", ".lua" },
	{ "agent_spec.", ".json" },
};

/* --- a chunk --------------------------------------------------------------------- */

static int compare_name(const void *name, const void *chunk)
{
	return strcmp(name, embedded_names + ((const struct embedded_chunk *)chunk)->name);
}

static const struct embedded_chunk *find_chunk(const char *name)
{
	return bsearch(name, embedded_chunks, embedded_chunk_count, sizeof(*embedded_chunks), compare_name);
}

/* RUNNER_LUA, "" without it. Read once: each look would walk the whole environment. (A zygote that was
 * started with another one is not used: engine/fork_server.c.) */
static const char *folder_of_lua(void)
{
	static const char *folder;

	if (!folder)
		folder = getenv("RUNNER_LUA");
	if (!folder)
		folder = "";
	return folder;
}

/* From RUNNER_LUA when that is set, else from the binary. */
int modules_load_plain(lua_State *L, const char *name)
{
	const char *dir = folder_of_lua();
	const struct embedded_chunk *chunk;

	if (*dir) {
		const char *path = lua_pushfstring(L, "%s/%s.lua", dir, name);
		int status = source_load(L, path, "t", NULL);
		lua_remove(L, -2);
		return status;
	}
	chunk = find_chunk(name);
	if (!chunk) {
		lua_pushfstring(L, "no built-in module 'runner.%s'", name);
		return LUA_ERRFILE;
	}
	return luaL_loadbufferx(L, (const char *)embedded_bytes + chunk->at, chunk->size, name, "b");
}

void modules_load(lua_State *L, const char *name)
{
	if (ahead_take(L, name))
		return;
	if (modules_load_plain(L, name) != LUA_OK)
		lua_error(L);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &private_globals);
	lua_setupvalue(L, -2, 1);
}

/* --- require --------------------------------------------------------------------- */

static lua_CFunction find_binding(const char *name)
{
	for (const struct binding *b = bindings; b->open; b++)
		if (b->library && strcmp(b->library, name) == 0)
			return b->open;
	return NULL;
}

/* Push the bytes of a file below RUNNER_LUA. */
static void push_file(lua_State *L, const char *path)
{
	FILE *file = fopen(path, "rb");
	luaL_Buffer b;
	size_t n;

	if (!file)
		luaL_error(L, "can't read %s", path);
	luaL_buffinit(L, &b);
	while ((n = fread(luaL_prepbuffsize(&b, READ_BYTES), 1, READ_BYTES, file)) > 0)
		luaL_addsize(&b, n);
	fclose(file);
	luaL_pushresult(&b);
}

static int give_upvalue(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	return 1;
}

static const struct text_folder *find_text_folder(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(text_folders); i++)
		if (strncmp(name, text_folders[i].prefix, strlen(text_folders[i].prefix)) == 0)
			return &text_folders[i];
	return NULL;
}

/* Push a function that returns the text of `name`, a data file. */
static void push_text_maker(lua_State *L, const char *name, const char *extension)
{
	const char *dir = folder_of_lua();
	const struct embedded_chunk *chunk = find_chunk(name);

	if (*dir)
		push_file(L, lua_pushfstring(L, "%s/%s%s", dir, name, extension));
	else if (chunk)
		lua_pushlstring(L, (const char *)embedded_bytes + chunk->at, chunk->size);
	else
		luaL_error(L, "no built-in file '%s'", name);
	lua_pushcclosure(L, give_upvalue, 1);
}

/* Push "core/rules" for "core.rules". */
static const char *push_path(lua_State *L, const char *name)
{
	size_t n = strlen(name);
	luaL_Buffer b;
	char *path = luaL_buffinitsize(L, &b, n);

	for (size_t i = 0; i < n; i++)
		path[i] = name[i] == '.' ? '/' : name[i];
	luaL_pushresultsize(&b, n);
	return lua_tostring(L, -1);
}

/* Push the loader of the module `name` (without prefix; dots are folders). */
static void push_maker(lua_State *L, const char *name)
{
	lua_CFunction binding = find_binding(name);
	const struct text_folder *text = find_text_folder(name);

	if (binding)
		lua_pushcfunction(L, binding);
	else if (text)
		push_text_maker(L, push_path(L, name), text->extension);
	else
		modules_load(L, push_path(L, name));
}

/* The module on the stack is loaded, for us and for scripts. */
static void set_loaded(lua_State *L, const char *name)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &private_loaded);
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	for (int i = 0; i < 2; i++) {
		lua_pushvalue(L, -3);
		lua_setfield(L, -2 - i, name);
	}
	lua_pop(L, 2);
}

/* Push the module, made now. */
static void make_module(lua_State *L, const char *name)
{
	const char *outer = ahead_enter(name);

	push_maker(L, name + strlen(PREFIX));
	lua_pushstring(L, name);
	lua_call(L, 1, 1);
	ahead_leave(outer);
}

/* The library's require. Our modules come only from us, and are put into the scripts'
 * package.loaded, too. Upvalue: the scripts' require, for all other modules. */
static int require_module(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);

	lua_settop(L, 1);
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
		lua_pushvalue(L, lua_upvalueindex(1));
		lua_insert(L, 1);
		lua_call(L, 1, LUA_MULTRET);
		return lua_gettop(L);
	}
	lua_rawgetp(L, LUA_REGISTRYINDEX, &private_loaded);
	ahead_need(L, name);
	if (lua_getfield(L, 2, name) != LUA_TNIL || ahead_show(L, name, set_loaded))
		return 1;
	make_module(L, name);
	set_loaded(L, name);
	return 1;
}

/* Is there a module lua/library/NAME.lua? */
static bool is_for_scripts(lua_State *L, const char *name)
{
	const char *dir = folder_of_lua();
	int top = lua_gettop(L);
	const char *chunk = lua_pushfstring(L, LIBRARY "/%s", name);
	bool found = find_chunk(chunk) != NULL;

	if (*dir)
		found = access(lua_pushfstring(L, "%s/%s.lua", dir, chunk), R_OK) == 0;
	lua_settop(L, top);
	return found;
}

/* A loader: (the scripts' name, ours). */
static int require_ours(lua_State *L)
{
	lua_remove(L, 1);
	return require_module(L);
}

/* The searcher with which the scripts' require finds runner.*. What they call
 * runner.path is runner.library.path. */
static int search_library(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1), *rest;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	rest = name + strlen(PREFIX);
	lua_pushcfunction(L, require_ours);
	if (!strchr(rest, '.') && is_for_scripts(L, rest))
		lua_pushfstring(L, PREFIX LIBRARY ".%s", rest);
	else
		lua_pushvalue(L, 1);
	return 2;
}

/* After preload and before the file system: no file can shadow our modules. */
static void add_searcher(lua_State *L)
{
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

/* --- the library's globals ------------------------------------------------------- */

/*
 * The library's own globals: a copy of the standard ones and of their tables
 * (except `package`, whose path is shared on purpose). A script that overwrites
 * `type` or `print` by accident breaks itself, not us.
 */
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

/* String methods are ours, too; what a script adds to its `string` is found after
 * them. Stack: …, the library's string, the scripts' → … */
static void share_methods(lua_State *L)
{
	lua_createtable(L, 0, 1);
	lua_insert(L, -2);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1);
	lua_pushvalue(L, -3);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 3);
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
	lua_getfield(L, env, "string");
	lua_getfield(L, globals, "string");
	share_methods(L);
	lua_getfield(L, env, "require");
	lua_pushcclosure(L, require_module, 1);
	lua_setfield(L, env, "require");
	lua_rawsetp(L, LUA_REGISTRYINDEX, &private_globals);
	lua_pop(L, 1);
}

static void preload_for_scripts(lua_State *L)
{
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	for (const struct binding *b = bindings; b->open; b++) {
		if (!b->scripts)
			continue;
		lua_pushcfunction(L, b->open);
		lua_setfield(L, -2, b->scripts);
	}
	lua_pop(L, 1);
}

void modules_init(lua_State *L, const struct binding *given)
{
	bindings = given;
	preload_for_scripts(L);
	add_searcher(L);
	lua_createtable(L, 0, 32);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &private_loaded);
	make_private_globals(L);
}

/* --- ahead of the attempts --------------------------------------------------------- */

void modules_load_all(lua_State *L, const char *const *names)
{
	for (; *names; names++) {
		lua_pushcfunction(L, require_module);
		lua_pushfstring(L, PREFIX "%s", luaL_gsub(L, *names, "/", "."));
		lua_remove(L, -2);
		lua_call(L, 1, 0);
	}
}

void modules_put_ahead(lua_State *L, const char *chunk)
{
	int loaded;

	modules_load(L, chunk);
	ahead_put(L, chunk);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &private_loaded);
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	loaded = lua_gettop(L);
	for (lua_pushnil(L); lua_next(L, loaded - 1);) {
		ahead_put(L, lua_tostring(L, -2));
		lua_pushvalue(L, -1);
		lua_pushnil(L);
		lua_rawset(L, loaded);
	}
	lua_newtable(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &private_loaded);
	lua_pop(L, 2);
	ahead_end();
}
