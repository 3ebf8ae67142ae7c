/*
 * rules.c: the engine's decisions for Lua: when to retry, what a code means, how
 * much time an outer runner leaves us. Runs in the worker; decides nothing
 * itself.
 */
#include "rules.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/buf.h"
#include "../common/secret.h"
#include "../engine/hint.h"
#include "../engine/os.h"
#include "../engine/policy.h"
#include "../engine/test_page.h"
#include "child_env.h"
#include "members.h"
#include "worker_launch.h"

/* --- policy ---------------------------------------------------------------------- */

static lua_Integer int_field(lua_State *L, int table, const char *key, lua_Integer otherwise)
{
	lua_Integer v;

	lua_getfield(L, table, key);
	v = lua_isnil(L, -1) ? otherwise : luaL_checkinteger(L, -1);
	lua_pop(L, 1);
	return v;
}

static int name_field(lua_State *L, int table, const char *key, enum names set, int otherwise)
{
	int v;

	lua_getfield(L, table, key);
	v = lua_isnil(L, -1) ? otherwise : name_parse(set, luaL_checkstring(L, -1));
	lua_pop(L, 1);
	return v < 0 ? otherwise : v;
}

static void delays_field(lua_State *L, int table, struct policy *p)
{
	lua_getfield(L, table, "delays");
	for (lua_Integer i = 1; lua_istable(L, -1) && i <= (lua_Integer)lua_rawlen(L, -1) &&
	                        p->delay_count < POLICY_MAX_DELAYS; i++) {
		lua_rawgeti(L, -1, i);
		p->delays[p->delay_count++] = luaL_checkinteger(L, -1);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* The flat form that lua/declare/policy.lua makes. */
static struct policy check_policy(lua_State *L, int table)
{
	struct policy p = POLICY_DEFAULT;

	luaL_checktype(L, table, LUA_TTABLE);
	p.retries = int_field(L, table, "retries", p.retries);
	p.delay_ms = int_field(L, table, "delay_ms", p.delay_ms);
	p.max_delay_ms = int_field(L, table, "max_delay_ms", p.max_delay_ms);
	p.jitter_ppm = (int32_t)int_field(L, table, "jitter_ppm", p.jitter_ppm);
	p.seed = (uint64_t)int_field(L, table, "seed", 0);
	p.backoff = (enum backoff)name_field(L, table, "strategy", NAMES_BACKOFF, (int)p.backoff);
	p.jitter = (enum jitter)name_field(L, table, "jitter", NAMES_JITTER, (int)p.jitter);
	delays_field(L, table, &p);
	return p;
}

/* policy_delay(flat, n): ms before retry n (0-based). */
static int l_policy_delay(lua_State *L)
{
	struct policy p = check_policy(L, 1);

	lua_pushinteger(L, policy_delay_ms(&p, luaL_checkinteger(L, 2)));
	return 1;
}

/* policy_decide(flat, made, position, own_ms|nil, left_ms|nil):
 * "wait" | "as_raised" | "exhausted" | "budget", wait_ms */
static int l_policy_decide(lua_State *L)
{
	static const char *const verdicts[] = { "wait", "as_raised", "exhausted", "budget" };
	struct policy p = check_policy(L, 1);
	lua_Number left = luaL_optnumber(L, 5, HUGE_VAL);
	struct policy_input q = {
		.made = luaL_checkinteger(L, 2),
		.position = luaL_checkinteger(L, 3),
		.own_wait_ms = luaL_optinteger(L, 4, -1),
		.left_ms = left >= 9e18 ? INT64_MAX : (int64_t)left,
	};
	int64_t wait_ms = 0;

	lua_pushstring(L, verdicts[policy_decide(&p, &q, &wait_ms)]);
	lua_pushinteger(L, wait_ms);
	return 2;
}

/* --- the registry -------------------------------------------------------------------- */

/* registry_code(name): { entry, exit_code, classic, retryable, side_effects } | nil */
static int l_registry_code(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const struct code_row *row = code_find(name);
	const struct exit_row *entry;

	if (!row)
		return 0;
	entry = exit_row(row->entry);
	lua_newtable(L);
	members_set_string(L, "entry", entry->name);
	members_set_int(L, "exit_code", entry->number[EXIT_TABLE_STANDARD]);
	members_set_int(L, "classic", entry->number[EXIT_TABLE_CLASSIC]);
	members_set_string(L, "retryable", name_of(NAMES_RETRYABLE, row->retryable ? row->retryable : entry->retryable));
	members_set_string(L, "side_effects", name_of(NAMES_SIDE_EFFECTS, entry->side_effects));
	members_set_string(L, "description", entry->description);
	members_set_string(L, "hint", row->hint);
	if (row->retry_after_ms >= 0)
		members_set_int(L, "retry_after_ms", row->retry_after_ms);
	members_set_string(L, "retry_strategy", name_of(NAMES_RETRY_STRATEGY, row->strategy));
	return 1;
}

/* registry_names(): every error code of the registry; then every exit entry. */
static int l_registry_names(lua_State *L)
{
	lua_newtable(L);
	for (size_t i = 0; code_at(i); i++) {
		lua_pushstring(L, code_at(i)->name);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_newtable(L);
	for (int i = 0; i < EXIT_ENTRY_COUNT; i++) {
		lua_pushstring(L, exit_row((enum exit_entry)i)->name);
		lua_rawseti(L, -2, i + 1);
	}
	return 2;
}

/* Stack: …, row. One exit_codes row as command.lua makes it. */
static struct declared_code read_declared(lua_State *L, int row)
{
	struct declared_code d = { .exit_code = -1, .retry_after_ms = -1 };

	lua_getfield(L, row, "name");
	snprintf(d.name, sizeof(d.name), "%s", luaL_checkstring(L, -1));
	lua_pop(L, 1);
	d.exit_code = (int)int_field(L, row, "exit_code", -1);
	d.retry_after_ms = int_field(L, row, "retry_after_ms", -1);
	d.retryable = (enum retryable)name_field(L, row, "retryable", NAMES_RETRYABLE, 0);
	d.side_effects = (enum side_effects)name_field(L, row, "side_effects", NAMES_SIDE_EFFECTS, 0);
	d.strategy = (enum retry_strategy)name_field(L, row, "retry_strategy", NAMES_RETRY_STRATEGY, 0);
	return d;
}

static struct own_hints read_own(lua_State *L, int table)
{
	struct own_hints own = OWN_HINTS_NONE;

	if (!lua_istable(L, table))
		return own;
	own.retry_after_ms = int_field(L, table, "retry_after_ms", -1);
	own.retryable = (enum retryable)name_field(L, table, "retryable", NAMES_RETRYABLE, 0);
	own.side_effects = (enum side_effects)name_field(L, table, "side_effects", NAMES_SIDE_EFFECTS, 0);
	own.strategy = (enum retry_strategy)name_field(L, table, "retry_strategy", NAMES_RETRY_STRATEGY, 0);
	return own;
}

/* hints(code, own|nil, exit_codes|nil, exit_table|nil): { known, exit_code,
 * retryable "true|false|maybe", side_effects, retry_after_ms, retry_strategy, rate_limited }.
 * In both tables retryable is a string, as in frames. */
static int l_hints(lua_State *L)
{
	const char *code = luaL_checkstring(L, 1);
	struct own_hints own = read_own(L, 2);
	int table = name_parse(NAMES_EXIT_TABLE, luaL_optstring(L, 4, "standard"));
	size_t count = lua_istable(L, 3) ? lua_rawlen(L, 3) : 0;
	struct declared_code *rows = lua_newuserdatauv(L, (count + 1) * sizeof(*rows), 0);
	struct declared_codes declared = { rows, count };
	struct hints h;

	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, 3, (lua_Integer)i + 1);
		rows[i] = read_declared(L, lua_gettop(L));
		lua_pop(L, 1);
	}
	h = hints_resolve(code, &own, &declared, table < 0 ? EXIT_TABLE_STANDARD : (enum exit_table)table);
	lua_newtable(L);
	lua_pushboolean(L, h.known);
	lua_setfield(L, -2, "known");
	members_set_int(L, "exit_code", h.exit_code);
	members_set_string(L, "retryable", name_of(NAMES_RETRYABLE, h.retryable));
	members_set_string(L, "side_effects", name_of(NAMES_SIDE_EFFECTS, h.side_effects));
	members_set_int(L, "retry_after_ms", h.retry_after_ms);
	members_set_string(L, "retry_strategy", name_of(NAMES_RETRY_STRATEGY, h.strategy));
	lua_pushboolean(L, h.rate_limited);
	lua_setfield(L, -2, "rate_limited");
	return 1;
}

static int l_code_matches(lua_State *L)
{
	lua_pushboolean(L, hint_name_matches(luaL_checkstring(L, 1), luaL_checkstring(L, 2)));
	return 1;
}

/* --- a runner inside a runner ------------------------------------------------------ */

#define DEADLINE_VAR "RUNNER_DEADLINE_MS"
#define NESTED_MARGIN_MS 100
#define MAX_ANCESTORS 64

/* Is the process that had number `pid` at time `alive` one of our ancestors? A
 * process that reused the number started later, so a stale or forged value fails. */
static bool is_ancestor(pid_t pid, uint64_t alive)
{
	pid_t at = getpid();

	for (int i = 0; i < MAX_ANCESTORS && at > 1; i++) {
		pid_t parent;
		uint64_t started;

		if (os_process_info(at, &parent, &started) < 0)
			return false;
		if (at == pid)
			return started <= alive;
		at = parent;
	}
	return false;
}

/* nested(): nothing, or, inside another runner, true and the ms that it leaves us (nil
 * without a limit, else ≥ 1). Format of the variable: "ms:pid:ticks", ms on the
 * monotonic clock, 0 for no limit; process pid was alive at ticks. */
static int l_nested(lua_State *L)
{
	const char *text = getenv(DEADLINE_VAR);
	long long at, pid;
	unsigned long long alive;
	char end;

	if (!text || sscanf(text, "%lld:%lld:%llu%c", &at, &pid, &alive, &end) != 3 ||
	    !is_ancestor((pid_t)pid, alive))
		return 0;
	lua_pushboolean(L, 1);
	if (at > 0)
		lua_pushinteger(L, MAX_OF(at - NESTED_MARGIN_MS - (mono_now() - test_page_later()) / 1000000, 1));
	else
		lua_pushnil(L);
	return 2;
}

/* export_deadline(timeout_ms): pass the end of this run to children in the
 * environment. Our supervisor is alive, so there is no need to read /proc. */
static int l_export_deadline(lua_State *L)
{
	static char text[sizeof(DEADLINE_VAR) + 3 * INT_TEXT];
	const char *entry = text;
	mono_t deadline = mono_deadline(worker_launch()->started, luaL_checkinteger(L, 1));
	uint64_t now;
	char number[INT_TEXT], *at;

	if (os_ticks_now(&now) < 0)
		return 0;
	if (deadline != MONO_NEVER)
		deadline -= test_page_later(); /* others have another clock */
	at = stpcpy(text, DEADLINE_VAR "=");
	at = stpcpy(at, int_text(deadline == MONO_NEVER ? 0 : deadline / 1000000, number));
	at = stpcpy(stpcpy(at, ":"), int_text(worker_launch()->supervisor, number));
	stpcpy(stpcpy(at, ":"), int_text((int64_t)now, number));
	(void)child_env_put(&entry, 1);
	return 0;
}

/* secret_name(name, within): does it name a secret, by its words, or (true) by one anywhere in it? */
static int l_secret_name(lua_State *L)
{
	size_t n;
	const char *name = luaL_checklstring(L, 1, &n);

	lua_pushboolean(L, lua_toboolean(L, 2) ? secret_name_within(name, n) : secret_name(name, n));
	return 1;
}

static const luaL_Reg functions[] = {
	{ "code_matches", l_code_matches },
	{ "export_deadline", l_export_deadline },
	{ "hints", l_hints },
	{ "nested", l_nested },
	{ "policy_decide", l_policy_decide },
	{ "policy_delay", l_policy_delay },
	{ "registry_code", l_registry_code },
	{ "registry_names", l_registry_names },
	{ "secret_name", l_secret_name },
	{ NULL, NULL },
};

void rules_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
