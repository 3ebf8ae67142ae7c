/*
 * block_text.h: the lines of block.h as a terminal shows them. Computes; writes nothing.
 */
#ifndef RUNNER_BLOCK_TEXT_H
#define RUNNER_BLOCK_TEXT_H

#include "../common/buf.h"
#include "../common/frame.h"

#define BLOCK_US '\x1f' /* between the fields of a line */

/* The lines as drawn, each ended by NUL, and their widths in columns. */
struct block_text {
	struct buf lines;
	size_t *width;   /* of each; room for `most` */
	int count;
	int64_t next_ms; /* until one of them changes by itself; -1: none does */
	int64_t turn;    /* of a spinner: how many tenths of a second have passed */
};

/* Append a line as the worker sent it, ended by NUL: without control sequences, and with the
 * values of secret names redacted. */
void block_text_take(struct buf *given, const char *line);
/* Compose at most `most` ≥ 1 of the lines in `given`, as taken by block_text_take(), for a
 * terminal of `columns`; 0: it doesn't tell. `ran_ms` and `passed_ms` have passed since: without and with
 * the time that the run was stopped. */
void block_text_compose(struct block_text *t, const struct buf *given, size_t columns, int most,
                        int64_t ran_ms, int64_t passed_ms);

#endif
