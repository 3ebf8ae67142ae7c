/*
 * proc_result.c: a child's result for scripts: why it could not start, or how it
 * ended and what it wrote. Runs in the worker; changes no process.
 */
#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/errno_name.h"
#include "../engine/outcome.h"
#include "proc.h"

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

int proc_push_failure(lua_State *L, const struct proc_failure *f)
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

int proc_push_result(lua_State *L, struct proc *p)
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
