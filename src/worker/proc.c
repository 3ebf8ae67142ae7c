/*
 * proc.c: child processes for Lua: `require "runner.process"`. Runs in the
 * worker. The mechanism is in proc_start.c and proc_io.c; what users call
 * (ctx:run, ctx:spawn, ctx:pipeline), its defaults and its error texts are in
 * lua/proc.lua.
 *
 *   process.start(spec) → handle | nil, message, CODE, { step=, errno= }
 *   process.set{handle…} → set, to wait for several at once
 */
#include <lauxlib.h>

#include "../common/xio.h"
#include "../engine/outcome.h"
#include "cancel.h"
#include "proc.h"
#include "worker.h"

#define SET_TYPE "runner.process_set"
#define GC_GRACE_MS 200 /* the script has lost it; nobody waits gladly for that */

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
	return 1;
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

	lua_pushboolean(L, proc_signal(p, check_signal(L, 2)) == 0);
	return 1;
}

/* handle:was_stopped(): did set:stop() find it alive? */
static int handle_was_stopped(lua_State *L)
{
	lua_pushboolean(L, check_proc(L)->stopping);
	return 1;
}

/* handle:result(): what became of it, to be asked once, after "done". */
static int handle_result(lua_State *L)
{
	struct proc *p = check_proc(L);

	luaL_argcheck(L, p->reaped, 1, "the process is not done");
	return proc_push_result(L, p);
}

/* --- waiting ---------------------------------------------------------------------------- */

/* The supervisor ends the attempt, and its verdict must come before a script can
 * go on without its child: its TERM is due at the deadline. In cleanup, after
 * that, its KILL is the bound. */
static mono_t attempt_end(void)
{
	return cancel_seen() ? MONO_NEVER : mono_add_ms(cancel_deadline(), CANCEL_TERM_DUE_MS);
}

static int cancelled(lua_State *L, struct proc_set *set)
{
	if (!set->procs[0]->detached)
		proc_set_end(set, PROC_CANCEL_GRACE_MS);
	return cancel_raise(L);
}

/* handle:write(bytes): true once the process's pipe has taken them all; nil
 * and why when it reads no more or the attempt's time is over. */
static int handle_write(lua_State *L)
{
	struct proc_watch watches[PROC_WATCHES];
	struct pollfd fds[PROC_WATCHES];
	struct proc *p = check_proc(L);
	struct proc_set alone = { 1, &p, watches, fds, MONO_NEVER, 0, false };
	size_t n;
	const char *bytes = luaL_checklstring(L, 2, &n);
	bool cut;

	if (p->in < 0 || !p->keep_in_open)
		return lua_pushnil(L), lua_pushliteral(L, "stdin is closed"), 2;
	p->input = bytes;
	p->input_left = n;
	while (p->in >= 0 && p->input_left > 0 && mono_now() < attempt_end())
		if (proc_turn(&alone, attempt_end(), true) == PROC_CANCELLED)
			return p->input_left = 0, cancelled(L, &alone);
	cut = p->input_left > 0;
	p->input_left = 0;
	if (!cut)
		return lua_pushboolean(L, true), 1;
	lua_pushnil(L);
	lua_pushstring(L, p->in < 0 ? "stdin is closed" : "the attempt's time is over");
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

/* --- sets ------------------------------------------------------------------------------- */

static struct proc_set *check_set(lua_State *L)
{
	return luaL_checkudata(L, 1, SET_TYPE);
}

/* One block: the set, then its three arrays, most strictly aligned first. */
static struct proc_set *new_set(lua_State *L, size_t n)
{
	size_t per_proc = sizeof(struct proc *) +
	                  PROC_WATCHES * (sizeof(struct proc_watch) + sizeof(struct pollfd));
	struct proc_set *set = lua_newuserdatauv(L, sizeof(*set) + n * per_proc, 1);

	set->n = n;
	set->procs = (struct proc **)(set + 1);
	set->watches = (struct proc_watch *)(set->procs + n);
	set->fds = (struct pollfd *)(set->watches + n * PROC_WATCHES);
	set->until = MONO_NEVER;
	set->paused = 0;
	set->stopping = false;
	return set;
}

static int make_set(lua_State *L)
{
	lua_Integer n;
	struct proc_set *set;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = luaL_len(L, 1);
	luaL_argcheck(L, n >= 1 && n <= 1000, 1, "1 to 1000 handles");
	set = new_set(L, (size_t)n);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, 1, i);
		set->procs[i - 1] = luaL_checkudata(L, -1, PROC_TYPE);
		lua_pop(L, 1);
	}
	luaL_setmetatable(L, SET_TYPE);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1); /* keeps the handles alive */
	return 1;
}

/* set:limit(ms | nil): from now on, how long set:wait() goes on altogether. */
static int set_limit(lua_State *L)
{
	struct proc_set *set = check_set(L);

	set->until = lua_isnoneornil(L, 2) ? MONO_NEVER
	                                   : mono_add_ms(mono_now(), luaL_checkinteger(L, 2));
	set->paused = cancel_paused();
	return 0;
}

/* set:stop(grace_ms): TERM to all now, KILL later; set:wait() sees to the rest. */
static int set_stop(lua_State *L)
{
	proc_set_stop(check_set(L), luaL_checkinteger(L, 2));
	return 0;
}

static int push_line(lua_State *L, struct proc_set *set)
{
	static const char *const names[] = { "stdout", "stderr" };
	const char *text;
	size_t n;

	for (size_t i = 0; i < set->n * 2; i++) {
		if (!proc_next_line(&set->procs[i / 2]->out[i % 2], &text, &n))
			continue;
		lua_pushliteral(L, "line");
		lua_pushlstring(L, text, n);
		lua_pushstring(L, names[i % 2]);
		lua_pushinteger(L, (lua_Integer)(i / 2) + 1);
		return 4;
	}
	return 0;
}

static int push_done(lua_State *L, struct proc_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		proc_reap(set->procs[i]);
	lua_pushliteral(L, "done");
	return 1;
}

/* Moves while the run is stopped by Ctrl+Z. */
static mono_t own_end(const struct proc_set *set)
{
	return cancel_shift(set->until, set->paused);
}

static int push_late(lua_State *L, const struct proc_set *set)
{
	lua_pushnil(L);
	lua_pushstring(L, own_end(set) <= attempt_end() ? "limit" : "attempt");
	return 2;
}

/*
 * set:wait(lines): serves all handles until there is news:
 *   "line", text, "stdout" | "stderr", index   (only with `lines`)
 *   "done"                                     every one is gone and reaped
 *   nil, "limit" | "attempt"                   set:limit() or the attempt is over
 * After set:stop() time is bounded by that, and only lines and "done" come.
 */
static int set_wait(lua_State *L)
{
	struct proc_set *set = check_set(L);
	bool lines = lua_toboolean(L, 2), turned = false;
	int pushed;

	for (size_t i = 0; i < set->n && !lines; i++)
		proc_forget_lines(set->procs[i]);
	for (;;) {
		mono_t until = set->stopping ? MONO_NEVER : MIN_OF(own_end(set), attempt_end());
		bool done = proc_set_done(set), late = mono_now() >= until;

		if (lines && (done || !late) && (pushed = push_line(L, set)) > 0)
			return pushed;
		if (done)
			return push_done(L, set);
		if (late && turned)
			return push_late(L, set);
		if (proc_turn(set, until, true) == PROC_CANCELLED)
			return cancelled(L, set);
		turned = true;
	}
}

/* --- registration ------------------------------------------------------------------------- */

static const luaL_Reg handle_methods[] = {
	{ "alive", handle_alive },
	{ "close", handle_close },
	{ "close_stdin", handle_close_stdin },
	{ "pid", handle_pid },
	{ "result", handle_result },
	{ "signal", handle_signal },
	{ "was_stopped", handle_was_stopped },
	{ "write", handle_write },
	{ NULL, NULL },
};

static const luaL_Reg handle_meta[] = {
	{ "__close", handle_close },
	{ "__gc", handle_gc },
	{ NULL, NULL },
};

static const luaL_Reg set_methods[] = {
	{ "limit", set_limit },
	{ "stop", set_stop },
	{ "wait", set_wait },
	{ NULL, NULL },
};

static const luaL_Reg functions[] = {
	{ "set", make_set },
	{ "start", start },
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
	register_type(L, SET_TYPE, set_methods);
	luaL_newlib(L, functions);
	return 1;
}
