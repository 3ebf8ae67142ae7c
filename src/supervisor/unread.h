/*
 * unread.h: data that the caller hands over on stdin and that nothing of the run reads.
 */
#ifndef RUNNER_UNREAD_H
#define RUNNER_UNREAD_H

#include "run.h"

/* Warn (STDIN_IGNORED) about what is left on stdin, where the run had no use for it and it was meant for us alone.
 * Never waits, and reads nothing. */
void unread_warn(struct run *run);

#endif
