/*
 * steps.h: how far a command got, in the steps that it declared or started.
 */
#ifndef RUNNER_STEPS_H
#define RUNNER_STEPS_H

#include "../common/frame.h"
#include "../common/json.h"
#include "../common/mono.h"

#define STEPS_MAX 256
#define STEP_NAME 65

enum step_state { STEP_PENDING, STEP_RUNNING, STEP_COMPLETED, STEP_SKIPPED };

struct step {
	char name[STEP_NAME];
	enum step_state state;
	mono_t since;    /* began, without what was spent stopped */
	int64_t took_ms; /* until it was completed */
};

/* All zero is an empty list. Most commands have no steps, so the first one allocates. */
struct steps {
	int count;
	int declared;     /* of them: the first ones */
	bool resumable;   /* the command may begin with a later one (--resume-from) */
	mono_t paused;    /* what was spent stopped so far, ns: set by what takes frames */
	struct step *row; /* STEPS_MAX, or NULL */
};

void steps_release(struct steps *s);
/* Add the declared steps, in order (the PLAN frame's list), and note whether they can be resumed. */
void steps_declare(struct steps *s, const struct frame *plan);
/* A STEP frame: the running step is completed, this one runs (or is skipped). */
void steps_take(struct steps *s, const struct frame *f);
/* run returned: the running step is completed. */
void steps_finish(struct steps *s);
/* The name of the step that runs, NULL: none. */
const char *steps_running(const struct steps *s);
/* The names of the steps in that state as a JSON array. */
void steps_names(const struct steps *s, enum step_state state, struct json_writer *w);
/* completed_steps, failed_step, pending_steps (led by the failed one) and
 * skipped_steps, as members of the object that is open. */
void steps_members(const struct steps *s, struct json_writer *w);
/* The same of a run that has failed: in addition resume_from, where the command can begin with a later step and has
 * got there (REQ-C-008). */
void steps_of_failure(const struct steps *s, struct json_writer *w);

#endif
