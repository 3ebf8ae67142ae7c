/*
 * worker_launch.h: what this worker has from its fork: the launch record and
 * the sessions that it must not end. The bottom of the worker: includes nothing
 * of it, and may be used by all of it and by the bindings.
 */
#ifndef RUNNER_WORKER_LAUNCH_H
#define RUNNER_WORKER_LAUNCH_H

#include "../engine/launch.h"

/* The record that the supervisor gave this worker; never NULL. Outside an attempt
 * (a test's Lua has loaded us) it says attempt 1, without descriptors. */
const struct launch *worker_launch(void);
/* Once, before anything else; `launch` must live as long as the process. */
void worker_launch_set(const struct launch *launch);

/* Sessions that outlive the run (ctx:spawn{detach = true}). */
struct spared *worker_spared(void);
/* From here on what is forked sees those that are added later. 0 or -1. */
int worker_share_spared(void);

#endif
