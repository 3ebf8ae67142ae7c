/*
 * resource_usage.h: an attempt with declared limits (engine/limits.h), as its
 * supervisor sees it: the CPU time of the whole tree, its cgroup, and how the
 * kernel enforced a limit. Without declared limits nothing here makes a system
 * call.
 */
#ifndef RUNNER_RESOURCE_USAGE_H
#define RUNNER_RESOURCE_USAGE_H

#include "../engine/group.h"
#include "run.h"

struct resource_usage {
	bool entered;
	struct group group;    /* created by the worker; may be none */
	int hold;              /* keeps the group until its counters are read */
	int64_t before_ms;     /* CPU time of earlier attempts, ms */
	mono_t check_at;        /* the CPU time can't be used up earlier */
};

#define RESOURCE_USAGE_INIT { .hold = -1, .check_at = MONO_NEVER }

/* `run` begins: the limits apply from now on. May be called again. */
void resource_usage_enter(struct resource_usage *u, const struct run *run);
/* Has the tree used up its CPU time? Reads nothing before check_at. */
bool resource_usage_is_spent(struct resource_usage *u, const struct run *run);
/* Send KILL to the whole group, unless a process in it is spared. */
void resource_usage_kill(const struct resource_usage *u, const struct run *run);
/* The tree is gone and *r is described: report what the kernel did (CPU_LIMIT,
 * MEMORY_LIMIT, or warnings), and remove the group. */
void resource_usage_end(struct resource_usage *u, struct run *run, struct report *r);

#endif
