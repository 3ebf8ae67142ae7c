/*
 * picture.h: what a terminal shows of a command while it runs, as lines of block.h: a line for
 * each of its steps, below the running one those of ctx:parallel, and its progress. The list of
 * steps stays behind when the attempt is over.
 */
#ifndef RUNNER_SUPERVISOR_PICTURE_H
#define RUNNER_SUPERVISOR_PICTURE_H

#include "../common/frame.h"
#include "steps.h"

struct run;
struct report;

/* The parts of it; all zero: there are none. */
struct picture {
	const struct steps *steps; /* of the attempt that runs; NULL: none has begun */
	struct buf said;           /* its progress */
	struct buf lanes;          /* lines of ctx:parallel, each ended by NUL … */
	mono_t lanes_at;           /* … and since when */
};

/* A STEP frame: the step before has no progress any more. */
void picture_step(struct run *run, const struct steps *s);
/* The text of a PROGRESS frame; a spinner in it turns by itself. */
void picture_progress(struct run *run, struct field text);
/* PROGRESS.steps with the state "lanes": what runs side by side; an empty list: nothing. */
void picture_lanes(struct run *run, const struct frame *f);
/* Compose the lines, as block_text_take() leaves them. */
void picture_compose(const struct run *run, struct buf *given);
/* The attempt is over as `r` says: the list of steps stays, as it is then. */
void picture_leave(struct run *run, const struct report *r);
void picture_release(struct run *run);

#endif
