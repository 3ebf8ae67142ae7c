/*
 * remover.h: the only code that removes trees. It goes to a tree by way.h, never follows a symbolic
 * link in it and never enters a mount, so nothing outside the tree is touched, whichever process changes it
 * meanwhile. It makes read-only directories writable. Entries that can't be removed
 * stay, and are counted and named; all others are removed.
 */
#ifndef RUNNER_REMOVER_H
#define RUNNER_REMOVER_H

#include "buf.h"
#include "mono.h"
#include "way.h"

struct removal {
	/* the caller's */
	mono_t deadline;      /* when to stop; MONO_NEVER */
	bool (*stop)(void);   /* asked before each entry: true stops with ECANCELED; may be NULL */

	/* the answer; the caller releases `left` */
	int64_t left_count;   /* entries that can't be removed, not counting the directories above them */
	struct buf left;      /* path of the first of them */
	int reason;           /* why it stays: errno; EBUSY: something is mounted there */
	char refused[WAY_REFUSED]; /* which part of the way there others could change (EPERM); "": none */
};

#define REMOVAL_INIT { .deadline = MONO_NEVER }

/*
 * Remove whatever is at `path`; succeeds if nothing is. 0, or -1 with errno = reason
 * when something stays: ETIMEDOUT at the deadline, ECANCELED, EINVAL for "/" (by any
 * name) and for paths that end in "." or "..", otherwise the system's error. The
 * depth of the tree is unlimited, and a few free descriptors are enough.
 */
int remover_remove(struct removal *r, const char *path);
/* The same for an entry of a directory that way.h has opened. */
int remover_remove_in(struct removal *r, int dir, const char *name);

/* The reason as text. Static. */
const char *remover_reason(const struct removal *r);

#endif
