/*
 * envelope.h: the one JSON document of a run, on one line, with five keys in a
 * fixed order: ok data error warnings meta (docs/design.md#one-envelope).
 */
#ifndef RUNNER_ENVELOPE_H
#define RUNNER_ENVELOPE_H

#include "run.h"

/* Append the envelope of run->verdict and a newline; the verdict's data is moved there. out->failed is set if
 * memory ran out, now or while a part of it was made. */
void envelope_write(struct run *run, int exit_code, struct buf *out);
/* The line that ends a stream of rows well, instead: _summary, _count, what run returned as
 * `data` (moved, too), warnings, meta. */
void envelope_write_summary(struct run *run, int exit_code, struct buf *out);
/* The envelope to print when there is no memory for one. Static. */
const char *envelope_last_resort(void);
/* The steps of a timeout or cancellation as text, for a terminal's stdout; without steps
 * a line with the code, unless the terminal already shows that the run was cancelled. */
void envelope_step_text(const struct run *run, struct buf *out);

#endif
