/*
 * attempt.h: one attempt: forks a worker, watches it until a verdict latches, ends
 * its tree and proves that it is gone.
 */
#ifndef RUNNER_ATTEMPT_H
#define RUNNER_ATTEMPT_H

#include "run.h"

/* Run one attempt and report it in *r (initialised here). Returns when none of its
 * processes is left, or those left can't be killed (r->survivors). The plan,
 * warnings and taps of `run` are filled on the way. */
void attempt_run(struct run *run, struct report *r);

#endif
