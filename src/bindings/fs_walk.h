/*
 * fs_walk.h: one walk through a directory tree, by descriptors and never
 * through a symbolic link, so that nobody can lead it elsewhere.
 */
#ifndef RUNNER_FS_WALK_H
#define RUNNER_FS_WALK_H

#include <sys/stat.h>

#include "../common/buf.h"

#define WALK_MAX_DEPTH 256

struct walk;

/* What to do on the way; NULL does nothing. Each returns 0, or -1 with errno,
 * which ends the walk. `dir` is the directory that holds `name`. */
struct walk_steps {
	/* anything but a directory */
	int (*leaf)(struct walk *w, int dir, const char *name, const struct stat *st);
	/* before and after the entries of the directory open at `fd` */
	int (*enter)(struct walk *w, int fd, const char *name, const struct stat *st);
	int (*leave)(struct walk *w, int dir, const char *name, int fd, const struct stat *st);
};

struct walk {
	const struct walk_steps *steps;
	struct buf *path; /* of the entry at hand: where the trouble is after a failure */
	int depth;
	void *data;
};

/* Walk the tree at `path`, which is not followed if it is a link. 0, or -1 with errno
 * (ECANCELED when the attempt was cancelled, ENAMETOOLONG below WALK_MAX_DEPTH). */
int walk_tree(struct walk *w, const char *path);

#endif
