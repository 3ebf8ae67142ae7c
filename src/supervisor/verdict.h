/*
 * verdict.h: the verdict on a run: the report of the attempt that counts, what
 * its code means for this command, and the exit status that follows.
 */
#ifndef RUNNER_VERDICT_H
#define RUNNER_VERDICT_H

#include "../engine/hint.h"
#include "report.h"

struct verdict {
	struct report report;            /* of the newest attempt that was not rejected */
	struct hints hints;              /* set for a failure (decide.h) */
	bool exhausted; /* no retries are left (docs/design.md#exhausted-retries) */
	enum side_effects worst_effects; /* of all attempts */
};

/* The side effects of a run are the worst of its attempts. */
void verdict_note_effects(struct verdict *v, const struct hints *h);
/* The exit code from the registry or a signal; 0 for success. */
int verdict_exit_code(const struct verdict *v);

#endif
