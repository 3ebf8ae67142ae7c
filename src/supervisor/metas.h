/*
 * metas.h: members of the envelope's meta that modules of the library add.
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
	int count;
};

/* Add "name": json. Nothing happens when json is not JSON, or the name is not
 * one of ours to give: of other bytes than a-z0-9_, here already, said by the
 * envelope itself, or one too many. */
void metas_add(struct metas *m, const char *name, struct field json);

#endif
