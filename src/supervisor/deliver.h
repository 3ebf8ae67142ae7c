/*
 * deliver.h: the end of a run: turns its verdict into the caller's answer.
 */
#ifndef RUNNER_DELIVER_H
#define RUNNER_DELIVER_H

#include "run.h"

/* Clean up, write the envelope or the text, flush stderr. Returns the exit
 * status: the registry's number, unless the write failed. */
int deliver_verdict(struct run *run);

#endif
