/*
 * confinement.c: confines the worker, and with it all that a command starts, just before
 * `run`. The engine knows how; lua/project/confinement.lua knows what.
 */
#include "confinement.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/xio.h"
#include "../engine/bounds.h"
#include "../engine/confine.h"
#include "../engine/gate.h"
#include "adopted.h"

#define BOUNDS "runner.bounds"

int confinement_abi(lua_State *L)
{
	lua_pushinteger(L, confine_abi());
	lua_pushboolean(L, system_calls_can_be_held());
	return 2;
}

/* A list of paths at `key`: those that don't exist need no right. -1: errno says why. */
static int give_all(lua_State *L, const char *key, int ruleset, uint64_t rights)
{
	int result = 0;

	if (lua_getfield(L, 1, key) != LUA_TTABLE || rights == 0)
		return lua_pop(L, 1), 0;
	for (lua_Integer i = 1; result == 0 && lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
		if (confine_give(ruleset, lua_tostring(L, -1), rights) < 0 && errno != ENOENT && errno != ENOTDIR &&
		    errno != EACCES)
			result = -1;
		lua_pop(L, 1);
	}
	lua_settop(L, 2);
	return result;
}

static bool flag(lua_State *L, const char *key)
{
	bool set;

	lua_getfield(L, 1, key);
	set = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return set;
}

static int give_ports(lua_State *L, int ruleset)
{
	int result = 0;

	if (lua_getfield(L, 1, "ports") == LUA_TTABLE)
		for (lua_Integer i = 1; result == 0 && lua_rawgeti(L, -1, i) == LUA_TNUMBER; i++) {
			result = confine_give_port(ruleset, (uint16_t)lua_tointeger(L, -1));
			lua_pop(L, 1);
		}
	lua_settop(L, 2);
	return result;
}

/* Landlock's part: 0, or -1 with errno. */
static int make_ruleset(lua_State *L, int abi, struct bounds *b)
{
	const struct confine what = { flag(L, "write"), flag(L, "read"), b->sockets != SOCKETS_ALL };
	struct confine_masks masks;

	confine_masks(abi, &what, &masks);
	b->ruleset = confine_open(abi, &masks);
	if (b->ruleset < 0)
		return errno == ENOMSG ? 0 : -1;
	return give_all(L, "writable", b->ruleset, masks.give_write) == 0 && give_all(L, "lockable", b->ruleset, masks.give_lock) == 0 &&
	               give_all(L, "readable", b->ruleset, masks.give_read) == 0 &&
	               (!masks.handled_net || b->sockets == SOCKETS_GIVEN || give_ports(L, b->ruleset) == 0) &&
	               (!masks.give_root || confine_give(b->ruleset, "/", masks.give_root) == 0)
	           ? 0
	           : -1;
}

static enum sockets sockets(lua_State *L)
{
	static const char *const names[] = { [SOCKETS_ALL] = "all",     [SOCKETS_TCP] = "tcp",     [SOCKETS_TCP_UDP] = "tcp_udp",
		                                 [SOCKETS_GIVEN] = "given", [SOCKETS_LOCAL] = "local", NULL };
	int found;

	lua_getfield(L, 1, "sockets");
	found = luaL_checkoption(L, -1, "all", names);
	lua_pop(L, 1);
	return (enum sockets)found;
}

static uint64_t capabilities(lua_State *L)
{
	uint64_t kept;

	lua_getfield(L, 1, "capabilities");
	kept = (uint64_t)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return kept;
}

static int release(lua_State *L)
{
	struct bounds *b = luaL_checkudata(L, 1, BOUNDS);

	xclose(&b->ruleset);
	return 0;
}

/* Stack: spec, handle. NULL with errno. */
static struct bounds *make(lua_State *L)
{
	struct bounds *b;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	b = lua_newuserdatauv(L, sizeof(*b), 0);
	*b = (struct bounds){ .ruleset = -1 };
	if (luaL_newmetatable(L, BOUNDS)) {
		lua_pushcfunction(L, release);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	b->sockets = sockets(L);
	b->capabilities = capabilities(L);
	b->filters = system_calls_can_be_held();
	return make_ruleset(L, confine_abi(), b) == 0 ? b : NULL;
}

static int fail(lua_State *L)
{
	lua_pushnil(L);
	lua_pushstring(L, strerror(errno));
	return 2;
}

int confinement_make(lua_State *L)
{
	return make(L) ? 1 : fail(L);
}

const struct bounds *confinement_bounds(lua_State *L, int index)
{
	return luaL_checkudata(L, index, BOUNDS);
}

/* --- hosts ----------------------------------------------------------------------------- */

static lua_Integer number(lua_State *L, const char *key)
{
	lua_Integer n;

	lua_getfield(L, -1, key);
	n = lua_tointeger(L, -1);
	lua_pop(L, 1);
	return n;
}

/* The names are the spec's. */
static struct gate_host *read_hosts(lua_State *L, size_t n)
{
	struct gate_host *hosts = lua_newuserdatauv(L, n * sizeof(*hosts), 0);

	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 3, (lua_Integer)i + 1);
		hosts[i].port = (uint16_t)number(L, "port");
		lua_getfield(L, -1, "name");
		hosts[i].name = luaL_checkstring(L, -1);
		lua_pop(L, 2);
	}
	return hosts;
}

static uint16_t *read_ports(lua_State *L, size_t n)
{
	uint16_t *ports = lua_newuserdatauv(L, (n + 1) * sizeof(*ports), 0);

	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 4, (lua_Integer)i + 1);
		ports[i] = (uint16_t)lua_tointeger(L, -1);
		lua_pop(L, 1);
	}
	return ports;
}

/* Stack: spec, handle. */
static bool open_gate(lua_State *L)
{
	struct gate_rules rules = { 0 };
	pid_t pid;

	if (lua_getfield(L, 1, "hosts") != LUA_TTABLE)
		return true;
	if (lua_getfield(L, 1, "ports") == LUA_TTABLE)
		rules.port_count = (size_t)luaL_len(L, 4);
	rules.host_count = (size_t)luaL_len(L, 3);
	rules.hosts = read_hosts(L, rules.host_count);
	rules.ports = read_ports(L, rules.port_count);
	adopted_hold();
	pid = gate_start(&rules);
	if (pid > 0)
		adopted_expect(pid), adopted_ends_by(pid, ADOPTED_LEFT_ALONE), adopted_count_helpers(1);
	adopted_release();
	lua_settop(L, 2);
	return pid > 0;
}

int confinement_enter(lua_State *L)
{
	const struct bounds *b = make(L);

	if (!b || !open_gate(L) || bounds_enter_files(b) < 0 || bounds_enter_calls(b) < 0)
		return fail(L);
	return lua_pushboolean(L, 1), 1;
}
