/*
 * secret_name.h: does a name say that its value is a secret? The one list of such words, for
 * log lines (supervisor/redact.c), for lint, and for URLs and headers (lua/ctx/http_url.lua).
 */
#ifndef RUNNER_SECRET_NAME_H
#define RUNNER_SECRET_NAME_H

#include "base.h"

/* By its words, in any case: api_key, GitHubToken, X-Auth-Token; not tokens, author or key. For
 * text where a plain name must stay legible. */
bool secret_name(const char *name, size_t n);

/* By any of them anywhere in it: key, keyword, X-Amz-Signature. For URLs and headers, where a
 * value too many that is hidden harms nobody, and one too few does. */
bool secret_name_within(const char *name, size_t n);

#endif
