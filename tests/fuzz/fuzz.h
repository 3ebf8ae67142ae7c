/*
 * fuzz.h: what the fuzz targets share. A target is one file fuzz_NAME.c (or
 * fuzz_NAME.lua, driven by lua_target.c); tests/fuzz/run builds and runs them.
 * A target holds a claim about every input and calls HOLDS() for it.
 */
#ifndef RUNNER_FUZZ_H
#define RUNNER_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/common/base.h"

/* libFuzzer's entry: return 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#endif
