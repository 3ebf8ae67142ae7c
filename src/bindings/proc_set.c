/*
 * proc_set.c: waiting for several children at once, for Lua: the sets that
 * process.set{handle…} makes. Runs in the worker; starts no process.
 *
 *   set:limit(ms)  set:wait(lines)   all of them, to the end (ctx:run, ctx:pipeline)
 *   set:next(lines, ms)              one piece of news at a time (a scheduler)
 *   set:stop(grace_ms)               TERM to all now, KILL later
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "../engine/shepherd.h"
#include "../worker/adopted.h"
#include "../worker/cancel.h"
#include "proc.h"

/*
 * The end of children: what a shepherd has reported, reaping, and ending
 * several at once. Knows no Lua values.
 */

/* --- reaping ---------------------------------------------------------------------------- */

/* A killed shepherd leaves its program's descendants to us, and so does a killed call. They end
 * before it is reported: what follows must not overlap with them. */
void proc_take_account(struct proc *p)
{
	struct shepherd_account account = { false, false };

	if (p->report_fd >= 0)
		account = shepherd_account(p->report_fd);
	p->ended_itself = account.ended_itself;
	p->lost = p->lost || (p->shepherd && !account.complete);
	if (!account.complete)
		adopted_kill();
	xclose(&p->report_fd);
}

void proc_reap(struct proc *p)
{
	pid_t got;

	if (p->reaped || p->pid <= 0 || !p->exited)
		return;
	if (p->stopping && p->group)
		proc_signal(p, SIGKILL);
	do
		got = wait4(p->pid, &p->wait_status, WNOHANG, &p->used);
	while (got < 0 && rest_again());
	p->lost = p->lost || got != p->pid;
	p->reaped = true;
	adopted_forget(p->pid);
	if (p->shepherd)
		proc_take_account(p);
	xclose(&p->pidfd);
}

/* --- several ---------------------------------------------------------------------------- */

bool proc_set_done(const struct proc_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (!proc_done(set->procs[i]))
			return false;
	return true;
}

void proc_set_stop(struct proc_set *set, int64_t grace_ms)
{
	set->stopping = true;
	for (size_t i = 0; i < set->n; i++)
		proc_stop(set->procs[i], grace_ms);
}

static void stop_each(struct proc_set *set, int64_t most_ms)
{
	set->stopping = true;
	for (size_t i = 0; i < set->n; i++)
		proc_stop(set->procs[i], MIN_OF(set->procs[i]->grace_ms, most_ms));
}

void proc_set_cancel(struct proc_set *set)
{
	set->cancelled = true;
	cancel_postpone();
	stop_each(set, INT64_MAX);
}

void proc_set_end(struct proc_set *set, int64_t most_ms)
{
	bool heed = !cancel_pending();

	for (size_t i = 0; i < set->n; i++)
		proc_forget_lines(set->procs[i]); /* no caller reads them: a full queue would block */
	stop_each(set, most_ms);
	while (!proc_set_done(set)) {
		if (proc_turn(set, MONO_NEVER, heed) != PROC_CANCELLED)
			continue;
		heed = false;
		stop_each(set, most_ms);
	}
	for (size_t i = 0; i < set->n; i++)
		proc_reap(set->procs[i]);
}

void proc_end(struct proc *p, int64_t most_ms)
{
	struct proc_watch watches[PROC_WATCHES];
	struct pollfd fds[PROC_WATCHES];
	struct proc_set alone = { .n = 1, .procs = &p, .watches = watches, .fds = fds, .until = MONO_NEVER };

	if (p->pid > 0 && !p->detached && !p->reaped)
		proc_set_end(&alone, most_ms);
	proc_forget_lines(p);
	xclose(&p->in);
	xclose(&p->spill_fd);
	xclose(&p->report_fd);
	xclose(&p->pidfd);
	for (int i = 0; i < 2; i++)
		xclose(&p->out[i].fd);
}

void proc_release(struct proc *p, int64_t most_ms)
{
	proc_end(p, most_ms);
	for (int i = 0; i < 2; i++)
		tap_release(&p->out[i].tap);
	buf_release(&p->scratch);
	if (p->pid > 0)
		adopted_forget(p->pid); /* no caller waits for it any more */
	p->pid = 0;
}

/* --- what waits have in common ---------------------------------------------------------- */

/* In cleanup, after TERM, the supervisor's KILL is the limit. */
mono_t proc_attempt_end(void)
{
	return cancel_seen() ? MONO_NEVER : mono_add_ms(cancel_deadline(), CANCEL_TERM_DUE_MS);
}

int proc_cancelled(lua_State *L, struct proc_set *set)
{
	if (set->n > 0 && !set->procs[0]->detached)
		proc_set_end(set, INT64_MAX);
	return cancel_raise(L);
}

/* --- sets ---------------------------------------------------------------------------------- */

static struct proc_set *check_set(lua_State *L)
{
	return luaL_checkudata(L, 1, PROC_SET_TYPE);
}

/* One block: the set, then its four arrays, the most strictly aligned first. */
static struct proc_set *new_set(lua_State *L, size_t n, size_t others)
{
	size_t per_proc = sizeof(struct proc *) +
	                  PROC_WATCHES * (sizeof(struct proc_watch) + sizeof(struct pollfd));
	struct proc_set *set =
	    lua_newuserdatauv(L, sizeof(*set) + n * per_proc + 2 * others * sizeof(struct pollfd), 1);

	set->n = n;
	set->other_count = others;
	set->procs = (struct proc **)(set + 1);
	set->watches = (struct proc_watch *)(set->procs + n);
	set->fds = (struct pollfd *)(set->watches + n * PROC_WATCHES);
	set->others = set->fds + n * PROC_WATCHES + others;
	set->until = MONO_NEVER;
	set->paused = 0;
	set->stopping = set->cancelled = false;
	return set;
}

/* { fd, events, fd, events, … } */
static void read_others(lua_State *L, struct proc_set *set)
{
	for (size_t i = 0; i < set->other_count; i++) {
		lua_rawgeti(L, 2, (lua_Integer)(2 * i) + 1);
		lua_rawgeti(L, 2, (lua_Integer)(2 * i) + 2);
		set->others[i] = (struct pollfd){ .fd = (int)luaL_checkinteger(L, -2),
			                          .events = (short)luaL_checkinteger(L, -1) };
		lua_pop(L, 2);
	}
}

int proc_make_set(lua_State *L)
{
	lua_Integer n, others = 0;
	struct proc_set *set;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = luaL_len(L, 1);
	luaL_argcheck(L, n <= 1000, 1, "at most 1000 handles");
	if (!lua_isnoneornil(L, 2)) {
		luaL_checktype(L, 2, LUA_TTABLE);
		others = luaL_len(L, 2) / 2;
		luaL_argcheck(L, others <= 1000, 2, "at most 1000 descriptors");
	}
	set = new_set(L, (size_t)n, (size_t)others);
	read_others(L, set);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, 1, i);
		set->procs[i - 1] = luaL_checkudata(L, -1, PROC_TYPE);
		lua_pop(L, 1);
	}
	luaL_setmetatable(L, PROC_SET_TYPE);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1); /* keeps the handles alive */
	return 1;
}

/* set:limit(ms | nil): how long set:wait() may take in total, from now on. */
static int set_limit(lua_State *L)
{
	struct proc_set *set = check_set(L);

	set->until = lua_isnoneornil(L, 2) ? MONO_NEVER
	                                   : mono_add_ms(mono_now(), luaL_checkinteger(L, 2));
	set->paused = cancel_paused();
	return 0;
}

/* set:stop(grace_ms): TERM to all now, KILL later; set:wait() does the rest. */
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
	if (set->cancelled)
		return cancel_raise(L);
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
	lua_pushstring(L, own_end(set) <= proc_attempt_end() ? "limit" : "attempt");
	return 2;
}

/*
 * set:wait(lines, last): serves all handles until there is news:
 *   "line", text, "stdout" | "stderr", index   (only with `lines`)
 *   "done"                                     every one is gone and reaped
 *   nil, "limit" | "attempt"                   set:limit() or the attempt is over
 * After set:stop() time is bounded by that, and only lines and "done" come. A cancellation is raised when all
 * have ended. With `last`, lines come until then: who asks does nothing but take them.
 */
static int set_wait(lua_State *L)
{
	struct proc_set *set = check_set(L);
	bool lines = lua_toboolean(L, 2), last = lines && lua_toboolean(L, 3), turned = false;
	int pushed;

	for (size_t i = 0; i < set->n && !lines; i++)
		proc_forget_lines(set->procs[i]);
	for (;;) {
		mono_t until = set->stopping ? MONO_NEVER : MIN_OF(own_end(set), proc_attempt_end());
		bool done = proc_set_done(set), late = mono_now() >= until;

		if (lines && (done || !late) && (pushed = push_line(L, set)) > 0)
			return pushed;
		if (done)
			return push_done(L, set);
		if (late && turned)
			return push_late(L, set);
		turned = proc_turn(set, until, !set->cancelled) == PROC_TURNED;
		if (!turned && !last)
			return proc_cancelled(L, set);
		if (!turned)
			proc_set_cancel(set);
	}
}

/* Its lines come before its end. */
static bool is_over(struct proc *p, bool lines)
{
	if (p->announced || !proc_done(p))
		return false;
	for (int i = 0; i < 2 && lines; i++)
		if (p->out[i].queue.len > p->out[i].queue_at)
			return false;
	return true;
}

static int push_ended(lua_State *L, struct proc_set *set, bool lines)
{
	for (size_t i = 0; i < set->n; i++) {
		if (!is_over(set->procs[i], lines))
			continue;
		proc_reap(set->procs[i]);
		set->procs[i]->announced = true;
		lua_pushliteral(L, "done");
		lua_pushinteger(L, (lua_Integer)i + 1);
		return 2;
	}
	return 0;
}

/* More than ten years means no limit, so that the sum fits into mono_t. */
static mono_t after_ms(lua_State *L, int index)
{
	lua_Number ms = luaL_optnumber(L, index, -1);

	return lua_isnoneornil(L, index) || ms > DURATION_MAX_MS ? MONO_NEVER
	                                                         : mono_now() + (mono_t)(MAX_OF(ms, 0) * 1e6);
}

static int push_ready(lua_State *L, struct proc_set *set)
{
	for (size_t i = 0; i < set->other_count; i++) {
		if (!set->others[i].revents)
			continue;
		set->others[i].revents = 0;
		lua_pushliteral(L, "ready");
		lua_pushinteger(L, (lua_Integer)i + 1);
		return 2;
	}
	return 0;
}

static int push_news(lua_State *L, struct proc_set *set, bool lines)
{
	int pushed = push_ready(L, set);

	if (pushed == 0)
		pushed = push_ended(L, set, lines);
	return pushed > 0 || !lines ? pushed : push_line(L, set);
}

/*
 * set:next(lines, ms): serves all handles until there is news of one:
 *   "ready", index                             of the set's own descriptors
 *   "line", text, "stdout" | "stderr", index   (only with `lines`)
 *   "done", index                              that one is gone and reaped; reported once
 *   nil, "limit" | "attempt"                   ms (nil: no limit) or the attempt is over
 * ms may have a fraction, and keeps counting while the run is stopped by Ctrl+Z. What
 * has already happened is reported before "limit".
 */
static int set_next(lua_State *L)
{
	struct proc_set *set = check_set(L);
	bool lines = lua_toboolean(L, 2), turned = false;
	mono_t limit = after_ms(L, 3);
	int pushed;

	for (;;) {
		mono_t end = set->stopping ? MONO_NEVER : proc_attempt_end();

		if ((pushed = push_news(L, set, lines)) > 0)
			return pushed;
		if (turned && mono_now() >= MIN_OF(limit, end)) {
			lua_pushnil(L);
			lua_pushstring(L, limit <= end ? "limit" : "attempt");
			return 2;
		}
		if (proc_turn(set, MIN_OF(limit, end), true) == PROC_CANCELLED)
			return proc_cancelled(L, set);
		turned = true;
	}
}

const luaL_Reg proc_set_methods[] = {
	{ "limit", set_limit },
	{ "next", set_next },
	{ "stop", set_stop },
	{ "wait", set_wait },
	{ NULL, NULL },
};
