/*
 * json_decode.h: the strict reader's first pass: is this one JSON text, and how many
 * values does each of its containers hold? With that known, the second pass
 * (json_decode.c) can't fail on the text, and makes every table in its final size.
 * Knows no Lua.
 */
#ifndef RUNNER_JSON_DECODE_H
#define RUNNER_JSON_DECODE_H

#include "../common/buf.h"

#define JSON_SCAN_MAX_DEPTH 2048

struct json_scan {
	struct buf *counts; /* the caller's: a uint32_t for each container, in the order in which they open */
	size_t longest;     /* bytes of the longest string that has escapes, as it stands in the text */
	const char *why;    /* what is wrong */
	const char *at;     /* where */
};

/*
 * Read s[0..n), behind which there is a NUL (as behind every Lua string): RFC 8259,
 * UTF-8 without surrogates, no \u0000, at most JSON_SCAN_MAX_DEPTH levels, n < 4 GiB.
 * Numbers are checked for their form alone. 0, or -1 with `why` and `at`.
 */
int json_scan(struct json_scan *scan, const char *s, size_t n);

/* About the bytes that the values of s[0..n) would take as Lua values, valid or not:
 * `[],[],…` takes a hundred times its length. */
size_t json_weight(const char *s, size_t n);
/* No text weighs more than so many times its length, and one value more. */
#define JSON_WEIGHT_MAX 128

#endif
