/*
 * keep.h: what an answer had no room for, as a file below $XDG_STATE_HOME/runner/answers: the caller's alone, for a day, and
 * of all of them so many as KEEP_BYTES and KEEP_FILES say, the newest.
 */
#ifndef RUNNER_KEEP_H
#define RUNNER_KEEP_H

#include "../common/buf.h"
#include "../common/mono.h"

#define KEEP_SECONDS (24 * 60 * 60)
#define KEEP_BYTES ((int64_t)256 << 20)
#define KEEP_FILES 500
#define KEEP_PATH 512
#define KEEP_WHOSE 33 /* bytes */
#define KEEP_ENDING 8 /* letters and digits behind the dot of a name */

/* Write it as NAME, mode 600, after what is too old is gone: its path. 0, or -1 with errno, and nothing is there. */
int keep_write(const char *name, const char *s, size_t n, char path[KEEP_PATH]);
/* When what is kept now is over. */
const char *keep_expires(char text[32]);
/* Is it what a name has behind its ULID, so that it is found by nobody else: "-" and 32 digits in hexadecimal? */
bool keep_is_whose(const char *s);
/* Why it was not, in words. */
const char *keep_reason(int error);

#endif
