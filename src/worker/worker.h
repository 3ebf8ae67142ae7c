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

#endif
