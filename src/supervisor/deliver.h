/*
 * deliver.h: the end of a run: from its verdict to what the caller gets.
 */
#ifndef RUNNER_DELIVER_H
#define RUNNER_DELIVER_H

#include "run.h"

/* Tidy up, write the envelope or the text, flush stderr. Returns the exit
 * status: the registry's number, or what a failed write makes of it. */
int deliver_verdict(struct run *run);

#endif
