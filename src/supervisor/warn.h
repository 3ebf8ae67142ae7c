/*
 * warn.h: raises a warning: a row in the envelope, and a line on stderr if no
 * envelope will carry it.
 */
#ifndef RUNNER_WARN_H
#define RUNNER_WARN_H

#include "run.h"

/* Add a warning; context is a checked JSON object, or NULL. */
void run_warn(struct run *run, const char *code, const char *message, const char *context);
/* … with context {key: count, "text": text}; text may be NULL. */
void run_warn_counted(struct run *run, const char *code, const char *message, const char *key,
                      int64_t count, const struct buf *text);
/* The same for a command's own warning, whose bytes may be anything. */
void run_warn_bytes(struct run *run, struct field code, struct field message, struct field context);
/* WARNINGS_DROPPED, if any were; nothing more may be added after it. */
void run_warn_dropped(struct run *run);
/* That a wait of ours ended at once again and again (common/rest.h), once. */
void run_warn_busy(struct run *run);

#endif
