/*
 * worker.h: the worker process, which runs the script: a fresh process with a fresh
 * Lua state for every attempt.
 */
#ifndef RUNNER_WORKER_H
#define RUNNER_WORKER_H

#include "../engine/launch.h"
#include "modules.h"

/* Runs one attempt with these bindings (modules.h); returns the exit status of
 * the process (see worker_fn in engine/launch.h). */
int worker_main(const struct launch *launch, const struct binding *bindings);

/* Prepare the state that worker_main() goes on from, in this process and in all that it forks: as far
 * as every attempt does the same (docs/design.md#warm-start). Starts no process, opens
 * nothing, runs no Lua. 0 or -1; call once. */
int worker_warm(const struct binding *bindings);

#endif
