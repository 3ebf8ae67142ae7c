/*
 * deadline.h: which time limit of an attempt comes first, and when
 * (docs/design.md#limits).
 */
#ifndef RUNNER_DEADLINE_H
#define RUNNER_DEADLINE_H

#include "frames.h"

/* The earliest limit of an attempt without a verdict, with its kind and its
 * declared ms. MONO_NEVER when there is none. */
mono_t deadline_next(const struct run *run, const struct report *r, const struct frames *f,
                     enum limit *which, int64_t *ms);

#endif
