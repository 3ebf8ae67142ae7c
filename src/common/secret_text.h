/*
 * secret_text.h: may a text hold tokens or keys? By what they begin with, and hardly anything else
 * does (docs/reference/envelope.md). Whether it does, lua/core/entropy.lua finds out.
 */
#ifndef RUNNER_SECRET_TEXT_H
#define RUNNER_SECRET_TEXT_H

#include "base.h"

/* Is the beginning of a token or key anywhere in s[0..n)? One pass, for a result of many megabytes. */
bool secret_text(const char *s, size_t n);

#endif
