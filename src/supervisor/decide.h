/*
 * decide.h: what a failure means and whether it is retried
 * (docs/design.md#what-is-retried). Applies the engine's rules (policy.h, hint.h)
 * to the run.
 */
#ifndef RUNNER_DECIDE_H
#define RUNNER_DECIDE_H

#include "run.h"

/* Exit code, retryable, wait and side effects of a failed report. */
struct hints decide_hints(struct run *run, const struct report *r);
/* run->verdict.report is a failure: set its hints (an undeclared code becomes
 * UNDECLARED_EXIT_CODE), then decide whether another attempt follows. POLICY_WAIT
 * with *wait_ms, or the reason why not (run->verdict.exhausted is set). */
enum policy_verdict decide_next(struct run *run, int64_t *wait_ms);

#endif
