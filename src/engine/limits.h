/*
 * limits.h: what a command may use of the machine, as it declared, and the half
 * of the enforcement that every Unix has: setrlimit(2). The half that counts a
 * whole tree of processes is group.h.
 */
#ifndef RUNNER_LIMITS_H
#define RUNNER_LIMITS_H

#include "../common/base.h"

enum resource {
	RESOURCE_MEMORY,     /* bytes */
	RESOURCE_CPU,        /* ms of processor time, counted from `run` */
	RESOURCE_PROCESSES,  /* besides the worker */
	RESOURCE_OPEN_FILES, /* descriptors of one process */
	RESOURCE_COUNT
};

#define LIMITS_MAX ((int64_t)1 << 50) /* of any of them; more is no limit on this earth */

struct limits {
	int64_t of[RESOURCE_COUNT]; /* 0: none */
};

/* How a limit is enforced. NONE: not declared, or the system has no way. */
enum mechanism { MECHANISM_NONE, MECHANISM_RLIMIT, MECHANISM_CGROUP };

struct mechanisms {
	enum mechanism by[RESOURCE_COUNT];
};

/* The kernel's memory limit is this much above the declared one: room for what
 * is not Lua's, so that a script meets Lua's own error first. */
#define LIMITS_MEMORY_ROOM ((int64_t)16 << 20)
/* SIGXCPU at the limit, SIGKILL this much later. */
#define LIMITS_CPU_HARD_MS 1000

bool limits_declared(const struct limits *l);
/* "memory", "cpu", "processes", "open_files": as in a declaration. */
const char *resource_name(enum resource r);
const char *mechanism_name(enum mechanism m); /* "none", "rlimit", "cgroup" */

/*
 * Set this process's resource limits, inherited by all that it starts, for what
 * `m` does not have as CGROUP yet; there it notes RLIMIT, or NONE where the
 * system refuses. A limit is never raised. Limits hold for each process by
 * itself, but processes: that one counts everything of this user, and nothing
 * binds root (setrlimit(2)). CPU time is rounded up to whole seconds; where a
 * cgroup has it, the resource limit stays as a second net 1 s above.
 */
void limits_apply(const struct limits *l, struct mechanisms *m);

#endif
