/*
 * quota.h: an attempt with declared limits (engine/limits.h), seen from its
 * supervisor: the processor time of the whole tree, the group of processes, and
 * what the kernel did about a limit. Without declared limits nothing here makes
 * a system call.
 */
#ifndef RUNNER_QUOTA_H
#define RUNNER_QUOTA_H

#include "../engine/group.h"
#include "run.h"

struct quota {
	bool entered;
	struct group group;    /* what the worker made; may be none */
	int hold;              /* its counters are still to be read */
	int64_t before_ms;     /* processor time of attempts before */
	mono_t look_at;        /* no earlier can the processor time be used up */
};

#define QUOTA_INIT { .hold = -1, .look_at = MONO_NEVER }

/* `run` begins: from now on the limits hold. May be called again. */
void quota_enter(struct quota *q, const struct run *run);
/* Has the tree used up its processor time? Looks only when look_at has come. */
bool quota_is_spent(struct quota *q, const struct run *run);
/* KILL to all of the group, unless somebody in it is spared. */
void quota_kill(const struct quota *q, const struct run *run);
/* The tree is gone and *r is worded: say what the kernel did (CPU_LIMIT,
 * MEMORY_LIMIT, or warnings), and remove the group. */
void quota_end(struct quota *q, struct run *run, struct report *r);

#endif
