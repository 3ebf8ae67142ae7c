/*
 * guard.h: the process that ends what a run has left when its supervisor was killed and no
 * worker is there to do it. Started when the worker asks for it, which it does before its first
 * child, or when processes outlive their worker; it ends with the run. Plain Lua neither
 * needs it nor pays for it.
 */
#ifndef RUNNER_SUPERVISOR_GUARD_H
#define RUNNER_SUPERVISOR_GUARD_H

#include "run.h"

/* Start it, unless it runs. Where the system has no marks, or can't fork, there is none. */
void guard_begin(struct run *run);
/* No process of the run is left. Where one is (SURVIVORS), the guard stays with it. */
void guard_end(struct run *run);
/* Wait for its end: once the answer is given, which needn't wait. */
void guard_reap(struct run *run);

#endif
