/*
 * rows.h: rows that a command emits while it runs (EMIT frames), on stdout at once, and
 * heartbeats while nothing comes. Owns the outlet of stdout from the first line on.
 */
#ifndef RUNNER_ROWS_H
#define RUNNER_ROWS_H

#include "../common/frame.h"
#include "../common/json.h"
#include "outlet.h"

struct run;

struct rows {
	struct outlet out;
	bool opened;     /* `out` is in use: the answer goes there too */
	bool streams;    /* rows are written as they come; the answer is the last line of them */
	bool may_repeat; /* a retry may write them again */
	int64_t count;   /* rows written, of all attempts */
	int64_t beat_ms; /* silence between two heartbeats; 0: none */
	mono_t beat_at;  /* the next one */
	int64_t flushed; /* of `count`, what rows_flush() has seen */
	mono_t seen_at;  /* … and when */
};

/* An EMIT frame: what holds for the run, or a row for the next rows_flush(). A row that is not
 * one JSON object on one line is dropped: no worker of ours sends one. */
void rows_take(struct run *run, const struct frame *f);
/* Write what can be written now. */
void rows_flush(struct run *run);
/* Before the next wait: rows that come right behind each other are let gather for a moment, since to wake up for each costs both
 * processes more than the row. None is held back that came alone. */
void rows_gather(struct run *run);
/* Is more waiting for the reader than it is good to hold? Then read no frames. */
bool rows_crowded(const struct run *run);
/* The reader is gone, and no other caller needs the command to go on: it is safe. */
bool rows_are_enough(const struct run *run);
/* When the next heartbeat is due, MONO_NEVER: none is. */
mono_t rows_next_beat(const struct run *run);
/* Write a heartbeat if one is due; `step` is the name of the step that runs, or NULL. */
void rows_beat(struct run *run, const char *step);
/* Members of the line that ends a stream well. */
void rows_summary(const struct run *run, struct json_writer *w);
void rows_release(struct run *run);

#endif
