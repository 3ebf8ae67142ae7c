/*
 * worker.c: one attempt's process: a Lua state with a memory limit, and lua/boot.lua
 * in one protected call. It knows no command and no flag, and no error code but
 * those of its own failure.
 */
#include "worker.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engine/fork_server.h"
#include "../engine/gate.h"
#include "../engine/os.h"
#include "../engine/shepherd.h"
#include "../engine/test_page.h"
#include "ahead.h"
#include "bundle.h"
#include "cancel.h"
#include "channel.h"
#include "inert.h"
#include "loaders.h"
#include "loadlib.h"
#include "memory.h"
#include "profile.h"
#include "shell.h"
#include "tested.h"
#include "worker_launch.h"

static lua_State *warm; /* prepared by worker_warm(); NULL: every attempt makes its own */
static int warm_kib;    /* that modules take in it which an attempt would load later */

/* --- the attempt -------------------------------------------------------------------- */

static int add_traceback(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TSTRING)
		luaL_traceback(L, L, lua_tostring(L, 1), 1);
	return 1;
}

/* A short command ends before collecting its garbage pays off. */
#define GC_CREDIT_KIB 2048

/* Forks of a prepared state would draw the same numbers, and a file may draw one while it loads. */
static void seed_again(lua_State *L)
{
	lua_Integer seed[2] = { 0 };

	os_random(seed, sizeof(seed));
	lua_getglobal(L, LUA_MATHLIBNAME);
	lua_getfield(L, -1, "randomseed");
	lua_pushinteger(L, seed[0]);
	lua_pushinteger(L, seed[1]);
	lua_call(L, 2, 0);
	lua_pop(L, 1);
}

/* The globals and package.loaded, as large as they become: else each is filled anew six times. */
static void make_roomy_tables(lua_State *L)
{
	lua_createtable(L, 0, 64);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	lua_createtable(L, 0, 64);
	lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}

/* print(…), which says once where it was called: what it writes isn't the answer. */
static int l_print(lua_State *L)
{
	static bool said;
	char place[LUA_IDSIZE + 256];
	lua_Debug at;

	if (!said && lua_getstack(L, 1, &at) && lua_getinfo(L, "Sl", &at) && at.source[0] == '@' && at.currentline > 0 &&
	    strlen(at.source) < 256) {
		said = true;
		snprintf(place, sizeof(place), "%s:%d", at.source + 1, at.currentline);
		channel_printed(place);
	}
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 0);
	return 0;
}

static void watch_print(lua_State *L)
{
	lua_getglobal(L, "print");
	lua_pushcclosure(L, l_print, 1);
	lua_setglobal(L, "print");
}

/* What doesn't depend on the attempt: it knows no launch record and opens nothing. */
static void prepare(lua_State *L, const struct binding *bindings)
{
	make_roomy_tables(L);
	luaL_openlibs(L);
	watch_print(L);
	loadlib_init(L);
	loaders_init(L);
	cancel_track(L);
	shell_init(L);
	modules_init(L, bindings); /* whose globals are those that cancel_track has changed */
}

/* Its project is the one that this program carries, wherever it is called. False: it can't be
 * had, and the answer says so. */
static bool enter_bundle(lua_State *L)
{
	bool answered;

	modules_load(L, "bundle/enter");
	lua_call(L, 0, 1);
	lua_call(L, 0, 1);
	answered = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return !answered;
}

/* boot(bindings | nil: the state is prepared) */
static int boot(lua_State *L)
{
	if (lua_touserdata(L, 1))
		prepare(L, lua_touserdata(L, 1));
	else
		seed_again(L);
	if (cancel_init(L) < 0)
		return luaL_error(L, "can't install signal handlers");
	if (test_page())
		tested_init(L);
	profile_init();
	if (bundle_is() && !enter_bundle(L))
		return 0;
	modules_load(L, "boot");
	lua_gc(L, LUA_GCRESTART);
	lua_gc(L, LUA_GCSTEP, warm_kib - GC_CREDIT_KIB);
	lua_call(L, 0, 0);
	return 0;
}

static lua_State *new_state(bool is_ahead)
{
	lua_State *L;

	memory_init(is_ahead);
	L = lua_newstate(memory_alloc, NULL);
	if (L)
		lua_gc(L, LUA_GCSTOP);
	return L;
}

/* Push a member of what was raised; what to say without it. */
static const char *raised(lua_State *L, int at, const char *name, const char *without)
{
	if (!lua_istable(L, at))
		return without;
	lua_pushstring(L, name);
	return lua_rawget(L, at) == LUA_TSTRING ? lua_tostring(L, -1) : without;
}

/* boot.lua reports every failure of a command; this reports a failure of boot.lua, and what keeps
 * it from finding the command. */
static int run_boot(lua_State *L, const struct binding *bindings)
{
	int status, at;

	lua_pushcfunction(L, add_traceback);
	lua_pushcfunction(L, boot);
	lua_pushlightuserdata(L, (void *)bindings);
	status = lua_pcall(L, 1, 0, 1);
	if (status == LUA_OK || cancel_seen())
		return 0;
	at = lua_gettop(L);
	channel_fail(status == LUA_ERRMEM ? "MEMORY_LIMIT" : raised(L, at, "code", "INTERNAL_ERROR"),
		     lua_type(L, at) == LUA_TSTRING ? lua_tostring(L, at) : raised(L, at, "message", "boot failed"));
	return 1;
}

int worker_main(const struct launch *launch, const struct binding *bindings)
{
	lua_State *L = warm;
	int status;

	worker_launch_set(launch);
	if (warm)
		memory_unshare();
	else
		L = new_state(false);
	if (!L) {
		channel_fail("MEMORY_LIMIT", "not enough memory for a Lua state");
		return 1;
	}
	status = run_boot(L, warm ? NULL : bindings);
	/* The process ends here: closing the state would only run the script's
	 * finalizers outside every protection; boot has run cleanup already. */
	fflush(NULL);
	if (profile_on())
		profile_over();
	shepherd_dismiss();
	gate_dismiss();
	zygote_dismiss();
	inert_dismiss();
	return status;
}

/* --- before all attempts ---------------------------------------------------------------- */

/* What a plain run loads: tests/cli/borders.bats compares. */
static const char *const modules[] = {
	"core/attempt", "core/rules",     "ctx/context",    "declare/command", "declare/values",
	"project/args", "project/loader", "project/locate", "project/plan",    "project/settings", NULL,
};

/* … and what one does whose arguments come as lua/calls sends them: tests/cli/warm.bats compares. */
static const char *const modules_of_calls[] = {
	"core/errors", "core/json_text", "core/lenient_json", "core/tables", "declare/arguments", "declare/contract",
	"declare/contract/input", "declare/flags", "declare/rare_arguments", "project/argv_parser", "project/call_flags",
	"project/flag_variables", "project/payload", "project/place", "project/stdin_arguments", NULL,
};

/* … and what one does that has arguments and a policy, and that fails: tests/cli/warm.bats compares. */
static const char *const modules_of_retries[] = {
	"core/errors", "ctx/fail", "ctx/methods", "declare/arguments", "declare/codes", "declare/flags", "declare/policy",
	"project/argv_parser", "project/failure", NULL,
};

/* warm_up(bindings, further modules) */
static int warm_up(lua_State *L)
{
	prepare(L, lua_touserdata(L, 1));
	ahead_begin(L);
	warm_kib = lua_gc(L, LUA_GCCOUNT);
	modules_load_all(L, modules);
	warm_kib = lua_gc(L, LUA_GCCOUNT) - warm_kib;
	modules_load_all(L, lua_touserdata(L, 2));
	modules_put_ahead(L, "boot");
	return 0;
}

static int warm_for(const struct binding *bindings, const char *const *further)
{
	lua_State *L = new_state(true);

	if (!L)
		return -1;
	lua_pushcfunction(L, warm_up);
	lua_pushlightuserdata(L, (void *)bindings);
	lua_pushlightuserdata(L, (void *)further);
	if (lua_pcall(L, 2, 0, 0) != LUA_OK)
		return -1;
	warm = L;
	return 0;
}

int worker_warm_for_calls(const struct binding *bindings)
{
	return warm_for(bindings, modules_of_calls);
}

/* Files below RUNNER_LUA may change, or their disk hang: a supervisor doesn't read them. */
int worker_warm_for_retries(const struct binding *bindings)
{
	const char *dir = getenv("RUNNER_LUA");

	return dir && *dir ? -1 : warm_for(bindings, modules_of_retries);
}
