/*
 * remover.h: the one way in which a tree is removed. It never follows a symbolic
 * link and never enters a mount, so that nothing outside the tree is touched,
 * whoever changes it meanwhile. Directories that their owner may not write are made
 * writable. What can't be removed stays, and is counted and named; the rest goes.
 */
#ifndef RUNNER_REMOVER_H
#define RUNNER_REMOVER_H

#include "buf.h"
#include "mono.h"

struct removal {
	/* the caller's */
	mono_t deadline;      /* when to stop; MONO_NEVER */
	bool (*stop)(void);   /* asked before each entry: true stops with ECANCELED; may be NULL */

	/* the answer; the caller releases `left` */
	int64_t left_count;   /* entries that stay on their own account, not for what is in them */
	struct buf left;      /* path of the first of them */
	int reason;           /* why it stays: errno; EBUSY: something is mounted there */
};

#define REMOVAL_INIT { .deadline = MONO_NEVER }

/*
 * Remove what is at `path`: fine if nothing is. 0, or -1 with errno = reason when
 * something stays: ETIMEDOUT at the deadline, ECANCELED, EINVAL for "/" (by whatever
 * name) and for what ends in "." or "..", else what the system said. The depth of
 * the tree has no limit, and a handful of free descriptors is enough.
 */
int remover_remove(struct removal *r, const char *path);

/* The reason in words. */
const char *remover_reason(const struct removal *r);

#endif
