/*
 * ulid.h: sortable unique names for runs: 26 characters of Crockford base 32,
 * 48 bits of time in ms, 80 random bits.
 */
#ifndef RUNNER_ULID_H
#define RUNNER_ULID_H

#include "base.h"

#define ULID_LENGTH 26

/* unix_ms: wall clock, ms since 1970. Writes ULID_LENGTH characters and NUL. */
void ulid_format(uint64_t unix_ms, const uint8_t random[10], char out[ULID_LENGTH + 1]);

#endif
