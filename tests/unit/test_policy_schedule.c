/*
 * test_policy_schedule.c: whole runs under 100,000 random policies, decision by
 * decision against a model (docs/design.md#retry-decision): counts, waits, the
 * budget of time, and replay by seed. The clock is a number here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/policy.h"

#define POLICIES 100000
#define STEPS_MAX 64 /* of one run; an unbounded policy may go on forever */
#define MIN_LEFT_MS 100

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int64_t below(uint64_t *s, int64_t n)
{
	return (int64_t)(splitmix(s) % (uint64_t)n);
}

static struct policy random_policy(uint64_t *s)
{
	struct policy p = POLICY_DEFAULT;

	p.retries = below(s, 12) - 1;
	p.backoff = (enum backoff)below(s, 5);
	p.jitter = (enum jitter)below(s, 5);
	p.jitter_ppm = (int32_t)below(s, 1000001);
	p.delay_ms = below(s, 3000);
	p.max_delay_ms = below(s, 3) == 0 ? 0 : below(s, 10000);
	p.seed = splitmix(s);
	p.delay_count = p.backoff == BACKOFF_CUSTOM ? (size_t)below(s, 5) + 1 : 0;
	for (size_t i = 0; i < p.delay_count; i++)
		p.delays[i] = below(s, 3000);
	return p;
}

/* --- one run ------------------------------------------------------------------- */

struct schedule {
	int count;
	int64_t waits[STEPS_MAX];
	int64_t took; /* attempts and waits */
	enum policy_verdict end;
};

/* What the error asks for itself: mostly nothing. */
static int64_t random_own(uint64_t *s)
{
	return below(s, 4) == 0 ? below(s, 5000) : -1;
}

/* The model: which verdict, and after which wait. */
static enum policy_verdict model(const struct policy *p, const struct policy_input *q, int64_t *wait)
{
	int64_t delay = policy_delay_ms(p, q->position);

	*wait = 0;
	if (p->retries >= 0 && q->made >= p->retries)
		return q->made > 0 ? POLICY_EXHAUSTED : POLICY_AS_RAISED;
	*wait = q->own_wait_ms > delay ? q->own_wait_ms : delay;
	if (p->max_delay_ms > 0 && q->own_wait_ms > p->max_delay_ms)
		return POLICY_BUDGET;
	if (q->left_ms != INT64_MAX && q->left_ms - *wait < MIN_LEFT_MS)
		return POLICY_BUDGET;
	return POLICY_WAIT;
}

static void check_step(const struct policy *p, const struct policy_input *q,
                       enum policy_verdict verdict, int64_t wait)
{
	int64_t expected;
	enum policy_verdict right = model(p, q, &expected);

	if (verdict != right || wait != expected)
		fail_msg("%s/%s seed %llu made %lld left %lld own %lld: verdict %d wait %lld, model %d %lld",
		         name_of(NAMES_BACKOFF, p->backoff), name_of(NAMES_JITTER, p->jitter), (unsigned long long)p->seed,
		         (long long)q->made, (long long)q->left_ms, (long long)q->own_wait_ms,
		         (int)verdict, (long long)wait, (int)right, (long long)expected);
	if (verdict != POLICY_WAIT)
		return;
	assert_true(wait >= 0 && wait >= q->own_wait_ms);
	assert_true(p->max_delay_ms == 0 || wait <= p->max_delay_ms);
}

/* Attempts that fail, until the policy says stop. `events` seeds what they take
 * and ask for; the same events under the same policy are the same run. */
static struct schedule simulate(const struct policy *p, uint64_t events, int64_t limit_ms)
{
	struct schedule run = { 0 };

	while (run.count < STEPS_MAX) {
		struct policy_input q = { .made = run.count, .position = run.count };
		int64_t wait;

		run.took += below(&events, 500);
		q.own_wait_ms = random_own(&events);
		q.left_ms = limit_ms == INT64_MAX ? INT64_MAX : limit_ms - run.took;
		run.end = policy_decide(p, &q, &wait);
		check_step(p, &q, run.end, wait);
		if (run.end != POLICY_WAIT)
			break;
		run.waits[run.count++] = wait;
		run.took += wait;
		assert_true(limit_ms == INT64_MAX || run.took <= limit_ms - MIN_LEFT_MS);
	}
	assert_true(p->retries < 0 || run.count <= p->retries);
	return run;
}

/* --- the claims ------------------------------------------------------------------ */

static void no_run_of_a_random_policy_leaves_the_model_or_its_budget(void **state UNUSED)
{
	uint64_t s = 20260402;

	for (int i = 0; i < POLICIES; i++) {
		struct policy p = random_policy(&s), q = p;
		int64_t limit = below(&s, 3) == 0 ? INT64_MAX : below(&s, 60000);
		uint64_t events = splitmix(&s);
		struct schedule one = simulate(&p, events, limit), two = simulate(&q, events, limit);

		assert_int_equal(one.count, two.count);
		assert_int_equal(one.end, two.end);
		assert_memory_equal(one.waits, two.waits, sizeof(one.waits));
	}
}

/* Without jitter a wait is never shorter than the one before, up to the cap. */
static void growing_strategies_grow_up_to_their_cap_and_stay_there(void **state UNUSED)
{
	uint64_t s = 20260403;

	for (int i = 0; i < 20000; i++) {
		struct policy p = random_policy(&s);
		int64_t before = 0;

		p.jitter = JITTER_NONE;
		if (p.backoff == BACKOFF_CUSTOM)
			continue;
		for (int64_t n = 0; n < 40; n++) {
			int64_t wait = policy_delay_ms(&p, n);

			assert_true(wait >= before);
			assert_true(p.max_delay_ms == 0 || wait <= p.max_delay_ms);
			assert_true(before == 0 || before != p.max_delay_ms || wait == before);
			before = wait;
		}
	}
}

/* The mean of ±f is the base, of "full" half of it, of "equal" three quarters. */
static void jitter_of_many_seeds_has_the_mean_of_its_range(void **state UNUSED)
{
	static const struct {
		enum jitter jitter;
		int64_t mean;
	} rows[] = { { JITTER_FACTOR, 10000 }, { JITTER_FULL, 5000 }, { JITTER_EQUAL, 7500 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct policy p = POLICY_DEFAULT;
		int64_t sum = 0;

		p.jitter = rows[i].jitter;
		p.jitter_ppm = 500000;
		p.backoff = BACKOFF_CONSTANT;
		p.delay_ms = 10000;
		p.max_delay_ms = 0;
		for (p.seed = 0; p.seed < POLICIES; p.seed++)
			sum += policy_delay_ms(&p, (int64_t)(p.seed % 7));
		/* 6 sigma of the widest range */
		assert_in_range(sum / POLICIES, rows[i].mean - 60, rows[i].mean + 60);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_run_of_a_random_policy_leaves_the_model_or_its_budget),
		cmocka_unit_test(growing_strategies_grow_up_to_their_cap_and_stay_there),
		cmocka_unit_test(jitter_of_many_seeds_has_the_mean_of_its_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
