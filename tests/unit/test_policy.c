/*
 * test_policy.c: the retry policy against a model of its own, written from the
 * description (docs/design.md#waits) with wide arithmetic and a sequential generator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "policy_fixture.h"

#define CEILING (INT64_C(1) << 41)
#define POLICIES 100000

/* --- the model ------------------------------------------------------------------- */

__extension__ typedef __int128 wide;

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t model_random(uint64_t seed, int64_t n)
{
	uint64_t state = seed, r = 0;

	for (int64_t i = 0; i <= n; i++)
		r = splitmix(&state);
	return r;
}

static wide narrowed(wide v)
{
	return v < 0 ? 0 : v > CEILING ? CEILING : v;
}

static wide model_multiplier(const struct policy *p, int64_t n)
{
	wide a = 1, b = 1, power = 1;

	for (int64_t i = 0; i < n && i < 100; i++) {
		wide c = a + b;

		a = b;
		b = c;
		power *= 2;
	}
	return p->backoff == BACKOFF_LINEAR      ? (wide)n + 1
	       : p->backoff == BACKOFF_EXPONENTIAL ? power
	       : p->backoff == BACKOFF_FIBONACCI   ? a
	                                           : 1;
}

static int64_t model_base(const struct policy *p, int64_t n)
{
	if (p->backoff == BACKOFF_CUSTOM && p->delay_count > 0) {
		int64_t last = (int64_t)p->delay_count - 1;

		return (int64_t)narrowed(p->delays[n < last ? n : last]);
	}
	return (int64_t)narrowed(narrowed(p->delay_ms) * narrowed(model_multiplier(p, n)));
}

static int64_t model_between(wide low, wide high, uint64_t random)
{
	return (int64_t)(low + (((high - low + 1) * (wide)(random >> 11)) >> 53));
}

static int64_t model_cap(const struct policy *p)
{
	return p->max_delay_ms > 0 && p->max_delay_ms < CEILING ? p->max_delay_ms : CEILING;
}

struct range {
	wide low, high;
};

/* The range of wait n; `before` is the implementation's own wait n − 1. */
static struct range model_range(const struct policy *p, int64_t n, int64_t before)
{
	wide base = model_base(p, n), first = model_base(p, 0);
	wide spread = base * p->jitter_ppm / 1000000;

	switch (p->jitter) {
	case JITTER_FACTOR:
		return (struct range){ base - spread, base + spread };
	case JITTER_FULL:
		return (struct range){ 0, base };
	case JITTER_EQUAL:
		return (struct range){ base / 2, base };
	case JITTER_DECORRELATED:
		return (struct range){ first, 3 * (wide)before > first ? 3 * (wide)before : first };
	default:
		return (struct range){ base, base };
	}
}

/* --- random policies ------------------------------------------------------------- */

static const int64_t corners[] = { 0, 1, 2, 7, 999, 1000, 30000, 86400000, CEILING - 1,
	                           CEILING, CEILING + 1, INT64_MAX / 2, INT64_MAX, -5 };

static int64_t random_ms(uint64_t *s)
{
	uint64_t r = splitmix(s);

	return r % 4 == 0 ? corners[splitmix(s) % ARRAY_LEN(corners)]
	                  : (int64_t)(splitmix(s) % 100000);
}

static struct policy random_policy(uint64_t *s)
{
	struct policy p = POLICY_DEFAULT;

	p.retries = (int64_t)(splitmix(s) % 12) - 1;
	p.backoff = (enum backoff)(splitmix(s) % 5);
	p.jitter = (enum jitter)(splitmix(s) % 5);
	p.jitter_ppm = (int32_t)(splitmix(s) % 1000001);
	p.delay_ms = random_ms(s);
	p.max_delay_ms = splitmix(s) % 3 == 0 ? 0 : random_ms(s);
	p.seed = splitmix(s);
	p.delay_count = splitmix(s) % (POLICY_MAX_DELAYS + 1);
	for (size_t i = 0; i < p.delay_count; i++)
		p.delays[i] = random_ms(s);
	return p;
}

static void check_delay(const struct policy *p, int64_t n, int64_t before)
{
	struct range r = model_range(p, n, before);
	int64_t cap = model_cap(p);
	int64_t model = model_between(r.low, r.high, model_random(p->seed, n));
	int64_t got = policy_delay_ms(p, n);
	/* the implementation rounds in double: one ms at most */
	int64_t least = MIN_OF(p->jitter == JITTER_NONE ? (int64_t)r.low : model - 1, cap);
	int64_t most = MIN_OF(p->jitter == JITTER_NONE ? (int64_t)r.high : model + 1, cap);

	if (got < least || got > most || got < MIN_OF(r.low, cap) || got > MIN_OF(r.high, cap))
		fail_msg("%s/%s n=%lld seed=%llu: %lld, model %lld … %lld", name_of(NAMES_BACKOFF, p->backoff),
		         name_of(NAMES_JITTER, p->jitter), (long long)n, (unsigned long long)p->seed,
		         (long long)got, (long long)least, (long long)most);
}

static void every_delay_of_random_policies_is_what_the_model_says(void **state UNUSED)
{
	uint64_t s = 20260401;

	for (int i = 0; i < POLICIES; i++) {
		struct policy p = random_policy(&s);
		int64_t n = (int64_t)(splitmix(&s) % 90);
		int64_t before = n > 0 ? policy_delay_ms(&p, n - 1)
		                       : MIN_OF(model_base(&p, 0), model_cap(&p));

		check_delay(&p, n, before);
	}
}

static void the_same_seed_replays_and_another_differs(void **state UNUSED)
{
	uint64_t s = 7;
	int same = 0;

	for (int i = 0; i < 5000; i++) {
		struct policy p = random_policy(&s), q;
		int64_t n = (int64_t)(splitmix(&s) % 20), first;

		q = p;
		first = policy_delay_ms(&p, n);
		policy_delay_ms(&p, n + 3); /* no order of calls matters */
		assert_true(policy_delay_ms(&q, n) == first);
	}
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct policy p = POLICY_DEFAULT, q = POLICY_DEFAULT;

		p.jitter = q.jitter = JITTER_FULL;
		p.seed = seed;
		q.seed = seed + 1;
		same += policy_delay_ms(&p, 5) == policy_delay_ms(&q, 5);
	}
	assert_true(same < 20);
}

/* --- spelled out ----------------------------------------------------------------- */

static void check_sequence(const struct policy *p, const int64_t *want, int count)
{
	for (int n = 0; n < count; n++)
		if (policy_delay_ms(p, n) != want[n])
			fail_msg("%s[%d] is %lld, not %lld", name_of(NAMES_BACKOFF, p->backoff), n,
			         (long long)policy_delay_ms(p, n), (long long)want[n]);
}

static void the_strategies_grow_as_the_design_lists_them(void **state UNUSED)
{
	static const int64_t want[][8] = {
		[BACKOFF_CONSTANT] = { 100, 100, 100, 100, 100, 100, 100, 100 },
		[BACKOFF_LINEAR] = { 100, 200, 300, 400, 500, 600, 700, 800 },
		[BACKOFF_EXPONENTIAL] = { 100, 200, 400, 800, 1600, 3200, 6400, 12800 },
		[BACKOFF_FIBONACCI] = { 100, 100, 200, 300, 500, 800, 1300, 2100 },
		[BACKOFF_CUSTOM] = { 5, 50, 20, 20, 20, 20, 20, 20 },
	};

	for (int b = 0; b < 5; b++) {
		struct policy p = plain((enum backoff)b);

		p.delay_count = 3;
		memcpy(p.delays, (const int64_t[]){ 5, 50, 20 }, 3 * sizeof(int64_t));
		check_sequence(&p, want[b], 8);
	}
}

static void the_cap_comes_after_jitter(void **state UNUSED)
{
	struct policy p = POLICY_DEFAULT;
	int at_cap = 0;

	p.backoff = BACKOFF_CONSTANT;
	p.delay_ms = p.max_delay_ms = 1000;
	for (p.seed = 0; p.seed < 2000; p.seed++) {
		int64_t d = policy_delay_ms(&p, 0);

		assert_in_range(d, 750, 1000);
		at_cap += d == 1000;
	}
	/* capped first, only one in 500 would be 1000; after, every second one */
	assert_in_range(at_cap, 900, 1100);
}

static void no_delay_overflows_and_none_is_slow_however_large_n_is(void **state UNUSED)
{
	static const int64_t ns[] = { 63, 64, 1000000, INT64_MAX - 1, INT64_MAX, -1, INT64_MIN };
	clock_t start = clock();

	for (size_t i = 0; i < ARRAY_LEN(ns); i++) {
		for (int k = 0; k < 25; k++) {
			struct policy p = POLICY_DEFAULT;
			int64_t d;

			p.backoff = (enum backoff)(k % 5);
			p.jitter = (enum jitter)(k / 5);
			p.delay_ms = INT64_MAX;
			p.max_delay_ms = i % 2 ? 0 : 30000;
			d = policy_delay_ms(&p, ns[i]);
			assert_true(d >= 0 && d <= (i % 2 ? CEILING : 30000));
		}
	}
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
}

/* --- jitter ---------------------------------------------------------------------- */

static void check_uniform(enum jitter jitter, int64_t low, int64_t high)
{
	struct policy p = plain(BACKOFF_CONSTANT);
	int bucket[10] = { 0 };

	p.jitter = jitter;
	p.delay_ms = 100000;
	for (int i = 0; i < 20000; i++) {
		int64_t d;

		p.seed = (uint64_t)(i % 200);
		d = policy_delay_ms(&p, i / 200);
		assert_in_range(d, low, high);
		bucket[(d - low) * 10 / (high - low + 1)]++;
	}
	for (int b = 0; b < 10; b++)
		if (bucket[b] < 1800 || bucket[b] > 2200) /* 4.7 sigma */
			fail_msg("%s: bucket %d holds %d of 20000", name_of(NAMES_JITTER, jitter), b,
			         bucket[b]);
}

static void jitter_fills_its_range_evenly(void **state UNUSED)
{
	check_uniform(JITTER_FACTOR, 75000, 125000);
	check_uniform(JITTER_FULL, 0, 100000);
	check_uniform(JITTER_EQUAL, 50000, 100000);
}

static void jitter_reaches_both_ends_of_a_small_range(void **state UNUSED)
{
	struct policy p = plain(BACKOFF_CONSTANT);
	int seen[5] = { 0 };

	p.jitter = JITTER_FULL;
	p.delay_ms = 4;
	for (p.seed = 0; p.seed < 500; p.seed++)
		seen[policy_delay_ms(&p, 0)]++;
	for (int i = 0; i < 5; i++)
		assert_in_range(seen[i], 50, 150);
}

/* The whole chain from 0, with the implementation's rounding. */
static int64_t chain(const struct policy *p, int64_t n)
{
	int64_t wait = p->delay_ms;
	uint64_t s = p->seed;

	for (int64_t i = 0; i <= n; i++) {
		int64_t high = MAX_OF(p->delay_ms, 3 * wait);
		double unit = (double)(splitmix(&s) >> 11) / 9007199254740992.0;

		wait = p->delay_ms + (int64_t)(unit * (double)(high - p->delay_ms + 1));
		wait = MIN_OF(wait, model_cap(p));
	}
	return wait;
}

static void a_decorrelated_wait_is_the_end_of_its_chain_however_long_that_is(void **state UNUSED)
{
	static const int64_t ns[] = { 0, 1, 2, 50, 4095, 4096, 4097, 4098, 9999, 20000 };
	struct policy p = plain(BACKOFF_EXPONENTIAL);

	p.jitter = JITTER_DECORRELATED;
	for (p.seed = 1; p.seed <= 20; p.seed++)
		for (size_t i = 0; i < ARRAY_LEN(ns); i++)
			for (int capped = 0; capped < 2; capped++) {
				p.max_delay_ms = capped ? 30000 : 0;
				assert_true(policy_delay_ms(&p, ns[i]) == chain(&p, ns[i]));
			}
}

static void delay_zero_stays_zero_under_every_jitter(void **state UNUSED)
{
	for (int k = 0; k < 25; k++) {
		struct policy p = plain((enum backoff)(k % 5));

		p.jitter = (enum jitter)(k / 5);
		p.delay_ms = 0;
		p.delay_count = 1;
		for (int64_t n = 0; n < 10; n++)
			assert_int_equal(policy_delay_ms(&p, n), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_delay_of_random_policies_is_what_the_model_says),
		cmocka_unit_test(the_same_seed_replays_and_another_differs),
		cmocka_unit_test(the_strategies_grow_as_the_design_lists_them),
		cmocka_unit_test(the_cap_comes_after_jitter),
		cmocka_unit_test(no_delay_overflows_and_none_is_slow_however_large_n_is),
		cmocka_unit_test(jitter_fills_its_range_evenly),
		cmocka_unit_test(jitter_reaches_both_ends_of_a_small_range),
		cmocka_unit_test(a_decorrelated_wait_is_the_end_of_its_chain_however_long_that_is),
		cmocka_unit_test(delay_zero_stays_zero_under_every_jitter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
