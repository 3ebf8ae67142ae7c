/*
 * secret.h: is a text a secret, or does it hold one? The one list of such words.
 */
#ifndef RUNNER_SECRET_H
#define RUNNER_SECRET_H

#include "base.h"

/*
 * Does a name say that its value is a secret? The one list of such words, for
 * log lines (supervisor/redact.c), for lint, and for URLs and headers (lua/ctx/http_url.lua).
 */

/* By its words, in any case: api_key, GitHubToken, X-Auth-Token; not tokens, author or key. For
 * text where a plain name must stay legible. */
bool secret_name(const char *name, size_t n);

/* By any of them anywhere in it: key, keyword, X-Amz-Signature. For URLs and headers, where a
 * value too many that is hidden does no harm, and one too few does. */
bool secret_name_within(const char *name, size_t n);

/*
 * May a text hold tokens or keys? By what they begin with, and hardly anything else
 * does (docs/reference/envelope.md). Whether it does, lua/core/mask.lua finds out.
 */

/* Is the beginning of a token or key anywhere in s[0..n)? One pass, for a result of many megabytes. */
bool secret_text(const char *s, size_t n);

#endif
