/*
 * envelope_check.h: what holds of every envelope (docs/design.md#one-envelope) and of
 * every line on stderr (docs/design.md#retry-lines), for fuzz_supervisor.c.
 */
#ifndef RUNNER_ENVELOPE_CHECK_H
#define RUNNER_ENVELOPE_CHECK_H

#include "../../src/supervisor/run.h"

/* text[0..n) is the one envelope of this run, which ends with `status`. */
void envelope_check(const struct run *run, const char *text, size_t n, int status);
/* On a terminal: nothing that moves it but our own colours; else JSON lines. */
void stderr_check(const struct run *run, const char *text, size_t n);

#endif
