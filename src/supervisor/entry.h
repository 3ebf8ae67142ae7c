/*
 * entry.h: brings whatever the caller left into a known state: descriptors,
 * signals, inherited children, pid 1 (docs/design.md#entry).
 */
#ifndef RUNNER_ENTRY_H
#define RUNNER_ENTRY_H

#include "run.h"

/* Fill in the facts of *run. If we already have children or are pid 1, this process
 * waits in front and the run continues in a child of it. 0, or -1 with errno when
 * not even that works. */
int entry_prepare(struct run *run, int argc, char **argv, worker_fn *worker);

#endif
