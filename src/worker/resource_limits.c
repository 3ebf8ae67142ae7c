/*
 * resource_limits.c: applies declared limits to the worker, between PLAN and RUN, so
 * that loading does not count. The engine decides how to enforce them.
 */
#include "resource_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/group.h"
#include "channel.h"
#include "confinement.h"
#include "libm.h"
#include "worker_launch.h"

static const char *const keys[] = {
	[RESOURCE_MEMORY] = "memory_bytes",
	[RESOURCE_CPU] = "cpu_ms",
	[RESOURCE_PROCESSES] = "processes",
	[RESOURCE_OPEN_FILES] = "open_files",
};

static struct limits read_limits(lua_State *L, int index)
{
	struct limits l = { { 0 } };

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		lua_getfield(L, index, keys[i]);
		l.of[i] = MIN_OF(MAX_OF(luaL_optinteger(L, -1, 0), 0), LIMITS_MAX);
		lua_pop(L, 1);
	}
	return l;
}

/* allow(limits): limit this process and everything that it starts, irrevocably:
 * { memory_bytes =, cpu_ms =, processes =, open_files = }, 0 or nil for no limit.
 * Returns how each is enforced: { memory = "cgroup", cpu = "rlimit", … }. */
static int l_allow(lua_State *L)
{
	struct limits l;
	struct mechanisms m = { { MECHANISM_NONE } };
	struct group group = { "" };
	char site[GROUP_PATH];

	luaL_checktype(L, 1, LUA_TTABLE);
	l = read_limits(L, 1);
	libm_open();
	if (l.of[RESOURCE_PROCESSES] > 0)
		channel_guard(); /* it is none of those that may be started */
	if (group_site_here(site) == 0)
		(void)group_make(&group, site, worker_launch()->request_id, &l, &m);
	limits_apply(&l, &m);
	lua_createtable(L, 0, RESOURCE_COUNT);
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		if (l.of[i] == 0)
			continue;
		lua_pushstring(L, mechanism_name(m.by[i]));
		lua_setfield(L, -2, resource_name((enum resource)i));
	}
	return 1;
}

/* files_full(): is this process unable to open another file? */
static int l_files_full(lua_State *L)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	lua_pushboolean(L, fd < 0 && errno == EMFILE);
	xclose(&fd);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "allow", l_allow },
	{ "bounds", confinement_make },
	{ "confine", confinement_enter },
	{ "confine_abi", confinement_abi },
	{ "files_full", l_files_full },
	{ NULL, NULL },
};

void resource_limits_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
