/*
 * attempt.h: one attempt: fork a worker, watch it until a verdict latches, end
 * its tree, prove that it is gone.
 */
#ifndef RUNNER_ATTEMPT_H
#define RUNNER_ATTEMPT_H

#include "run.h"

/* Run one attempt into *r (initialised here). Returns when no process of it is
 * left, or what is left can't be ended (r->survivors). The plan, warnings and
 * taps of `run` grow on the way. */
void attempt_run(struct run *run, struct report *r);

#endif
