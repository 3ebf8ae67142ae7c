/*
 * limit_advice.h: what set the time limit that ended an attempt, and how to get a longer one. Runs in the
 * supervisor.
 */
#ifndef RUNNER_LIMIT_ADVICE_H
#define RUNNER_LIMIT_ADVICE_H

#include "plan.h"
#include "report.h"

/* Set that as the suggestion of a report that report_describe() has described, or as fix_required where the
 * suggestion is the command's own. Nothing for any other verdict. */
void limit_advise(struct report *r, const struct plan *p);

#endif
