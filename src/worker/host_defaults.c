/*
 * host_defaults.c: enumerations, default values and bounds, which C and Lua share,
 * from C's tables. Runs in the worker. Lua asks for one when it needs it, so a run
 * that doesn't pays nothing.
 */
#include "host_defaults.h"

#include <lauxlib.h>
#include <string.h>

#include "../common/defaults.h"
#include "../engine/policy.h"
#include "members.h"

/* names(key): the values of "strategy", "jitter", "side_effects" … as a list, in the
 * order of names.def. */
static int l_names(lua_State *L)
{
	int set = names_find(luaL_checkstring(L, 1));
	lua_Integer n = 0;

	luaL_argcheck(L, set >= 0, 1, "no such enumeration");
	lua_newtable(L);
	for (int v = 0; v < names_end((enum names)set); v++) {
		if (!name_of((enum names)set, v))
			continue;
		lua_pushstring(L, name_of((enum names)set, v));
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

struct number {
	const char *name;
	lua_Integer value;
};

static const struct number defaults[] = {
#define DEFAULT(name, value) { #name, DEFAULT_##name },
#include "../common/defaults.def"
	{ NULL, 0 },
};

static const struct number bounds[] = {
#define BOUND(name, most) { #name, BOUND_##name },
#include "../common/defaults.def"
	{ NULL, 0 },
};

static int push_number(lua_State *L, const struct number *rows)
{
	const char *name = luaL_checkstring(L, 1);

	for (; rows->name; rows++)
		if (strcmp(rows->name, name) == 0)
			return lua_pushinteger(L, rows->value), 1;
	return luaL_argerror(L, 1, "no such number");
}

/* default("timeout_ms"): an integer; 0 ms means no limit. */
static int l_default(lua_State *L)
{
	return push_number(L, defaults);
}

/* bound("retries"): the largest accepted integer. */
static int l_bound(lua_State *L)
{
	return push_number(L, bounds);
}

/* default_policy(): a fresh table, flat as policy_delay takes it. */
static int l_default_policy(lua_State *L)
{
	const struct policy p = POLICY_DEFAULT;

	lua_createtable(L, 0, 10);
	members_set_int(L, "retries", p.retries);
	members_set_string(L, "strategy", name_of(NAMES_BACKOFF, (int)p.backoff));
	members_set_int(L, "delay_ms", p.delay_ms);
	members_set_int(L, "max_delay_ms", p.max_delay_ms);
	members_set_string(L, "jitter", name_of(NAMES_JITTER, (int)p.jitter));
	members_set_int(L, "jitter_ppm", p.jitter_ppm);
	members_set_bool(L, "maybe", false);
	lua_newtable(L);
	lua_setfield(L, -2, "delays");
	return 1;
}

static const luaL_Reg functions[] = {
	{ "bound", l_bound },
	{ "default", l_default },
	{ "default_policy", l_default_policy },
	{ "names", l_names },
	{ NULL, NULL },
};

void host_defaults_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
