/*
 * worker.c: one attempt's process: a Lua state with a memory limit, and lua/boot.lua
 * under one protected call.
 * It knows no command, no flag and no error code but those of its own failure.
 */
#include "worker.h"

#include <lauxlib.h>
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
#include "modules.h"

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
	guard_init(L);
	if (cancel_init(L) < 0)
		return luaL_error(L, "can't prepare for signals");
	modules_init(L); /* whose globals are those that cancel_init has changed */
	modules_load(L, "boot");
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
