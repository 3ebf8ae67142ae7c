/*
 * policy.h: may we try again, and after how long? Pure: no clock, no I/O, no
 * global state. The supervisor asks it between attempts, ctx:retry and ctx:http
 * inside one, workflow steps between theirs (docs/design.md#retry-decision).
 */
#ifndef RUNNER_POLICY_H
#define RUNNER_POLICY_H

#include "../common/defaults.h"
#include "../common/names.h"

#define POLICY_MAX_DELAYS BOUND_delays
#define POLICY_UNBOUNDED (-1)

struct policy {
	int64_t retries;      /* retries allowed; POLICY_UNBOUNDED: limited by time only */
	enum backoff backoff;
	int64_t delay_ms;
	int64_t max_delay_ms; /* cap, applied after jitter; 0: none */
	enum jitter jitter;
	int32_t jitter_ppm;   /* for JITTER_FACTOR: f in millionths, 0 … 1,000,000 */
	uint64_t seed;
	size_t delay_count;
	int64_t delays[POLICY_MAX_DELAYS];
};

/* 0 retries, since callers have loops of their own; otherwise exponential, 1 s,
 * ±25 %, cap 30 s (docs/design.md#default-policy). */
#define POLICY_DEFAULT \
	{ .retries = DEFAULT_retries, .backoff = BACKOFF_EXPONENTIAL, .delay_ms = DEFAULT_delay_ms, \
	  .max_delay_ms = DEFAULT_max_delay_ms, .jitter = JITTER_FACTOR, .jitter_ppm = DEFAULT_jitter_ppm }

/* The wait before retry n (0-based) in ms, ≥ 0: base, then jitter, then cap. The
 * same policy and n always give the same answer. Never overflows: no delay is
 * longer than 2^41 ms (69 years). Decorrelated jitter grows by itself, from the
 * first base. */
int64_t policy_delay_ms(const struct policy *p, int64_t n);

/* With less than this left after the wait, an attempt would most likely just time out
 * (docs/design.md#retry-decision). */
#define POLICY_MIN_LEFT_MS 100

enum policy_verdict {
	POLICY_WAIT,      /* wait *wait_ms, then retry */
	POLICY_AS_RAISED, /* no retries were allowed or made: pass the error on */
	POLICY_EXHAUSTED, /* ≥ 1 were made and none are left: final */
	POLICY_BUDGET,    /* the wait would overrun: stop now, stay retryable (RETRY_BUDGET) */
};

struct policy_input {
	int64_t made;        /* retries made so far that this policy counts */
	int64_t position;    /* n for policy_delay_ms(): retries of this loop alone */
	int64_t own_wait_ms; /* the wait that this failure asked for; -1: none */
	int64_t left_ms;     /* until the deadline; INT64_MAX: no limit */
};

/* Decide what follows a failure. Sets *wait_ms for POLICY_WAIT and POLICY_BUDGET
 * (the wait that would overrun), otherwise to 0. */
enum policy_verdict policy_decide(const struct policy *p, const struct policy_input *q,
                                  int64_t *wait_ms);

#endif
