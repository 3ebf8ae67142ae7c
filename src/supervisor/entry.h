/*
 * entry.h: from an unknown caller to known conditions: descriptors, signals,
 * children that were here before us, pid 1 (docs/design.md#entry).
 */
#ifndef RUNNER_ENTRY_H
#define RUNNER_ENTRY_H

#include "run.h"

/* Fill in the facts of *run. Where we already have children or are pid 1, a
 * process in front of us waits and the run goes on in its child. 0, or -1 with
 * errno when not even that works. */
int entry_prepare(struct run *run, int argc, char **argv, worker_fn *worker);

#endif
