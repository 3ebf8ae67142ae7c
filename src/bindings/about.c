/*
 * about.c: require "runner.about": what this program is built from, for --version --verbose.
 * Runs in the worker.
 *
 *   build()      { version, commit, linkage, target, compiler, libc }
 *   libraries()  a list of { name, version, linked }: "built-in", or "on use" for one that is
 *                opened when it is needed; instead of `version`, `missing` says why it can't be
 *
 * Nothing here is a time or a folder: two builds of one commit are the same bytes.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <lauxlib.h>
#include <pcre2.h>
#include <string.h>
#include <sys/auxv.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "../worker/members.h"
#include "bindings.h"
#include "http_curl.h"
#include "library.h"
#include "sqlite_api.h"

#ifndef RUNNER_COMMIT /* .ci/commit */
#define RUNNER_COMMIT "unknown"
#endif
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif
#if defined(__x86_64__)
#define TARGET "x86_64-linux"
#elif defined(__aarch64__)
#define TARGET "aarch64-linux"
#else
#define TARGET "another-linux"
#endif

static int l_build(lua_State *L)
{
	lua_newtable(L);
	members_set_string(L, "version", RUNNER_VERSION);
	members_set_string(L, "commit", RUNNER_COMMIT);
	/* without a loader, the kernel gives no address of one */
	members_set_string(L, "linkage", getauxval(AT_BASE) != 0 ? "dynamic" : "static");
	members_set_string(L, "target", TARGET);
	members_set_string(L, "compiler", COMPILER);
#ifdef __GLIBC__
	lua_pushfstring(L, "glibc %s", gnu_get_libc_version());
#else
	lua_pushliteral(L, "musl");
#endif
	lua_setfield(L, -2, "libc");
	return 1;
}

/* Add a row to the list on the top: a version, or why there is none. */
static void add(lua_State *L, const char *name, const char *version, const char *linked, const char *missing)
{
	lua_newtable(L);
	members_set_string(L, "name", name);
	members_set_string(L, "version", version);
	members_set_string(L, "linked", linked);
	members_set_string(L, "missing", missing);
	lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void add_cjson(lua_State *L)
{
	luaopen_cjson(L);
	lua_getfield(L, -1, "_VERSION");
	lua_pushvalue(L, -3);
	add(L, "lua-cjson", lua_tostring(L, -2), "built-in", NULL);
	lua_pop(L, 3);
}

static int l_libraries(lua_State *L)
{
	char pcre2[64] = "";
	const char *why = NULL;
	const struct curl_api *curl = curl_open(&why);
	const struct sqlite_api *sqlite;

	pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
	lua_newtable(L);
	add(L, "Lua", LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE, "built-in", NULL);
	add_cjson(L);
	add(L, "PCRE2", pcre2, "built-in", NULL);
	add(L, "libcurl", curl ? curl->version() : NULL, LIBRARY_LINKED, curl ? NULL : why);
	sqlite = sqlite_api_open(&why);
	add(L, "SQLite", sqlite ? sqlite->libversion() : NULL, LIBRARY_LINKED, sqlite ? NULL : why);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "build", l_build },
	{ "libraries", l_libraries },
	{ NULL, NULL },
};

int luaopen_runner_about(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
