/*
 * worker_launch.h: what this worker inherits from its fork: the launch record and
 * the sessions that it must not end. The bottom of this room: it includes nothing
 * of the worker, and all of the worker and the bindings may use it.
 */
#ifndef RUNNER_WORKER_LAUNCH_H
#define RUNNER_WORKER_LAUNCH_H

#include "../engine/launch.h"

/* The record that the supervisor gave this worker; never NULL. Outside an attempt
 * (a test's Lua has loaded us) it says attempt 1, without descriptors. */
const struct launch *worker_launch(void);
/* Call once, before anything else; `launch` must live as long as the process. */
void worker_launch_set(const struct launch *launch);

/* Sessions that outlive the run (ctx:spawn{detach = true}). */
struct spared *worker_spared(void);

#endif
