/*
 * mono.h: monotonic time, deadlines and durations.
 *
 * mono_t is an instant: nanoseconds on CLOCK_MONOTONIC. MONO_NEVER is later
 * than every instant. Durations are int64_t milliseconds; for a limit, 0 means
 * "no limit" (docs/design.md#durations).
 */
#ifndef RUNNER_MONO_H
#define RUNNER_MONO_H

#include <time.h>

#include "base.h"

typedef int64_t mono_t;

#define MONO_NEVER INT64_MAX
/* 10 years, the longest duration: sums of durations stay within mono_t */
#define DURATION_MAX_MS (INT64_C(3650) * 24 * 3600 * 1000)

/* A clock that a test moves on (engine/test_page.h): both readings are so many ns later than the
 * system's. NULL, as always else: they are the system's. The number stays the caller's. */
void mono_follow(const volatile int64_t *later);
mono_t mono_now(void);
/* The time of day: what data says that others read. Never for waiting. */
void wall_now(struct timespec *ts);
/* t + ms, saturating at MONO_NEVER; MONO_NEVER stays MONO_NEVER. */
mono_t mono_add_ms(mono_t t, int64_t ms);
/* The deadline of a limit: start + ms, or MONO_NEVER when ms is 0. */
mono_t mono_deadline(mono_t start, int64_t limit_ms);
/* Whole ms from `from` to `to`, rounded down; negative differences are 0. */
int64_t mono_elapsed_ms(mono_t from, mono_t to);
/* The time left until the deadline, for ppoll(2): NULL for MONO_NEVER, else *ts
 * (zero when past). Exact to the ns, so waiting never spins. */
struct timespec *mono_left(mono_t deadline, mono_t now, struct timespec *ts);

/*
 * Read a duration as users write it: "500ms", "2s", "1.5s", "5m", "1h", "2d",
 * a bare number of seconds ("30", "0.25"), or "none" / "0" for no limit.
 * *ms gets milliseconds, rounded to the nearest, but a positive value never to
 * 0. Returns 0, or -1 when the text is not a duration, is negative or exceeds
 * 10 years.
 */
int duration_parse(const char *text, size_t len, int64_t *ms);
/* The shortest exact spelling: "500ms", "1.5s", "90s", "5m", "none" for 0.
 * `out` must hold 32 bytes; returns out. */
char *duration_format(int64_t ms, char out[32]);

/* Wall-clock time as RFC 3339 UTC with ms: "2026-04-01T12:00:00.123Z".
 * `out` must hold 32 bytes; returns out. */
char *rfc3339_format(const struct timespec *wall, char out[32]);

#endif
