/*
 * way.h: the way to a path that was written down beforehand, walked so that no other user
 * can lead it elsewhere: each folder is opened below the one before, and has to be the
 * caller's or root's, and sticky where others may write to it. In a folder that only those
 * two may change, their links and mounts are passed; in a sticky one, none is.
 */
#ifndef RUNNER_WAY_H
#define RUNNER_WAY_H

#include <limits.h>
#include <sys/stat.h>

#include "base.h"

#define WAY_REFUSED 640

struct way {
	int dir;                 /* the folder that holds the entry, for *at(2) calls; the caller closes it */
	char name[NAME_MAX + 1]; /* of the entry in it */
	char refused[WAY_REFUSED]; /* which part of the way others could change, and what to do; "": errno says it all */
};

#define WAY_INIT { .dir = -1 }

/*
 * Go to the folder that holds the entry at `path`, whose last part is not followed. What is below the
 * working directory is reached from there. make: mode of the folders that are missing on the way; 0: none
 * is made. 0, or -1 with errno: EPERM for what is refused, ENOENT for a missing folder. An entry of
 * another user in a folder that others may write to is refused as well; there may be no entry.
 */
int way_open(struct way *w, const char *path, mode_t make);

/* openat(2) of one name, which is no link and, unless `crossing`, no mount (EBUSY). */
int way_open_entry(int dir, const char *name, int flags, bool crossing);

#endif
