/*
 * owner.h: who may change a file or a folder: the caller and root alone, or others as
 * well. RUNNER_TRUST=DIR adds DIR's owner, for what is below DIR.
 */
#ifndef RUNNER_OWNER_H
#define RUNNER_OWNER_H

#include <sys/stat.h>

#include "base.h"

#define OWNER_WORLD_WRITABLE "it is world-writable"

/* Why what is at `path` and has that status can't be trusted, or NULL. Static. A sticky folder may be
 * world-writable. */
const char *owner_refuse(const struct stat *st, const char *path);
/* Does it belong to the caller or root, or to whom RUNNER_TRUST names? */
bool owner_is_trusted(const struct stat *st, const char *path);
/* Is `path` the folder `base`, or below it? By their text. */
bool owner_is_below(const char *path, const char *base);

#endif
