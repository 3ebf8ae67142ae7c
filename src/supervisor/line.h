/*
 * line.h: one line for stderr, which is text on a terminal and otherwise a JSON object
 * {level, event, command, trace_id?, …, message}. Secrets in its message are redacted
 * (redact.h). notice.c and notice_retry.c say what the lines are about.
 */
#ifndef RUNNER_LINE_H
#define RUNNER_LINE_H

#include "../common/json.h"
#include "run.h"

struct line {
	struct run *run;
	struct buf out;
	struct json_writer w;
	struct buf text; /* what people read; line_message makes it `message` */
};

bool line_is_text(const struct run *run);
/* The command that runs, as one types it ("db migrate"); "runner" while none is known. */
void line_add_command(struct buf *text, const struct run *run);

void line_begin(struct line *l, struct run *run, const char *level, const char *event);
/* A value below `least` is unknown and becomes null. */
void line_int(struct line *l, const char *key, int64_t v, int64_t least);
/* An empty text becomes null. */
void line_str(struct line *l, const char *key, struct field text);
/* A JSON object; anything else is left out. */
void line_context(struct line *l, struct field context);
void line_message(struct line *l);
/* Milliseconds since the run began. */
void line_elapsed(struct line *l);
/* Write it, and release it. */
void line_end(struct line *l);

/* Write text as it is, above what block.h shows, and release it. */
void line_emit(struct run *run, struct buf *text);

#endif
