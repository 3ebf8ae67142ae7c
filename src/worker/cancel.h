/*
 * cancel.h: how TERM (a limit, Ctrl+C, a caller's signal) reaches a running
 * script. The handler sets a flag, writes a wake-up pipe, forwards the signal
 * to our children and arms a Lua hook on the running coroutine. Until then no
 * hook is set: it would halve the speed of every script.
 *
 * Rule for bindings: block in cancel_poll() and nowhere else; when it returns
 * CANCEL_POLL_CANCELLED, release everything and call cancel_raise().
 */
#ifndef RUNNER_CANCEL_H
#define RUNNER_CANCEL_H

#include <lua.h>
#include <poll.h>

#include "../common/mono.h"

/* Have this Lua state tell which coroutine runs. */
void cancel_track(lua_State *L);
/* Install the handlers, for a tracked state. 0 or -1. */
int cancel_init(lua_State *L);
/* The coroutine that runs, the one that has resumed it, and so on: how many of them are in `out`. [signal] */
int cancel_coroutines(lua_State **out, int most);
/* Has the attempt been cancelled, and boot not caught that yet? */
bool cancel_pending(void);
/* Was TERM ever received? Stays true in cleanup, where a child's death is not a failure. */
bool cancel_seen(void);
/* boot caught the cancellation: stop raising, so that cleanup can run. */
void cancel_caught(void);

/* The attempt's deadline (total or attempt timeout, whichever comes first), as far
 * as the worker knows it; MONO_NEVER before the plan or without a limit. It moves
 * while the run is stopped by Ctrl+Z. */
mono_t cancel_deadline(void);
/* How long the run has been stopped so far, in ns. */
mono_t cancel_paused(void);
/* The current value of a deadline made when cancel_paused() was `paused_then`. */
mono_t cancel_shift(mono_t at, mono_t paused_then);
void cancel_set_deadline(mono_t deadline);

/* What ended the attempt: the number of a signal, perhaps with CHILD_FROM_TERMINAL; 0: a limit, or
 * a command that cancels jobs. */
int cancel_cause(void);
/* The attempt's grace. */
void cancel_set_grace(int64_t ms);
/* `run` is over, and cleaning up begins: from here on the grace counts; and again from TERM on. Async-signal-safe. */
void cancel_begin_end(bool by_term);
/* When a child that was started at `started` is killed, since others have to clean up after it. MONO_NEVER: the
 * attempt goes on, or the child belongs to the clean-up, which the supervisor's KILL ends. */
mono_t cancel_child_end(mono_t started);
/* Before cancel_raise(), Lua may run once more: to take the lines of children that end. */
void cancel_postpone(void);

/* How long after the deadline our waits still expect the supervisor's TERM, in ms. */
#define CANCEL_TERM_DUE_MS 500

#define CANCEL_POLL_CANCELLED (-2)
/* poll(2) until an fd is ready, `deadline` passes, or the attempt is cancelled.
 * > 0: ready; 0: deadline; -1: errno; CANCEL_POLL_CANCELLED. After
 * cancel_caught() it waits normally. n ≤ CANCEL_POLL_MAX; fds may be NULL with n = 0. */
#define CANCEL_POLL_MAX 1024
int cancel_poll(struct pollfd *fds, int n, mono_t deadline);

/* Raise the cancellation. A script that catches it gets it again, until boot has it. */
int cancel_raise(lua_State *L);

#endif
