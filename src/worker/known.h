/*
 * known.h: the projects of which this user has run a command: an own file of mode 0600 for each in
 * $XDG_STATE_HOME/runner/projects, else ~/.local/state/runner/projects, whose content is the project's
 * path. Completion and lists load a project's files only where there is one (docs/design.md#known-projects).
 *
 * Runs in the worker. Nothing is trusted because of such a file: it says what the user has done.
 */
#ifndef RUNNER_KNOWN_H
#define RUNNER_KNOWN_H

#include "../common/base.h"

/* Has this user run a command of the project in `root` (an absolute path)? */
bool known_has(const char *root);
/* Remember that, of the one project of this process. What can't be written is not remembered; HOME itself is never created. */
void known_add(const char *root);

/* May this process write a file of n bytes, as far as its limits say (RLIMIT_FSIZE)? A write
 * beyond them is a deadly signal. */
bool known_fits(size_t n);

#endif
