/*
 * ledger.h: a file of JSON lines that only grows, in which a change is seen: each line ends with
 * the digest of the line before it and with its own. Both sides of the fork append to it.
 */
#ifndef RUNNER_LEDGER_H
#define RUNNER_LEDGER_H

#include "../common/buf.h"
#include "../common/sha256.h"

#define LEDGER_LINE_MAX 32768

/*
 * Append one row, whole or not at all: the text of a JSON object with at least one member, on one
 * line. The file is made if it isn't there (0600); it must be a regular file of ours that no other user
 * can write to. With `sync` it is on the disk on return. Waits at most two seconds for
 * others that append. 0; or -1 and why, a text of its own or of strerror(3).
 */
int ledger_append(const char *path, const char *object, size_t n, bool sync, const char **why);

/*
 * Is a line, with its line feed, a row that follows the one whose digest `last` is (zeros: it is the first)? NULL, or
 * what is wrong with it. `last` becomes the digest of this row, where it has one.
 */
const char *ledger_problem(const char *line, size_t n, char last[SHA256_HEX]);

#endif
