/*
 * metas.h: members of the envelope's meta, or of its error, that modules of the library add.
 */
#ifndef RUNNER_METAS_H
#define RUNNER_METAS_H

#include "../common/buf.h"
#include "../common/frame.h"

#define METAS_MAX 32
#define META_NAME 32

struct metas {
	struct buf members; /* ,"name":value … ; out of memory: members.failed */
	char names[METAS_MAX][META_NAME];
	size_t at[METAS_MAX]; /* where in `members` each begins */
	int count;
};

/* Add "name": json. Ignored when json is not JSON, or when the name has bytes other
 * than a-z0-9_, exists already, is written by the envelope itself, is not wanted, or
 * exceeds the number of members allowed. */
void metas_add(struct metas *m, const char *name, struct field json);
/* The same for members of an error. */
void metas_add_to_error(struct metas *m, const char *name, struct field json);
bool metas_have(const struct metas *m, const char *name);
/* Is this member of meta wanted, the envelope's own included? */
bool metas_want(const struct metas *m, const char *name);
/* The members that are wanted, each with a comma in front. */
void metas_write(const struct metas *m, struct buf *out);
void metas_clear(struct metas *m);

#endif
