/*
 * deadline.c: the time limits of an attempt as instants. Runs in the supervisor;
 * reads no clock. Time that the run spent stopped by Ctrl+Z does not count.
 */
#include "deadline.h"

mono_t deadline_next(const struct run *run, const struct report *r, const struct frames *f,
                     enum limit *which, int64_t *ms)
{
	const struct plan *p = &run->plan;
	mono_t paused = run->paused, own = paused - r->paused_before;
	const struct {
		enum limit limit;
		int64_t ms;
		mono_t from;
	} rows[] = {
		{ LIMIT_TIMEOUT, p->known ? p->timeout_ms : 0, run->launch.started + paused },
		{ LIMIT_ATTEMPT, p->known ? p->attempt_timeout_ms : 0, r->started + own },
		{ LIMIT_IDLE, frames_may_idle(f, r) ? p->idle_timeout_ms : 0, f->last_sign },
		{ LIMIT_STALL, frames_may_idle(f, r) ? f->stall_ms : 0,
		  f->changed + (paused - f->changed_paused) },
		{ LIMIT_LOAD, f->planned ? 0 : f->load_ms, r->started + own },
	};
	mono_t first = MONO_NEVER;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		mono_t at = mono_deadline(rows[i].from, rows[i].ms);

		if (at < first) {
			first = at;
			*which = rows[i].limit;
			*ms = rows[i].ms;
		}
	}
	return first;
}
