/*
 * ulid.h: ULIDs, sortable unique IDs for runs: 48 bits of time in ms and 80
 * random bits as 26 characters of Crockford base 32.
 */
#ifndef RUNNER_ULID_H
#define RUNNER_ULID_H

#include "base.h"

#define ULID_LENGTH 26

/* unix_ms: wall-clock time in ms since 1970. Writes ULID_LENGTH characters and NUL. */
void ulid_format(uint64_t unix_ms, const uint8_t random[10], char out[ULID_LENGTH + 1]);

#endif
