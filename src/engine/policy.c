/*
 * policy.c: whether to retry, and after which delay. Runs in both processes.
 * Pure: the same policy and n give the same answer in the supervisor, in `--plan`
 * and in a resumed workflow, so randomness is a function of (seed, n) and nothing
 * is remembered between calls.
 */
#include "policy.h"

/* 69 years: longer than any deadline, and small enough that a multiplication
 * by 3 (decorrelated) or by a million (factor) stays inside int64_t. */
#define CEILING_MS (INT64_C(1) << 41)
#define CEILING_BITS 41
#define PPM 1000000

/*
 * A decorrelated wait depends on all waits before it. Starting this many steps
 * back gives the same answer as starting at 0, since any two starts converge at
 * the cap: each step is monotone in the previous wait, and growth of e^0.1 per
 * step crosses all of 1 … CEILING_MS in about 300 steps.
 */
#define DECORRELATED_STEPS 4096

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return MAX_OF(low, MIN_OF(v, high));
}

static int64_t times(int64_t ms, int64_t factor)
{
	if (ms == 0 || factor == 0)
		return 0;
	return factor > CEILING_MS / ms ? CEILING_MS : ms * factor;
}

/* --- base ------------------------------------------------------------------------ */

static int64_t fibonacci(int64_t n)
{
	int64_t a = 1, b = 1;

	for (int64_t i = 1; i < n && b < CEILING_MS; i++) {
		int64_t next = a + b;

		a = b;
		b = next;
	}
	return b;
}

static int64_t delay_of(const struct policy *p)
{
	return clamp(p->delay_ms, 0, CEILING_MS);
}

static int64_t constant_ms(const struct policy *p, int64_t n UNUSED)
{
	return delay_of(p);
}

static int64_t linear_ms(const struct policy *p, int64_t n)
{
	return times(delay_of(p), MIN_OF(n, CEILING_MS) + 1);
}

static int64_t exponential_ms(const struct policy *p, int64_t n)
{
	return times(delay_of(p), INT64_C(1) << MIN_OF(n, CEILING_BITS));
}

static int64_t fibonacci_ms(const struct policy *p, int64_t n)
{
	return times(delay_of(p), fibonacci(n));
}

static int64_t custom_ms(const struct policy *p, int64_t n)
{
	size_t count = MIN_OF(p->delay_count, (size_t)POLICY_MAX_DELAYS);

	if (count == 0)
		return delay_of(p);
	return clamp(p->delays[MIN_OF((uint64_t)n, count - 1)], 0, CEILING_MS);
}

static int64_t (*const backoffs[])(const struct policy *p, int64_t n) = {
	[BACKOFF_CONSTANT] = constant_ms,
	[BACKOFF_LINEAR] = linear_ms,
	[BACKOFF_EXPONENTIAL] = exponential_ms,
	[BACKOFF_FIBONACCI] = fibonacci_ms,
	[BACKOFF_CUSTOM] = custom_ms,
};

static int64_t base_ms(const struct policy *p, int64_t n)
{
	return backoffs[p->backoff](p, n);
}

/* --- jitter ---------------------------------------------------------------------- */

/* Element n of the splitmix64 sequence that starts at `seed` (Steele, Lea,
 * Flood 2014), which needs no state and is widely published. */
static uint64_t random_at(uint64_t seed, int64_t n)
{
	uint64_t z = seed + ((uint64_t)n + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform in low … high, inclusive. Scaled rather than reduced modulo the range,
 * because it must be monotone in `high` (see DECORRELATED_STEPS). */
static int64_t between(int64_t low, int64_t high, uint64_t random)
{
	double unit = (double)(random >> 11) * 0x1p-53;

	return low + (int64_t)(unit * (double)(high - low + 1));
}

static int64_t cap_of(const struct policy *p)
{
	return p->max_delay_ms > 0 ? MIN_OF(p->max_delay_ms, CEILING_MS) : CEILING_MS;
}

static int64_t factor_ms(const struct policy *p, int64_t n)
{
	int64_t base = base_ms(p, n);
	int64_t spread = base * clamp(p->jitter_ppm, 0, PPM) / PPM;

	return between(base - spread, base + spread, random_at(p->seed, n));
}

static int64_t full_ms(const struct policy *p, int64_t n)
{
	return between(0, base_ms(p, n), random_at(p->seed, n));
}

static int64_t equal_ms(const struct policy *p, int64_t n)
{
	int64_t base = base_ms(p, n);

	return between(base / 2, base, random_at(p->seed, n));
}

/* Grows by itself from the first base: AWS's formula, whose cap applies to every
 * intermediate wait, not only to the last one. */
static int64_t decorrelated_ms(const struct policy *p, int64_t n)
{
	int64_t low = base_ms(p, 0), cap = cap_of(p), wait = MIN_OF(low, cap);

	for (int64_t back = MIN_OF(n, DECORRELATED_STEPS); back >= 0; back--) {
		int64_t high = MAX_OF(low, 3 * wait);

		wait = MIN_OF(between(low, high, random_at(p->seed, n - back)), cap);
	}
	return wait;
}

static int64_t (*const jitters[])(const struct policy *p, int64_t n) = {
	[JITTER_NONE] = base_ms,
	[JITTER_FACTOR] = factor_ms,
	[JITTER_FULL] = full_ms,
	[JITTER_EQUAL] = equal_ms,
	[JITTER_DECORRELATED] = decorrelated_ms,
};

int64_t policy_delay_ms(const struct policy *p, int64_t n)
{
	return MIN_OF(jitters[p->jitter](p, MAX_OF(n, 0)), cap_of(p));
}

/* --- verdict --------------------------------------------------------------------- */

static bool fits(int64_t wait_ms, int64_t left_ms)
{
	if (left_ms == INT64_MAX)
		return true;
	return left_ms >= POLICY_MIN_LEFT_MS && wait_ms <= left_ms - POLICY_MIN_LEFT_MS;
}

enum policy_verdict policy_decide(const struct policy *p, const struct policy_input *q,
                                  int64_t *wait_ms)
{
	*wait_ms = 0;
	if (p->retries != POLICY_UNBOUNDED && q->made >= p->retries)
		return q->made > 0 ? POLICY_EXHAUSTED : POLICY_AS_RAISED;
	*wait_ms = MAX_OF(policy_delay_ms(p, q->position), q->own_wait_ms);
	if (p->max_delay_ms > 0 && q->own_wait_ms > p->max_delay_ms)
		return POLICY_BUDGET;
	return fits(*wait_ms, q->left_ms) ? POLICY_WAIT : POLICY_BUDGET;
}
