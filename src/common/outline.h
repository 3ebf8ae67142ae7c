/*
 * outline.h: the outermost object of a JSON text that is too long to be kept, byte by byte: what stands in its members'
 * values is left out, `{"id":7,"params":{}}`. For who has to know which request it was, and must not be fooled by what a
 * value says.
 */
#ifndef RUNNER_OUTLINE_H
#define RUNNER_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTLINE_BYTES 4096
#define OUTLINE_DEPTH 4096

struct outline {
	char text[OUTLINE_BYTES];
	size_t n;
	uint8_t is_array[OUTLINE_DEPTH / 8]; /* of each level that is open */
	size_t depth;
	bool in_string, escaped;
	bool failed; /* it has no form, or its outermost level alone is too long */
};

#define OUTLINE_INIT { .n = 0 }

/* Take the next n bytes. */
void outline_take(struct outline *o, const char *s, size_t n);

#endif
