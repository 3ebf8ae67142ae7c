/*
 * group.h: a control group (cgroup v2) for one attempt: limits on a whole process
 * tree, what the tree used, and the most reliable kill. Works only where our own
 * cgroup was delegated to us; elsewhere group_site() fails and limits.h must do.
 * Source: the kernel's cgroup-v2.rst.
 */
#ifndef RUNNER_GROUP_H
#define RUNNER_GROUP_H

#include "limits.h"

#define GROUP_PATH 512
#define GROUP_PREFIX "runner-"

struct group {
	char path[GROUP_PATH]; /* "": no group */
};

/*
 * The directory in which we may create groups: our own cgroup, if it was delegated
 * to us (we own it, systemd marked it, or it is an outer run's; the root cgroup
 * is for root only), else its parent if that is marked (systemd's
 * DelegateSubgroup=). `root` is where cgroup v2 is mounted, `self` the text of
 * /proc/self/cgroup. 0 with the path in `out`, or -1.
 */
int group_site(char out[GROUP_PATH], const char *root, const char *self);
/* The same for this process on this system. */
int group_site_here(char out[GROUP_PATH]);

/*
 * Create the group `name` in the directory `site`, set the limits that it
 * supports (noted in *m as CGROUP), and move the calling process in. Empty groups
 * left by crashed runs, which no process holds, are removed. 0, or -1 with nothing
 * changed.
 */
int group_make(struct group *g, const char *site, const char *name, const struct limits *l,
               struct mechanisms *m);
/* Find a group that another process created with group_make(). 0, or -1: none. */
int group_find(struct group *g, const char *site, const char *name);
/* A descriptor that, while open, keeps others from removing the group for being
 * empty. The caller closes it; -1 on failure. */
int group_hold(const struct group *g);

/* The number after `key` in one of the group's files, -1 if there is none. */
int64_t group_number(const struct group *g, const char *file, const char *key);
/* CPU time in µs that its processes, including dead ones, have used; or -1. */
int64_t group_cpu_us(const struct group *g);
/* Send KILL to every process in it. 0 or -1. */
int group_kill(const struct group *g);
/* Remove it and the empty groups in it. -1 while it has processes. */
int group_remove(struct group *g);

#endif
