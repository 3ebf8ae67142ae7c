/*
 * pause.h: Ctrl+Z. Stops the tree, then us, and continues both on fg. Time spent
 * stopped does not count towards limits.
 */
#ifndef RUNNER_PAUSE_H
#define RUNNER_PAUSE_H

#include "run.h"

/* Returns once we are continued; run->paused and *last_sign have moved on. */
void pause_run(struct run *run, mono_t *last_sign);
/* Save the terminal's settings, if we are in its foreground; restore them if they
 * have changed. */
void pause_save_terminal(void);
void pause_restore_terminal(void);
/* May we write what only a person looks at? From the background it would land in the midst of
 * what the shell shows. True where no terminal controls us. */
bool pause_in_foreground(void);
/* {"pids":[…]} of the living that descend from us, without the spared, for SURVIVORS. */
void pause_describe_children(const struct spared *spare, struct buf *out);

#endif
