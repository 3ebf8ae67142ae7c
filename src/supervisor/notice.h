/*
 * notice.h: what people and log readers see on stderr: retries, log lines,
 * progress, and errors in text mode. Text on a terminal, otherwise one JSON object
 * per line {level, event, command, …, message}. Only --quiet hides them.
 */
#ifndef RUNNER_NOTICE_H
#define RUNNER_NOTICE_H

#include "run.h"

void notice_step(struct run *run, struct field name);
/* The newest ctx:progress as text; a terminal shows it by block.h. To a caller that is behind with
 * reading only the last one counts: it is a line once there is room, or `must` says so. */
void notice_progress(struct run *run, struct field text);
void notice_held(struct run *run, bool must);
void notice_log(struct run *run, const char *level, struct field message);
/* A LOG frame that names its event: the keys of a retry line
 * (docs/design.md#retry-lines) where it is about an attempt, and `context`. */
void notice_event(struct run *run, const char *level, const struct frame *f);

/* retry.failed with retry.wait, and retry.succeeded, of whole attempts: a silent
 * wait looks like a hang (docs/design.md#retry-lines). */
void notice_failed(struct run *run, const struct report *r, int64_t wait_ms);
void notice_succeeded(struct run *run);
/* The same for a RETRY frame, from a loop inside the command. */
void notice_inner_retry(struct run *run, const char *event, const struct frame *f);

/* The error for people (format text): message, code, exit code, retryable, wait,
 * and what to do. */
void notice_error(struct run *run, int exit_code);
/* A warning that no envelope will carry: in every format except json. */
void notice_warning(struct run *run, struct field code, struct field message);
/* One plain line: "runner: …". Also when quiet. */
void notice_plain(struct run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
