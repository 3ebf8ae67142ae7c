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

#include "../engine/shepherd.h"
#include "cancel.h"
#include "channel.h"
#include "guard.h"
#include "loaders.h"
#include "memory.h"
#include "shell.h"
#include "worker_launch.h"

/* --- the attempt -------------------------------------------------------------------- */

static int add_traceback(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TSTRING)
		luaL_traceback(L, L, lua_tostring(L, 1), 1);
	return 1;
}

/* A short command ends before collecting its garbage pays off. */
#define GC_CREDIT_KIB 2048

/* boot(bindings) */
static int boot(lua_State *L)
{
	luaL_openlibs(L);
	guard_init(L);
	loaders_init(L);
	if (cancel_init(L) < 0)
		return luaL_error(L, "can't install signal handlers");
	shell_init(L);
	modules_init(L, lua_touserdata(L, 1)); /* whose globals are those that cancel_init has changed */
	modules_load(L, "boot");
	lua_gc(L, LUA_GCRESTART);
	lua_gc(L, LUA_GCSTEP, -GC_CREDIT_KIB);
	lua_call(L, 0, 0);
	return 0;
}

/* boot.lua reports every failure of a command; this reports a failure of boot.lua. */
static int run_boot(lua_State *L, const struct binding *bindings)
{
	int status;

	lua_gc(L, LUA_GCSTOP);
	lua_pushcfunction(L, add_traceback);
	lua_pushcfunction(L, boot);
	lua_pushlightuserdata(L, (void *)bindings);
	status = lua_pcall(L, 1, 0, 1);
	if (status == LUA_OK || cancel_seen())
		return 0;
	channel_fail(status == LUA_ERRMEM ? "MEMORY_LIMIT" : "INTERNAL_ERROR",
	                  lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "boot failed");
	return 1;
}

int worker_main(const struct launch *launch, const struct binding *bindings)
{
	lua_State *L;
	int status;

	worker_launch_set(launch);
	memory_init();
	L = lua_newstate(memory_alloc, NULL);
	if (!L) {
		channel_fail("MEMORY_LIMIT", "not enough memory for a Lua state");
		return 1;
	}
	status = run_boot(L, bindings);
	/* The process ends here: closing the state would only run the script's
	 * finalizers outside every protection; boot has run cleanup already. */
	fflush(NULL);
	shepherd_dismiss();
	guard_dismiss();
	return status;
}
