/*
 * verdict.h: what a run comes to: the report of the attempt that stands, what
 * its code means for this command, and what follows for the exit status.
 */
#ifndef RUNNER_VERDICT_H
#define RUNNER_VERDICT_H

#include "../engine/hint.h"
#include "report.h"

struct verdict {
	struct report report;            /* of the newest attempt, unless that was rejected */
	struct hints hints;              /* for a failure (decide.h) */
	bool exhausted; /* no retries left: final (docs/design.md#exhausted-retries) */
	enum side_effects worst_effects; /* of all attempts */
};

/* The side effects of a run are the worst of its attempts. */
void verdict_note_effects(struct verdict *v, const struct hints *h);
/* The number that the registry, or a signal, gives this end; 0: success. */
int verdict_exit_code(const struct verdict *v);

#endif
