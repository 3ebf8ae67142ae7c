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
/* run->verdict.report has failed: set its hints (an undeclared code is reworded), then
 * say whether and after what wait the next attempt comes. POLICY_WAIT with
 * *wait_ms, or the reason why this is the end (run->verdict.exhausted is set). */
enum policy_verdict decide_next(struct run *run, int64_t *wait_ms);

#endif
