/*
 * resource_usage.h: an attempt with declared limits (engine/limits.h), seen from its
 * supervisor: the processor time of the whole tree, the group of processes, and
 * what the kernel did about a limit. Without declared limits nothing here makes
 * a system call.
 */
#ifndef RUNNER_RESOURCE_USAGE_H
#define RUNNER_RESOURCE_USAGE_H

#include "../engine/group.h"
#include "run.h"

struct resource_usage {
	bool entered;
	struct group group;    /* what the worker made; may be none */
	int hold;              /* its counters are still to be read */
	int64_t before_ms;     /* processor time of attempts before */
	mono_t look_at;        /* no earlier can the processor time be used up */
};

#define RESOURCE_USAGE_INIT { .hold = -1, .look_at = MONO_NEVER }

/* `run` begins: from now on the limits hold. May be called again. */
void resource_usage_enter(struct resource_usage *u, const struct run *run);
/* Has the tree used up its processor time? Looks only when look_at has come. */
bool resource_usage_is_spent(struct resource_usage *u, const struct run *run);
/* KILL to all of the group, unless somebody in it is spared. */
void resource_usage_kill(const struct resource_usage *u, const struct run *run);
/* The tree is gone and *r is described: say what the kernel did (CPU_LIMIT,
 * MEMORY_LIMIT, or warnings), and remove the group. */
void resource_usage_end(struct resource_usage *u, struct run *run, struct report *r);

#endif
