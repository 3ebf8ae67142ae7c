/*
 * steps.h: how far a command got, by the steps it declared or named.
 */
#ifndef RUNNER_STEPS_H
#define RUNNER_STEPS_H

#include "../common/frame.h"
#include "../common/json.h"

#define STEPS_MAX 256
#define STEP_NAME 65

enum step_state { STEP_PENDING, STEP_RUNNING, STEP_COMPLETED, STEP_SKIPPED };

struct step {
	char name[STEP_NAME];
	enum step_state state;
};

/* All zero is an empty list. Most commands name no step: rows come with the first. */
struct steps {
	int count;
	struct step *row; /* STEPS_MAX, or NULL */
};

void steps_release(struct steps *s);
/* The declared ones, in order (the PLAN frame's list). */
void steps_declare(struct steps *s, const struct frame *plan);
/* A STEP frame: the running one is completed, this one runs (or is skipped). */
void steps_take(struct steps *s, const struct frame *f);
/* run returned: what was running is completed. */
void steps_finish(struct steps *s);
/* Their names as a JSON array. */
void steps_names(const struct steps *s, enum step_state state, struct json_writer *w);
/* completed_steps, failed_step, pending_steps (led by the failed one) and
 * skipped_steps, as members of the object that is open. */
void steps_members(const struct steps *s, struct json_writer *w);

#endif
