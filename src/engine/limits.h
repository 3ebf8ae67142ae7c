/*
 * limits.h: a command's declared resource limits, and the enforcement that every
 * Unix has: setrlimit(2). group.h has the enforcement for a whole process tree.
 */
#ifndef RUNNER_LIMITS_H
#define RUNNER_LIMITS_H

#include "../common/base.h"

enum resource {
	RESOURCE_MEMORY,     /* bytes */
	RESOURCE_CPU,        /* ms of CPU time, counted from `run` */
	RESOURCE_PROCESSES,  /* besides the worker */
	RESOURCE_OPEN_FILES, /* descriptors of one process */
	RESOURCE_COUNT
};

#define LIMITS_MAX ((int64_t)1 << 50) /* of any limit; a larger one limits nothing that exists */

struct limits {
	int64_t of[RESOURCE_COUNT]; /* 0: no limit */
};

/* How a limit is enforced. NONE: not declared, or not supported here. */
enum mechanism { MECHANISM_NONE, MECHANISM_RLIMIT, MECHANISM_CGROUP };

struct mechanisms {
	enum mechanism by[RESOURCE_COUNT];
};

/* The kernel's memory limit is this much above the declared one: room for memory
 * other than Lua's, so that a script gets Lua's own error first. */
#define LIMITS_MEMORY_ROOM ((int64_t)16 << 20)
/* SIGXCPU at the limit, SIGKILL this much later. */
#define LIMITS_CPU_HARD_MS 1000

bool limits_declared(const struct limits *l);
/* "memory", "cpu", "processes", "open_files": as in a declaration. */
const char *resource_name(enum resource r);
const char *mechanism_name(enum mechanism m); /* "none", "rlimit", "cgroup" */

/*
 * Set resource limits for this process and everything that it starts, for those
 * that *m does not list as CGROUP, and note in *m RLIMIT, or NONE where the
 * system refuses. Never raises a limit. Each limit applies to every process
 * separately, except RESOURCE_PROCESSES, which counts all processes of this user
 * and does not bind root (setrlimit(2)). CPU time is rounded up to whole seconds;
 * where a cgroup limits it, the resource limit is a second line 1 s above.
 */
void limits_apply(const struct limits *l, struct mechanisms *m);

#endif
