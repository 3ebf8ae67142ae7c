/*
 * redact.h: values that are secret by their names, taken out of what goes to stderr
 * (docs/reference/stderr.md). What a command declares secret never gets this far:
 * lua/core/mask.lua masks it, by its value, before the frame is sent.
 */
#ifndef RUNNER_REDACT_H
#define RUNNER_REDACT_H

#include "../common/buf.h"

#define REDACTED "[REDACTED]"

/* Does a name of a field, flag, variable or header say that its value is a secret? By
 * its words, in any case: api_key, GitHubToken, X-Auth-Token; not tokens, author or key. */
bool redact_secret_name(const char *name, size_t n);

/* Append the text with REDACTED for the values of such names: name=value, --name value,
 * "name": "value" and Header: value. JSON stays JSON. */
void redact_text(struct buf *out, const char *s, size_t n);
/* The same, in place. */
void redact_buf(struct buf *b);

#endif
