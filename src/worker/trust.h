/*
 * trust.h: which Lua files and C modules may run: the caller's and root's, from
 * folders that no other user can change. RUNNER_TRUST=DIR adds those of DIR's owner
 * below DIR.
 */
#ifndef RUNNER_TRUST_H
#define RUNNER_TRUST_H

#include "../common/base.h"

/* A folder of commands: from now on, what is below the folder that holds it (lib/ is there)
 * is as trustworthy as every folder from its own up to that one. Elsewhere a file's own
 * folder counts. */
void trust_add_commands(const char *folder);
/* Why one of the folders that hold the file at `path` can't be trusted, or NULL; `where`
 * (PATH_MAX bytes) gets that folder. Looks at each folder once in a process. */
const char *trust_refuse_folders(const char *path, char *where);

#endif
