/*
 * envelope.h: the one JSON document of a run: five keys, always in this order, on
 * one line: ok data error warnings meta (docs/design.md#one-envelope).
 */
#ifndef RUNNER_ENVELOPE_H
#define RUNNER_ENVELOPE_H

#include "run.h"

/* Append the envelope of run->verdict and a newline. Out of memory, now or when
 * a part of it was made: out->failed. */
void envelope_write(struct run *run, int exit_code, struct buf *out);
/* What is printed when not even that much memory can be had. Static. */
const char *envelope_last_resort(void);
/* A timeout's or cancellation's steps as text, for a terminal's stdout; without steps a
 * line with the code, unless stderr is a terminal too and has the error. */
void envelope_step_text(const struct run *run, struct buf *out);

#endif
