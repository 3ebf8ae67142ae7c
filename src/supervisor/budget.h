/*
 * budget.h: an answer of at most so many bytes (--max-bytes; docs/reference/envelope.md#a-bounded-answer). What is over it is
 * kept in a file of the caller's, and the answer says where and how to go on.
 */
#ifndef RUNNER_BUDGET_H
#define RUNNER_BUDGET_H

#include "run.h"

/* Before the verdict is written down: a result that can't be cut, or whose form forbids it, becomes OUTPUT_TOO_LARGE. */
void budget_judge(struct run *run);
/* The envelope, within the budget where there is one. */
void budget_write(struct run *run, int exit_code, struct buf *out);
/* The same of a result as text, which loses lines at its end. */
void budget_write_text(struct run *run, struct buf *text, struct buf *out);

#endif
