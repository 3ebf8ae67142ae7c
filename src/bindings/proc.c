/*
 * proc.c: child processes for Lua: `require "runner.process"`. Runs in the
 * worker. The mechanism is in proc_start.c, proc_io.c and proc_set.c; what users call
 * (ctx:run, ctx:spawn, ctx:pipeline), its defaults and its error texts are in
 * lua/ctx/process.lua.
 *
 *   process.start(spec) → handle | nil, message, CODE, { step=, errno= }
 *     argv0 = "tool": argv[0] of the program, in the place of argv[1], which stays the file to execute
 *     warm = true: argv[1] is our own program, and many such calls will follow: they start
 *     warm where that is the same (docs/design.md#warm-start). Then a shepherd is not needed.
 *   process.set({handle…}, {fd, events…}) → set, to wait for several at once (proc_set.c)
 *   process.prepare()        many with `shepherd` will follow: their start gets cheaper
 *   process.vouch(name) → what ends it when it is closed: until then this process says so in /proc/PID/maps
 *   process.paused() → ms that the run has been stopped so far (Ctrl+Z)
 */
#include "proc.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <string.h>

#include "../common/errno_name.h"
#include "../common/xio.h"
#include "../engine/os.h"
#include "../engine/outcome.h"
#include "../engine/shepherd.h"
#include "../worker/adopted.h"
#include "../worker/cancel.h"
#include "bindings.h"

/*
 * A child's result for scripts: why it could not start, or how it
 * ended and what it wrote. Changes no process.
 */

/* --- failures to start ----------------------------------------------------------- */

static void push_errno(lua_State *L, int err)
{
	const char *name = errno_name(err);

	if (name)
		lua_pushstring(L, name);
	else
		lua_pushfstring(L, "%d", err);
}

static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == EAGAIN;
}

/* Push nil, message, CODE, { step=, errno= }; returns 4. */
static int proc_push_failure(lua_State *L, const struct proc_failure *f)
{
	lua_pushnil(L);
	lua_pushfstring(L, "%s: %s%s%s", f->step, f->what ? f->what : "", f->what ? ": " : "",
	                strerror(f->err));
	lua_pushstring(L, is_shortage(f->err) ? "RESOURCE_EXHAUSTED" : "SUBPROCESS_FAILED");
	lua_createtable(L, 0, 2);
	lua_pushstring(L, f->step);
	lua_setfield(L, -2, "step");
	push_errno(L, f->err);
	lua_setfield(L, -2, "errno");
	return 4;
}

/* --- results -------------------------------------------------------------------------- */

static void push_stream(lua_State *L, struct proc *p, int i, const char *key, const char *dropped)
{
	struct tap *tap = &p->out[i].tap;

	buf_clear(&p->scratch);
	tap_text(tap, &p->scratch);
	if (p->scratch.failed) {
		lua_pushliteral(L, "not enough memory"); /* as Lua says it */
		lua_error(L);
	}
	lua_pushlstring(L, buf_cstr(&p->scratch), p->scratch.len);
	lua_setfield(L, -2, key);
	lua_pushinteger(L, (lua_Integer)tap_dropped(tap));
	lua_setfield(L, -2, dropped);
	buf_release(&p->scratch);
	tap_release(tap);
}

static void push_outcome(lua_State *L, const struct proc *p)
{
	struct outcome o = outcome_decode(p->wait_status);
	char scratch[16];

	if (o.signalled) {
		lua_pushstring(L, signal_name(o.status, scratch));
		lua_setfield(L, -2, "signal");
	} else {
		lua_pushinteger(L, o.status);
		lua_setfield(L, -2, "status");
	}
	lua_pushboolean(L, !o.signalled && o.status == 0 && !p->starved);
	lua_setfield(L, -2, "ok");
	if (p->starved) {
		lua_pushboolean(L, true);
		lua_setfield(L, -2, "starved");
	}
}

/* Not by the cap: reading failed, or there was no memory. */
static bool failed_to_keep(const struct proc *p)
{
	for (int i = 0; i < 2; i++)
		if (p->out[i].tap.failed || p->out[i].queue.failed)
			return true;
	return false;
}

static bool dropped_bytes(const struct proc *p)
{
	return tap_dropped(&p->out[0].tap) > 0 || tap_dropped(&p->out[1].tap) > 0;
}

/* spilled = true: the file has all of stdout; else spill_error, if it was to have it. */
static void push_spill(lua_State *L, const struct proc *p)
{
	if (p->spill_error) {
		push_errno(L, p->spill_error);
		lua_setfield(L, -2, "spill_error");
	} else if (p->spilled) {
		lua_pushboolean(L, true);
		lua_setfield(L, -2, "spilled");
	}
}

/* Push the table with the result of a reaped child; returns 1. Call once:
 * the captured bytes move to Lua. */
static int proc_push_result(lua_State *L, struct proc *p)
{
	lua_createtable(L, 0, 13);
	lua_pushboolean(L, false);
	lua_setfield(L, -2, "ok");
	if (!p->lost)
		push_outcome(L, p);
	if (p->lost && p->shepherd) {
		lua_pushboolean(L, true);
		lua_setfield(L, -2, "lost");
	}
	lua_pushboolean(L, dropped_bytes(p) || failed_to_keep(p));
	lua_setfield(L, -2, "truncated");
	if (failed_to_keep(p)) {
		lua_pushboolean(L, true);
		lua_setfield(L, -2, "output_lost");
	}
	push_spill(L, p);
	push_stream(L, p, 0, "stdout", "stdout_dropped");
	push_stream(L, p, 1, "stderr", "stderr_dropped");
	lua_pushinteger(L, mono_elapsed_ms(p->started, p->ended));
	lua_setfield(L, -2, "duration_ms");
	lua_pushboolean(L, p->incomplete);
	lua_setfield(L, -2, "incomplete");
	return 1;
}

#define GC_GRACE_MS 200 /* the script dropped the handle: keep the collector's pause short */

/* --- handles ------------------------------------------------------------------------ */

static struct proc *check_proc(lua_State *L)
{
	return luaL_checkudata(L, 1, PROC_TYPE);
}

static int start(lua_State *L)
{
	struct proc_spec spec;
	struct proc_failure failure;
	struct proc *p;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	proc_read_spec(L, 1, &spec);
	p = lua_newuserdatauv(L, sizeof(*p), 1);
	proc_init(p);
	luaL_setmetatable(L, PROC_TYPE);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1); /* keeps stdin's bytes alive */
	if (proc_start(p, &spec, &failure) < 0)
		return proc_push_failure(L, &failure);
	if (!cancel_pending())
		return 1;
	proc_end(p, p->grace_ms); /* no caller would get its handle */
	return cancel_raise(L);
}

static int handle_pid(lua_State *L)
{
	lua_pushinteger(L, check_proc(L)->pid);
	return 1;
}

static int handle_alive(lua_State *L)
{
	struct proc *p = check_proc(L);

	proc_notice_exit(p);
	lua_pushboolean(L, p->pid > 0 && !p->exited);
	return 1;
}

static int check_signal(lua_State *L, int index)
{
	int sig = lua_isinteger(L, index) ? (int)lua_tointeger(L, index)
	                                  : signal_parse(luaL_optstring(L, index, "SIGTERM"));

	luaL_argcheck(L, sig >= 0 && sig <= 64, index, "not a signal: write \"SIGTERM\" or its number");
	return sig;
}

static int handle_signal(lua_State *L)
{
	struct proc *p = check_proc(L);
	int sig = check_signal(L, 2);
	bool kill = sig == SIGKILL && p->shepherd; /* a shepherd must outlive the tree that it ends */

	if (kill)
		proc_stop(p, 0);
	lua_pushboolean(L, kill ? !p->exited : proc_signal(p, sig) == 0);
	return 1;
}

/* handle:stop(grace_ms): TERM now, KILL later; the next wait for it does the rest. */
static int handle_stop(lua_State *L)
{
	proc_stop(check_proc(L), luaL_checkinteger(L, 2));
	return 0;
}

/* handle:was_stopped(): was it alive when stop() or a cancellation came? With a
 * shepherd, this refers to the program itself. */
static int handle_was_stopped(lua_State *L)
{
	const struct proc *p = check_proc(L);

	lua_pushboolean(L, p->shepherd ? !p->ended_itself : p->stopping);
	return 1;
}

/* handle:result(): how it ended. Call once, after "done". */
static int handle_result(lua_State *L)
{
	struct proc *p = check_proc(L);

	luaL_argcheck(L, p->reaped, 1, "the process hasn't ended");
	return proc_push_result(L, p);
}

static int64_t ms_of(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

#ifdef __APPLE__
#define MAXRSS_UNIT 1
#else
#define MAXRSS_UNIT 1024
#endif

/* handle:used(): { cpu_ms=, peak_bytes= } of the program and what it has waited for, after its end: processor time of
 * all of them, and the memory of the largest one. nil: not known. */
static int handle_used(lua_State *L)
{
	const struct proc *p = check_proc(L);

	if (!p->reaped || p->lost)
		return 0;
	lua_createtable(L, 0, 2);
	lua_pushinteger(L, ms_of(p->used.ru_utime) + ms_of(p->used.ru_stime));
	lua_setfield(L, -2, "cpu_ms");
	lua_pushinteger(L, (lua_Integer)p->used.ru_maxrss * MAXRSS_UNIT);
	lua_setfield(L, -2, "peak_bytes");
	return 1;
}

/* --- waiting ---------------------------------------------------------------------------- */

/* handle:write(bytes): true once the process's pipe has taken them all; nil and a
 * message when it has stopped reading or the attempt's time limit has passed. */
static int handle_write(lua_State *L)
{
	struct proc_watch watches[PROC_WATCHES];
	struct pollfd fds[PROC_WATCHES];
	struct proc *p = check_proc(L);
	struct proc_set alone = { .n = 1, .procs = &p, .watches = watches, .fds = fds, .until = MONO_NEVER };
	size_t n;
	const char *bytes = luaL_checklstring(L, 2, &n);
	bool cut;

	if (p->in < 0 || !p->keep_in_open)
		return lua_pushnil(L), lua_pushliteral(L, "stdin is closed"), 2;
	p->input = bytes;
	p->input_left = n;
	while (p->in >= 0 && p->input_left > 0 && mono_now() < proc_attempt_end())
		if (proc_turn(&alone, proc_attempt_end(), true) == PROC_CANCELLED)
			return p->input_left = 0, proc_cancelled(L, &alone);
	cut = p->input_left > 0;
	p->input_left = 0;
	if (!cut)
		return lua_pushboolean(L, true), 1;
	lua_pushnil(L);
	lua_pushstring(L, p->in < 0 ? "stdin is closed" : "the attempt's time limit has passed");
	return 2;
}

static int handle_close_stdin(lua_State *L)
{
	struct proc *p = check_proc(L);

	p->keep_in_open = false;
	if (p->input_left == 0 && p->in >= 0)
		xclose(&p->in);
	return 0;
}

/* handle:close(): end it, with its grace, unless it is detached. */
static int handle_close(lua_State *L)
{
	struct proc *p = check_proc(L);

	proc_end(p, p->grace_ms);
	return cancel_pending() ? cancel_raise(L) : 0;
}

static int handle_gc(lua_State *L)
{
	struct proc *p = check_proc(L);

	proc_release(p, MIN_OF(p->grace_ms, GC_GRACE_MS));
	return 0;
}

/* --- many ------------------------------------------------------------------------------- */

static int prepare(lua_State *L)
{
	pid_t pid;

	(void)L;
	adopted_hold();
	pid = shepherd_prepare();
	if (pid > 0)
		adopted_expect(pid), adopted_count_helpers(1);
	adopted_release();
	return 0;
}

/* --- time ------------------------------------------------------------------------------- */

static int paused(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)cancel_paused() / 1e6);
	return 1;
}

/* --- registration ------------------------------------------------------------------------- */

static const luaL_Reg handle_methods[] = {
	{ "alive", handle_alive },
	{ "close", handle_close },
	{ "close_stdin", handle_close_stdin },
	{ "pid", handle_pid },
	{ "result", handle_result },
	{ "signal", handle_signal },
	{ "stop", handle_stop },
	{ "used", handle_used },
	{ "was_stopped", handle_was_stopped },
	{ "write", handle_write },
	{ NULL, NULL },
};

static const luaL_Reg handle_meta[] = {
	{ "__close", handle_close },
	{ "__gc", handle_gc },
	{ NULL, NULL },
};

#define VOUCH_TYPE "runner.vouch"

static int vouch(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	void **page = lua_newuserdatauv(L, sizeof(*page), 0);

	*page = NULL;
	luaL_setmetatable(L, VOUCH_TYPE);
	*page = os_named_page(name);
	return 1;
}

static int vouch_close(lua_State *L)
{
	void **page = luaL_checkudata(L, 1, VOUCH_TYPE);

	if (*page)
		os_unmap_page(*page);
	*page = NULL;
	return 0;
}

static const luaL_Reg vouch_meta[] = {
	{ "__close", vouch_close },
	{ "__gc", vouch_close },
	{ NULL, NULL },
};

static const luaL_Reg functions[] = {
	{ "paused", paused },
	{ "prepare", prepare },
	{ "set", proc_make_set },
	{ "start", start },
	{ "vouch", vouch },
	{ NULL, NULL },
};

static void register_type(lua_State *L, const char *name, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	lua_setfield(L, -2, "__index");
}

int luaopen_runner_proc(lua_State *L)
{
	register_type(L, PROC_TYPE, handle_methods);
	luaL_setfuncs(L, handle_meta, 0);
	register_type(L, PROC_SET_TYPE, proc_set_methods);
	register_type(L, VOUCH_TYPE, vouch_meta);
	luaL_setfuncs(L, vouch_meta, 0);
	luaL_newlib(L, functions);
	return 1;
}
