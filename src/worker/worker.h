/*
 * worker.h: the worker process, which runs the script: a fresh process for every attempt, with a
 * Lua state in which nothing has run but, at most, the top level of our own modules.
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
 * nothing, runs no Lua but the top level of our modules. 0 or -1; call one of them, once: for the calls that a zygote serves, or for the
 * attempts behind a failed one. */
int worker_warm_for_calls(const struct binding *bindings);
int worker_warm_for_retries(const struct binding *bindings);

#endif
