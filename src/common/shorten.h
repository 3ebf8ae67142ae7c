/*
 * shorten.h: a JSON text in at most so many bytes. Only tails are cut, of arrays and of strings, so that what is left has
 * the form of the whole: no member of an object is lost, no number changes.
 */
#ifndef RUNNER_SHORTEN_H
#define RUNNER_SHORTEN_H

#include "buf.h"

#define SHORTEN_MARK "…[truncated]" /* ends a string that was cut */
#define SHORTEN_LEAST 128           /* a string of so many bytes is never cut, nor the first item of an array before it */
#define SHORTEN_CUTS 4
#define SHORTEN_PATH 96

/* What was cut, as far as a few rows have it. */
struct shorten_cuts {
	size_t count; /* of all; the first SHORTEN_CUTS have a row */
	struct shorten_cut {
		char path[SHORTEN_PATH]; /* "data.rows"; its end is left out where it is too long */
		bool of_items;           /* an array: its items; else the bytes of the text that a string is */
		size_t before, after;
	} row[SHORTEN_CUTS];
};

/*
 * Append to *out what json_check() has accepted in s[0..n), in at most `max` bytes. One level holds for all of it: the
 * longest strings and arrays are cut to it, and what is below it stays. What stands in the member "data" of an envelope
 * may have any names; elsewhere what only means something as a whole, such as a command, is not cut. whole_data: nothing
 * in "data" is cut. False, with nothing appended: it can't be done. cuts may be NULL.
 */
bool shorten(struct buf *out, const char *s, size_t n, size_t max, bool whole_data, struct shorten_cuts *cuts);

/* Behind the value that begins at s. */
const char *shorten_skip(const char *s, const char *end);

#endif
