/*
 * cancel.h: how TERM (a limit, Ctrl+C, a caller's signal) reaches a running
 * script. The handler sets a flag, writes a wake-up pipe, forwards the signal
 * to our children and arms a Lua hook on the running coroutine; there is no
 * hook in normal running (it would cost over half the speed).
 *
 * Rule for bindings: whatever may block, blocks in cancel_poll() and nowhere
 * else; when it says CANCEL_POLL_CANCELLED, release and cancel_raise().
 */
#ifndef RUNNER_CANCEL_H
#define RUNNER_CANCEL_H

#include <lua.h>
#include <poll.h>

#include "../common/mono.h"

/* Install handlers and hook machinery for this Lua state. 0 or -1. */
int cancel_init(lua_State *L);
/* Has the attempt been told to stop, and has boot not caught it yet? */
bool cancel_pending(void);
/* Was TERM ever received? Stays true in cleanup: then no child's death is a failure. */
bool cancel_seen(void);
/* boot caught the cancellation: stop raising, so that cleanup can run. */
void cancel_caught(void);

/* The attempt's own end (total or attempt deadline, whichever is first), as
 * far as the worker knows it; MONO_NEVER before the plan or without limit. It
 * moves when the run is stopped by Ctrl+Z. */
mono_t cancel_deadline(void);
/* ns that the run has been stopped so far. */
mono_t cancel_paused(void);
/* A deadline that was made when cancel_paused() was `paused_then`. */
mono_t cancel_shift(mono_t at, mono_t paused_then);
void cancel_set_deadline(mono_t deadline);

/* How long after the deadline a wait of ours still expects the supervisor's TERM. */
#define CANCEL_TERM_DUE_MS 500

#define CANCEL_POLL_CANCELLED (-2)
/* poll(2) until an fd is ready, `deadline` passes, or the attempt is cancelled.
 * > 0: ready; 0: deadline; -1: errno; CANCEL_POLL_CANCELLED. After
 * cancel_caught() it waits normally. n ≤ CANCEL_POLL_MAX; fds may be NULL with n = 0. */
#define CANCEL_POLL_MAX 1024
int cancel_poll(struct pollfd *fds, int n, mono_t deadline);

/* Raise the uncatchable-in-effect cancellation (re-raised until boot has it). */
int cancel_raise(lua_State *L);

#endif
