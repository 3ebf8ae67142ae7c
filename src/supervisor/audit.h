/*
 * audit.h: the end of a run in the audit ledger of its project (src/engine/ledger.h), whatever
 * ended it. The worker writes the row before `run`.
 */
#ifndef RUNNER_AUDIT_H
#define RUNNER_AUDIT_H

#include "run.h"

/* An AUDIT frame names the ledger, and the project of the call. The first one counts. */
void audit_take(struct audit *audit, const struct frame *f);
/* Write the row, if a ledger was named. A failure is a warning. */
void audit_end(struct run *run, int exit_code);

#endif
