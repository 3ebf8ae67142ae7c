/*
 * decide.h: what a failure means and whether it is retried
 * (docs/design.md#what-is-retried). The arithmetic is the engine's (policy.h,
 * hint.h); here it meets the run.
 */
#ifndef RUNNER_DECIDE_H
#define RUNNER_DECIDE_H

#include "run.h"

/* Exit number, retryable, waits and side effects of a failed report. */
struct hints decide_hints(struct run *run, const struct report *r);
/* The side effects of a run are the worst of its attempts. */
void decide_note_effects(struct run *run, const struct hints *h);
/* run->final has failed: set run->hints (an undeclared code is reworded), then
 * say whether and after what wait the next attempt comes. POLICY_WAIT with
 * *wait_ms, or the reason why this is the end (run->exhausted is set). */
enum policy_verdict decide_next(struct run *run, int64_t *wait_ms);

#endif
