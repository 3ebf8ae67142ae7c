/* needs: what a test needs that is not here. It is skipped, and the line before its result says why (tests/skips). */
#ifndef TESTS_NEEDS_H
#define TESTS_NEEDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NEEDS(what) \
	do { \
		print_message("# needs %s\n", what); \
		skip(); \
	} while (0)

/* Which has descriptors of its own, dumps the core itself, keeps some signals, and takes 50 times as long. */
static inline bool under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

#endif
