/*
 * host.c: require "runner.host", what lua/ needs of its C host: the facts of
 * the launch, time, the environment, the protected call. Runs in the worker. The frame
 * channel, the engine's rules, command files and our stdin and stdout add their own functions.
 */
#include "host.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/codes.h"
#include "../common/errno_name.h"
#include "../common/json.h"
#include "../common/secret.h"
#include "../engine/child.h"
#include "../engine/keep.h"
#include "../engine/os.h"
#include "bundle.h"
#include "cancel.h"
#include "channel.h"
#include "child_env.h"
#include "host_defaults.h"
#include "inert.h"
#include "loadlib.h"
#include "members.h"
#include "memory.h"
#include "picture.h"
#include "profile.h"
#include "only.h"
#include "resource_limits.h"
#include "rules.h"
#include "scratch.h"
#include "source.h"
#include "standard.h"
#include "words.h"
#include "worker_launch.h"

/* --- facts ---------------------------------------------------------------------- */

/* launch(): the launch record of this worker, as a table. */
static int l_launch(lua_State *L)
{
	const struct launch *launch = worker_launch();

	lua_newtable(L);
	words_push(L, launch->argc > 0 ? launch->argv + 1 : NULL, MAX_OF(launch->argc - 1, 0));
	lua_setfield(L, -2, "argv");
	members_set_int(L, "attempt", launch->attempt);
	members_set_int(L, "supervisor", launch->supervisor);
	members_set_int(L, "repeats_made", launch->repeats_made);
	members_set_int(L, "called_made", launch->called_made);
	members_set_bool(L, "stdin_is_tty", launch->stdin_is_tty);
	members_set_bool(L, "stdout_is_tty", launch->stdout_is_tty);
	members_set_bool(L, "stderr_is_tty", launch->stderr_is_tty);
	members_set_bool(L, "ci", launch->ci);
	members_set_bool(L, "no_color", launch->no_color);
	members_set_bool(L, "in_lines", launch->in_lines);
	members_set_bool(L, "person", launch->person);
	members_set_bool(L, "headless", launch->headless);
	members_set_string(L, "trace_id", launch->trace_id);
	members_set_string(L, "format", name_of(NAMES_FORMAT, (int)launch->format));
	members_set_string(L, "exit_table", name_of(NAMES_EXIT_TABLE, launch->exit_table));
	members_set_string(L, "request_id", launch->request_id);
	members_set_string(L, "session_dir", launch->session_dir);
	members_set_string(L, "seed_text", launch->seed_text);
	members_set_string(L, "digest", launch->digest);
	members_set_string(L, "previous_code", launch->previous_code);
	members_set_string(L, "previous_message", launch->previous_message);
	members_set_string(L, "previous_steps", launch->previous_steps);
	members_set_string(L, "previous_progress", launch->previous_progress);
	members_set_string(L, "job", launch->job);
	if (launch->confirmed)
		members_set_bool(L, "confirmed", true);
	members_set_string(L, "version", RUNNER_VERSION);
	return 1;
}

/* set_limits(timeout_ms, attempt_timeout_ms, grace_ms): set the attempt's deadline for our
 * own waits, where 0 means no limit; and its grace, for our children. */
static int l_set_limits(lua_State *L)
{
	mono_t total = mono_deadline(worker_launch()->started + cancel_paused(), luaL_checkinteger(L, 1));
	mono_t own = mono_deadline(worker_launch()->attempt_started, luaL_checkinteger(L, 2));

	cancel_set_deadline(MIN_OF(total, own));
	if (lua_isinteger(L, 3))
		cancel_set_grace(lua_tointeger(L, 3));
	return 0;
}

/* begin_end(): `run` is over, and cleaning up begins. */
static int l_begin_end(lua_State *L)
{
	(void)L;
	cancel_begin_end(false);
	return 0;
}

/* remaining(): ms (a float) until the attempt's deadline, nil without one. */
static int l_remaining(lua_State *L)
{
	mono_t deadline = cancel_deadline();

	if (deadline == MONO_NEVER)
		return 0;
	lua_pushnumber(L, (lua_Number)(deadline - mono_now()) / 1e6);
	return 1;
}

/* now(): ms on the monotonic clock, a float. */
static int l_now(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)mono_now() / 1e6);
	return 1;
}

/* wall_ms(): ms since the epoch, for data that outlives the run; never for waiting. */
static int l_wall_ms(lua_State *L)
{
	struct timespec wall;

	wall_now(&wall);
	lua_pushinteger(L, (lua_Integer)wall.tv_sec * 1000 + wall.tv_nsec / 1000000);
	return 1;
}

/* booted_ms(): when the machine was booted, by the clocks of the kernel. */
static int l_booted_ms(lua_State *L)
{
	struct timespec wall, up;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &up);
	lua_pushinteger(L, (lua_Integer)(wall.tv_sec - up.tv_sec) * 1000 + (wall.tv_nsec - up.tv_nsec) / 1000000);
	return 1;
}

/* rfc3339(ms since the epoch): "2026-04-01T12:00:00.123Z" */
static int l_rfc3339(lua_State *L)
{
	lua_Integer ms = luaL_checkinteger(L, 1);
	struct timespec wall = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	char text[32];

	luaL_argcheck(L, ms >= 0, 1, "before 1970");
	lua_pushstring(L, rfc3339_format(&wall, text));
	return 1;
}

/* keep(name, text): the path of what an answer had no room for (engine/keep.h) | nil, message */
static int l_keep(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1), *text;
	char path[KEEP_PATH];
	size_t n;

	text = luaL_checklstring(L, 2, &n);
	if (keep_write(name, text, n, path) < 0) {
		lua_pushnil(L);
		lua_pushstring(L, keep_reason(errno));
		return 2;
	}
	lua_pushstring(L, path);
	return 1;
}

/* sleep(ms): returns when the time is over; a cancellation raises. */
static int l_sleep(lua_State *L)
{
	lua_Number ms = luaL_checknumber(L, 1);
	mono_t until = mono_now() + (mono_t)(!(ms > 0) ? 0 : ms > 1e12 ? 1e18 : ms * 1e6);
	int status;

	channel_hold(1);
	status = cancel_poll(NULL, 0, until);
	if (status == CANCEL_POLL_CANCELLED)
		return cancel_raise(L);
	channel_hold(-1);
	return 0;
}

/* ended_by(): the number of the signal that ended the attempt; 0: a limit, or a command that cancels jobs; nil: it goes on */
static int l_ended_by(lua_State *L)
{
	if (!cancel_seen())
		return 0;
	lua_pushinteger(L, cancel_cause() & ~CHILD_FROM_TERMINAL);
	return 1;
}

/* duration(text): ms | nil */
static int l_duration(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	int64_t ms;

	if (duration_parse(text, n, &ms) < 0)
		return 0;
	lua_pushinteger(L, ms);
	return 1;
}

static int l_duration_text(lua_State *L)
{
	char text[32];

	lua_pushstring(L, duration_format(luaL_checkinteger(L, 1), text));
	return 1;
}

/* random(): 63 random bits from the system. */
static int l_random(lua_State *L)
{
	uint64_t bits = 0;

	os_random(&bits, sizeof(bits));
	lua_pushinteger(L, (lua_Integer)(bits >> 1));
	return 1;
}

/* digest(text): FNV-1a, 64 bits in hex, to detect a changed source. Not for security. */
static int l_digest(lua_State *L)
{
	size_t n;
	const unsigned char *s = (const unsigned char *)luaL_checklstring(L, 1, &n);
	uint64_t h = 0xcbf29ce484222325u;
	char text[17];

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * 0x100000001b3u;
	for (int i = 15; i >= 0; i--, h >>= 4)
		text[i] = "0123456789abcdef"[h & 15];
	lua_pushlstring(L, text, 16);
	return 1;
}

/* clean(text): without ANSI sequences, control and invalid bytes. */
static int l_clean(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 1, &n);
	struct buf *out = scratch_push(L);

	text_clean(out, s, n);
	lua_pushlstring(L, buf_cstr(out), out->len);
	scratch_release(out);
	return 1;
}

/* may_hold_secrets(text | buffer): is there anything that tokens or keys begin with? */
static int l_may_hold_secrets(lua_State *L)
{
	size_t n;
	const char *s = scratch_text(L, 1, &n);

	lua_pushboolean(L, secret_text(s, n));
	return 1;
}

static int l_setenv(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const char *value = luaL_optstring(L, 2, NULL);

	lua_pushboolean(L, child_env_set(name, value) == 0);
	return 1;
}

/* errno_name(number): "ENOENT"; nil for a number without a name. */
static int l_errno_name(lua_State *L)
{
	lua_Integer number = luaL_checkinteger(L, 1);

	lua_pushstring(L, number > 0 && number <= INT_MAX ? errno_name((int)number) : NULL);
	return 1;
}

/* chdir(path): true, or nil and why not. Only for what decides where a command runs
 * (lua/project/place.lua): a script has no way to call it. */
static int l_chdir(lua_State *L)
{
	if (chdir(luaL_checkstring(L, 1)) < 0)
		return luaL_fileresult(L, 0, NULL);
	lua_pushboolean(L, 1);
	return 1;
}

static int l_getcwd(lua_State *L)
{
	char path[PATH_MAX], *longer;

	if (getcwd(path, sizeof(path))) {
		lua_pushstring(L, path);
		return 1;
	}
	longer = getcwd(NULL, 0);
	lua_pushstring(L, longer);
	free(longer);
	return 1;
}

static int l_memory_limit(lua_State *L)
{
	memory_set_limit((size_t)luaL_checkinteger(L, 1));
	return 0;
}

/* --- phases ---------------------------------------------------------------------- */

/* A failure with a code says by itself why; people at a terminal see where, too (lua/core/raised). */
static bool needs_traceback(lua_State *L)
{
	const char *code;
	size_t n;

	if (lua_type(L, 1) != LUA_TTABLE || worker_launch()->stderr_is_tty)
		return true;
	lua_pushliteral(L, "code");
	if (lua_rawget(L, 1) != LUA_TSTRING)
		return true;
	code = lua_tolstring(L, -1, &n);
	return !code_well_formed(code, n);
}

static int message_handler(lua_State *L)
{
	if (!needs_traceback(L))
		return lua_settop(L, 1), 1;
	lua_settop(L, 1);
	luaL_traceback(L, L, NULL, 1);
	lua_replace(L, lua_upvalueindex(1));
	return 1;
}

/*
 * protect(f, …): true, results… | false, raised value, traceback, cancelled. The traceback is nil
 * for a table with an error code in `code`, unless stderr is a terminal: finding the names of
 * functions takes longer than the rest of a failed attempt.
 * Catches a cancellation for good, so that cleanup can run afterwards.
 */
static int l_protect(lua_State *L)
{
	bool profiled = profile_on() && profile_enters_run();
	int status;

	lua_pushnil(L);
	lua_pushcclosure(L, message_handler, 1);
	lua_insert(L, 1);
	status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
	if (profiled)
		profile_leave_run();
	if (status == LUA_ERRMEM)
		memory_relax();
	if (status == LUA_OK && !cancel_pending()) {
		lua_pushboolean(L, 1);
		lua_replace(L, 1);
		return lua_gettop(L);
	}
	bool cancelled = cancel_pending();
	cancel_caught();
	lua_settop(L, 2);
	lua_pushboolean(L, 0);
	lua_insert(L, 2); /* handler, false, raised */
	if (lua_getupvalue(L, 1, 1) == NULL)
		lua_pushnil(L);
	lua_pushboolean(L, cancelled);
	return 4;
}

/*
 * shielded(f, …): what f returns or raises. A signal that cancels waits until then: for what is made
 * known as soon as it is made. f is short, and waits for nothing.
 */
static int l_shielded(lua_State *L)
{
	sigset_t cancelling, before;
	int status;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	sigemptyset(&cancelling);
	sigaddset(&cancelling, SIGTERM);
	sigaddset(&cancelling, SIGINT);
	sigprocmask(SIG_BLOCK, &cancelling, &before);
	status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static const luaL_Reg functions[] = {
	{ "booted_ms", l_booted_ms },
	{ "begin_end", l_begin_end },
	{ "chdir", l_chdir },
	{ "clean", l_clean },
	{ "digest", l_digest },
	{ "duration", l_duration },
	{ "duration_text", l_duration_text },
	{ "ended_by", l_ended_by },
	{ "errno_name", l_errno_name },
	{ "export_environment", child_env_export },
	{ "getcwd", l_getcwd },
	{ "is_configured", child_env_is_configured },
	{ "keep", l_keep },
	{ "launch", l_launch },
	{ "loadlib", loadlib_plain },
	{ "may_hold_secrets", l_may_hold_secrets },
	{ "memory_limit", l_memory_limit },
	{ "now", l_now },
	{ "protect", l_protect },
	{ "random", l_random },
	{ "remaining", l_remaining },
	{ "set_limits", l_set_limits },
	{ "setenv", l_setenv },
	{ "shielded", l_shielded },
	{ "rfc3339", l_rfc3339 },
	{ "sleep", l_sleep },
	{ "wall_ms", l_wall_ms },
	{ NULL, NULL },
};

#define FUNCTIONS_OF_ALL 40 /* a size hint: this file's and those registered below */

int luaopen_runner_host(lua_State *L)
{
	lua_createtable(L, 0, FUNCTIONS_OF_ALL);
	luaL_setfuncs(L, functions, 0);
	channel_register(L);
	picture_register(L);
	host_defaults_register(L);
	rules_register(L);
	resource_limits_register(L);
	source_register(L);
	inert_register(L);
	bundle_register(L);
	only_register(L);
	standard_register(L);
	words_register(L);
	return 1;
}
