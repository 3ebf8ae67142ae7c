/*
 * group.h: a control group (cgroup v2) for one attempt: limits that hold for a
 * whole tree of processes together, what it used, and the surest kill. Only
 * where our own cgroup was handed to us; everywhere else group_site() fails and
 * limits.h is all there is. Source: the kernel's cgroup-v2.rst.
 */
#ifndef RUNNER_GROUP_H
#define RUNNER_GROUP_H

#include "limits.h"

#define GROUP_PATH 512
#define GROUP_PREFIX "runner-"

struct group {
	char path[GROUP_PATH]; /* "": there is none */
};

/*
 * The directory in which we may make groups: our own cgroup, if it was delegated
 * to us (it is ours, is marked by systemd, or is an outer run's; the root of
 * all is root's), else its parent if that is marked (systemd's DelegateSubgroup=).
 * `root` is where cgroup v2 is mounted, `self` the text of /proc/self/cgroup.
 * 0 with the path in `out`, or -1.
 */
int group_site(char out[GROUP_PATH], const char *root, const char *self);
/* The same for this process on this system. */
int group_site_here(char out[GROUP_PATH]);

/*
 * Make the group `name` in the directory `site`, set what it can hold of the
 * limits (noted in *m as CGROUP), and move the calling process in. Empty groups
 * that crashed runs left there, so that nobody holds them, are removed. 0, or -1
 * with nothing changed.
 */
int group_make(struct group *g, const char *site, const char *name, const struct limits *l,
               struct mechanisms *m);
/* The group that another process made so. 0, or -1: there is none. */
int group_find(struct group *g, const char *site, const char *name);
/* A descriptor: while it is open, nobody else removes the group for being empty.
 * The caller's to close; -1: none. */
int group_hold(const struct group *g);

/* The number after `key` in one of its files, -1 when it has none. */
int64_t group_number(const struct group *g, const char *file, const char *key);
/* µs of processor time that its processes, dead ones too, have used; or -1. */
int64_t group_cpu_us(const struct group *g);
/* KILL to all in it. 0 or -1. */
int group_kill(const struct group *g);
/* Remove it with the empty groups in it. -1 while somebody is in it. */
int group_remove(struct group *g);

#endif
