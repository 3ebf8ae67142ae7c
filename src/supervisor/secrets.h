/*
 * secrets.h: values that a command has declared secret, taken out of whatever leaves the run: the text that its
 * processes write, as it comes, and all texts of frames. Runs in the supervisor. What is secret by its name is redact.h's.
 */
#ifndef RUNNER_SECRETS_H
#define RUNNER_SECRETS_H

#include "../common/frame.h"
#include "../common/mono.h"

struct run;
struct secrets; /* NULL: there are none */

/* Each is a text of its own: a secret isn't found in pieces that come from two of them. */
enum secrets_source {
	SECRETS_STDOUT, /* the worker's, and that of its children */
	SECRETS_STDERR,
	SECRETS_SAID,   /* what Lua writes to io.stderr on a terminal */
	SECRETS_SOURCES
};

/* SECRETS: a value, or, with `change`, that these are all: then the worker gets its answer. */
void secrets_take(struct run *run, const struct frame *f);
/* The texts of a frame, without them: valid until the next call. */
void secrets_hide(struct run *run, struct frame *f);
/* Pass on what a source writes, as far as it holds no secret. */
void secrets_pass(struct run *run, enum secrets_source source, const char *bytes, size_t n);
/* The same for a text that is whole, in place. */
void secrets_hide_buf(const struct run *run, struct buf *text);
/* When what is held back comes out, since nothing follows (mask.h); MONO_NEVER: nothing is held. Let it out if it is time,
 * or at once; and when the attempt is over. */
mono_t secrets_next(const struct run *run);
void secrets_rest(struct run *run, bool now);
void secrets_end(struct run *run);
void secrets_release(struct run *run);

#endif
