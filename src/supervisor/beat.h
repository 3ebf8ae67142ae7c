/*
 * beat.h: signs of life while a command runs: heartbeats on stdout (rows.h), and a plain line
 * on stderr with what it last reported (--heartbeat-interval, REQ-O-012).
 */
#ifndef RUNNER_BEAT_H
#define RUNNER_BEAT_H

#include "../common/buf.h"
#include "../common/frame.h"
#include "../common/mono.h"

struct run;

struct beat {
	int64_t every_ms; /* between two lines on stderr; 0: none */
	mono_t at;        /* the next one */
	struct buf said;  /* the last progress as text; empty: none yet */
	struct buf held;  /* the last progress that is no line yet, since the caller is behind */
};

/* Does the frame, an EMIT, ask for lines on stderr? Then they are due from now on. */
bool beat_take(struct run *run, const struct frame *f);
/* What the command has reported: the text of the next lines. */
void beat_say(struct run *run, struct field text);
/* When the next sign is due, of either kind; MONO_NEVER: none is. */
mono_t beat_next(const struct run *run);
/* Give those that are due; `step` is the name of the step that runs, or NULL. */
void beat_give(struct run *run, const char *step);
void beat_release(struct run *run);

#endif
