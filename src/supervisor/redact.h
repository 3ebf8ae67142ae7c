/*
 * redact.h: values that are secret by their names, taken out of what goes to stderr
 * (docs/reference/stderr.md). What a command declares secret never gets this far:
 * lua/core/mask.lua masks it, by its value, before the frame is sent.
 */
#ifndef RUNNER_REDACT_H
#define RUNNER_REDACT_H

#include "../common/buf.h"

#define REDACTED "[REDACTED]"

/* Append the text with REDACTED for the values of names that are secret by their words
 * (common/secret.h): name=value, --name value,
 * "name": "value" and Header: value. JSON stays JSON. */
void redact_text(struct buf *out, const char *s, size_t n);
/* The same, in place. */
void redact_buf(struct buf *b);

#endif
