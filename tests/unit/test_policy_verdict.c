/*
 * test_policy_verdict.c: retry or stop, and why: the order in which retries left,
 * budget and wait decide (docs/design.md#retry-decision).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy_fixture.h"

struct decision {
	const char *what;
	int64_t retries, max_delay, made, own, left;
	enum policy_verdict verdict;
	int64_t wait;
};

/* constant 100 ms, no jitter */
static const struct decision decisions[] = {
	{ "no retries allowed", 0, 0, 0, -1, INT64_MAX, POLICY_AS_RAISED, 0 },
	{ "no retries, no time either", 0, 0, 0, -1, 0, POLICY_AS_RAISED, 0 },
	{ "one left", 3, 0, 2, -1, INT64_MAX, POLICY_WAIT, 100 },
	{ "none left", 3, 0, 3, -1, INT64_MAX, POLICY_EXHAUSTED, 0 },
	{ "none left wins over budget", 3, 1000, 3, 5000, 0, POLICY_EXHAUSTED, 0 },
	{ "others used it up", 1, 0, 4, -1, 0, POLICY_EXHAUSTED, 0 },
	{ "none allowed, some made elsewhere", 0, 0, 2, -1, 0, POLICY_EXHAUSTED, 0 },
	{ "unbounded", POLICY_UNBOUNDED, 0, 1000000, -1, INT64_MAX, POLICY_WAIT, 100 },
	{ "own value is longer", 3, 0, 0, 700, INT64_MAX, POLICY_WAIT, 700 },
	{ "own value is shorter", 3, 0, 0, 30, INT64_MAX, POLICY_WAIT, 100 },
	{ "own value of 0", 3, 0, 0, 0, INT64_MAX, POLICY_WAIT, 100 },
	{ "own value at max_delay", 3, 700, 0, 700, INT64_MAX, POLICY_WAIT, 700 },
	{ "own value above max_delay", 3, 699, 0, 700, INT64_MAX, POLICY_BUDGET, 700 },
	{ "the same, unbounded", POLICY_UNBOUNDED, 50, 9, 51, INT64_MAX, POLICY_BUDGET, 51 },
	{ "exactly enough left", 3, 0, 0, -1, 200, POLICY_WAIT, 100 },
	{ "1 ms too little left", 3, 0, 0, -1, 199, POLICY_BUDGET, 100 },
	{ "own wait exactly fits", 3, 0, 0, 900, 1000, POLICY_WAIT, 900 },
	{ "own wait does not fit", 3, 0, 0, 901, 1000, POLICY_BUDGET, 901 },
	{ "nothing left", 3, 0, 0, -1, 0, POLICY_BUDGET, 100 },
	{ "past the deadline", 3, 0, 0, -1, INT64_MIN, POLICY_BUDGET, 100 },
	{ "own wait of an age, no limit", 3, 0, 0, INT64_MAX, INT64_MAX, POLICY_WAIT, INT64_MAX },
	{ "own wait of an age, a limit", 3, 0, 0, INT64_MAX, INT64_MAX - 1, POLICY_BUDGET,
	  INT64_MAX },
};

static void the_verdict_follows_retries_then_budget_then_wait(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
		const struct decision *d = &decisions[i];
		struct policy p = plain(BACKOFF_CONSTANT);
		struct policy_input q = { d->made, 0, d->own, d->left };
		int64_t wait = -1;
		enum policy_verdict v;

		p.retries = d->retries;
		p.max_delay_ms = d->max_delay;
		v = policy_decide(&p, &q, &wait);
		if (v != d->verdict || wait != d->wait)
			fail_msg("%s: verdict %d, wait %lld", d->what, v, (long long)wait);
	}
}

static void the_wait_belongs_to_the_position_and_not_to_the_budget_used(void **state UNUSED)
{
	struct policy p = plain(BACKOFF_EXPONENTIAL);
	struct policy_input q = { 5, 1, -1, INT64_MAX };
	int64_t wait;

	p.retries = 9;
	assert_int_equal(policy_decide(&p, &q, &wait), POLICY_WAIT);
	assert_int_equal(wait, 200);
}

static void attempts_that_fail_at_once_stop_when_the_tail_is_too_short(void **state UNUSED)
{
	/* issue: attempts of 0 s, delay 1 s, no jitter, timeout 2 s → one wait */
	struct policy p = plain(BACKOFF_CONSTANT);
	struct policy_input q = { .own_wait_ms = -1, .left_ms = 1990 };
	int64_t wait;

	p.delay_ms = 1000;
	p.retries = 5;
	assert_int_equal(policy_decide(&p, &q, &wait), POLICY_WAIT);
	q.made = q.position = 1;
	q.left_ms -= wait + 10;
	assert_int_equal(policy_decide(&p, &q, &wait), POLICY_BUDGET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verdict_follows_retries_then_budget_then_wait),
		cmocka_unit_test(the_wait_belongs_to_the_position_and_not_to_the_budget_used),
		cmocka_unit_test(attempts_that_fail_at_once_stop_when_the_tail_is_too_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
