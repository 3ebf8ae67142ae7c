/*
 * caller.h: who calls: a person at a terminal, a CI system, an agent. Read once, at the
 * entry, from the descriptors and the environment; both processes take it from the launch
 * record. Nothing else reads these variables.
 */
#ifndef RUNNER_CALLER_H
#define RUNNER_CALLER_H

#include "../engine/launch.h"

/* Fill in what follows from `stdin_is_tty` and its two sisters, which must be set. */
void caller_read(struct launch *launch);

#endif
