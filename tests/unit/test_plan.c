/*
 * test_plan.c: what a worker reports of its run is clamped before it applies: no
 * number, name or list is trusted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

#define TEN_YEARS_MS (INT64_C(3650) * 24 * 3600 * 1000)

static const int64_t hostile[] = { INT64_MIN, INT64_MIN + 1, -TEN_YEARS_MS, -1, 0, 1, 99, TEN_YEARS_MS,
	                           TEN_YEARS_MS + 1, INT32_MAX, UINT32_MAX, INT64_MAX - 1, INT64_MAX };

/* Callers that set nothing: a pipe, a terminal. */
static const struct launch PIPE = { .format = FORMAT_JSON, .exit_table = -1 };
static const struct launch TERMINAL = { .format = FORMAT_TEXT, .exit_table = -1 };

static struct plan fresh(void)
{
	struct plan p;

	unsetenv("RUNNER_FORMAT");
	plan_init(&p, &PIPE);
	return p;
}

static void an_empty_plan_leaves_the_defaults_of_the_design(void **state UNUSED)
{
	struct plan p = fresh();

	plan_take(&p, RECEIVED(PLAN));
	assert_true(p.known);
	assert_int_equal(p.timeout_ms, 30000);
	assert_int_equal(p.grace_ms, 2000);
	assert_int_equal(p.attempt_timeout_ms, 0);
	assert_int_equal(p.idle_timeout_ms, 0);
	assert_int_equal(p.policy.retries, 0);
	assert_int_equal(p.policy.backoff, BACKOFF_EXPONENTIAL);
	assert_int_equal(p.policy.delay_ms, 1000);
	assert_int_equal(p.policy.max_delay_ms, 30000);
	assert_int_equal(p.policy.jitter_ppm, 250000);
	assert_int_equal(p.format, FORMAT_JSON);
	assert_int_equal(p.table, EXIT_TABLE_STANDARD);
	assert_string_equal(p.schema_version, "1.0");
	assert_false(p.safe);
}

static void what_stdout_carries_is_known_by_name_and_an_unknown_name_is_the_answer(void **state UNUSED)
{
	struct plan p = fresh();

	plan_take(&p, RECEIVED(PLAN, STR(output, "a name that is much longer than any")));
	assert_int_equal(p.output, OUTPUT_ANSWER);
	p = fresh();
	plan_take(&p, RECEIVED(PLAN, STR(output, "passthrough")));
	assert_int_equal(p.output, OUTPUT_PASSTHROUGH);
	p = fresh();
	plan_take(&p, RECEIVED(PLAN, STR(output, "protocol")));
	assert_int_equal(p.output, OUTPUT_PROTOCOL);
}

static void only_a_server_has_another_limit_once_it_runs(void **state UNUSED)
{
	static const char *const outputs[] = { "", "passthrough", "protocol" };

	for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
		struct plan p = fresh();

		plan_take(&p, RECEIVED(PLAN, INT(timeout_ms, 5000), STR(output, outputs[i])));
		plan_take_run(&p, RECEIVED(RUN));
		assert_int_equal(p.timeout_ms, 5000);
		plan_take_run(&p, RECEIVED(RUN, INT(timeout_ms, 0)));
		assert_int_equal(p.timeout_ms, i == 2 ? 0 : 5000);
	}
}

static void every_limit_is_clamped_so_that_arithmetic_can_not_overflow(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		int64_t v = hostile[i], wanted = v < 0 ? 0 : MIN_OF(v, TEN_YEARS_MS);
		struct plan p = fresh();

		plan_take(&p, RECEIVED(PLAN, INT(timeout_ms, v), INT(attempt_timeout_ms, v), INT(idle_timeout_ms, v),
		                       INT(grace_ms, v), INT(delay_ms, v), INT(max_delay_ms, v)));
		assert_int_equal(p.timeout_ms, wanted);
		assert_int_equal(p.attempt_timeout_ms, wanted);
		assert_int_equal(p.idle_timeout_ms, wanted);
		assert_int_equal(p.grace_ms, wanted);
		assert_int_equal(p.policy.delay_ms, wanted);
		assert_int_equal(p.policy.max_delay_ms, wanted);
	}
}

static void retries_and_jitter_stay_where_one_more_still_fits(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		struct plan p = fresh();

		plan_take(&p, RECEIVED(PLAN, INT(retries, hostile[i]), INT(jitter_ppm, hostile[i]), INT(seed, hostile[i])));
		assert_true(p.policy.retries >= POLICY_UNBOUNDED);
		assert_true(p.policy.retries < INT64_MAX);
		if (hostile[i] >= -1 && hostile[i] <= INT32_MAX)
			assert_int_equal(p.policy.retries, hostile[i]);
		assert_in_range(p.policy.jitter_ppm, 0, 1000000);
		assert_true(p.policy.seed == (uint64_t)hostile[i]);
		for (int64_t n = 0; n < 100; n++)
			assert_true(policy_delay_ms(&p.policy, n) >= 0);
	}
}

static void delays_are_counted_and_clamped(void **state UNUSED)
{
	struct plan p = fresh();
	struct buf list = BUF_INIT;

	plan_take(&p, RECEIVED(PLAN, STR(strategy, "custom"),
	                       LIST(delays, "5\0-5\0x\0" "99999999999999999999\0" "7")));
	assert_int_equal(p.policy.backoff, BACKOFF_CUSTOM);
	assert_int_equal(p.policy.delay_count, 5);
	assert_int_equal(p.policy.delays[0], 5);
	assert_int_equal(p.policy.delays[1], 0);
	assert_int_equal(p.policy.delays[2], 0);
	assert_int_equal(p.policy.delays[3], TEN_YEARS_MS);
	assert_int_equal(p.policy.delays[4], 7);
	for (int i = 0; i < POLICY_MAX_DELAYS + 10; i++)
		buf_add(&list, "1", 2);
	p = fresh();
	plan_take(&p, RECEIVED(PLAN, BYTES(delays, list.data, list.len)));
	assert_int_equal(p.policy.delay_count, POLICY_MAX_DELAYS);
	buf_release(&list);
}

static void every_format_and_table_is_read_and_an_unknown_one_changes_nothing(void **state UNUSED)
{
	static const char *const names[] = { "json", "jsonl", "tsv", "plain", "table", "id", "text" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct plan p = fresh();

		plan_take(&p, RECEIVED(PLAN, STR(format, names[i]), STR(exit_table, "classic")));
		assert_int_equal(p.format, i);
		assert_int_equal(p.table, EXIT_TABLE_CLASSIC);
		setenv("RUNNER_FORMAT", names[i], 1);
		plan_init(&p, &PIPE);
		assert_int_equal(p.format, i);
		plan_take(&p, RECEIVED(PLAN, STR(format, "xml"), STR(exit_table, "metric"), STR(strategy, ""),
		                       STR(jitter, "sometimes")));
		assert_int_equal(p.format, i);
		assert_int_equal(p.table, EXIT_TABLE_STANDARD);
		assert_int_equal(p.policy.backoff, BACKOFF_EXPONENTIAL);
		assert_int_equal(p.policy.jitter, JITTER_FACTOR);
	}
	unsetenv("RUNNER_FORMAT");
}

static void before_a_plan_the_caller_decides(void **state UNUSED)
{
	struct launch classic = TERMINAL;
	struct plan p;

	classic.exit_table = EXIT_TABLE_CLASSIC;
	plan_init(&p, &classic);
	assert_int_equal(p.table, EXIT_TABLE_CLASSIC);
	assert_int_equal(p.format, FORMAT_TEXT);
	plan_init(&p, &PIPE);
	assert_int_equal(p.table, EXIT_TABLE_STANDARD);
	assert_int_equal(p.format, FORMAT_JSON);
	setenv("RUNNER_FORMAT", "tsv", 1);
	plan_init(&p, &TERMINAL);
	assert_int_equal(p.format, FORMAT_TSV);
	p = fresh();
}

static void the_first_plan_rules_the_run(void **state UNUSED)
{
	struct plan p = fresh();

	plan_take_exit(&p, RECEIVED(EXIT, STR(name, "LOCKED"), INT(exit_code, 79)));
	plan_take(&p, RECEIVED(PLAN, STR(command, "one"), INT(timeout_ms, 1), LIST(on, "A\0B")));
	plan_take_exit(&p, RECEIVED(EXIT, STR(name, "LATER"), INT(exit_code, 80)));
	plan_take(&p, RECEIVED(PLAN, STR(command, "two"), INT(timeout_ms, 2), LIST(on, "C")));
	assert_string_equal(p.command, "one");
	assert_int_equal(p.timeout_ms, 1);
	assert_int_equal(p.code_count, 1);
	assert_int_equal(p.on_count, 2);
}

static void only_79_to_125_are_a_commands_own_numbers(void **state UNUSED)
{
	for (int64_t v = -300; v <= 300; v++) {
		struct plan p = fresh();

		plan_take_exit(&p, RECEIVED(EXIT, STR(name, "OWN"), INT(exit_code, v)));
		assert_int_equal(p.code_count, 1);
		assert_int_equal(p.codes[0].exit_code, v >= 79 && v <= 125 ? v : -1);
	}
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		struct plan p = fresh();

		plan_take_exit(&p, RECEIVED(EXIT, STR(name, "OWN"), INT(exit_code, hostile[i]),
		                            INT(retry_after_ms, hostile[i])));
		assert_int_equal(p.codes[0].exit_code, hostile[i] == 99 ? 99 : -1);
		assert_true(p.codes[0].retry_after_ms <= TEN_YEARS_MS);
		assert_true(p.codes[0].retry_after_ms >= -1);
	}
}

static void a_declared_code_needs_a_well_formed_name(void **state UNUSED)
{
	static const char *const bad[] = { "", "lower", "A", "9A", "A-B", "A\nB", "É" };
	struct plan p = fresh();
	char name[80];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		plan_take_exit(&p, RECEIVED(EXIT, STR(name, bad[i]), INT(exit_code, 80)));
	plan_take_exit(&p, RECEIVED(EXIT, INT(exit_code, 80)));
	assert_int_equal(p.code_count, 0);
	for (int i = 0; i < PLAN_MAX_CODES + 10; i++) {
		snprintf(name, sizeof(name), "CODE_%d", i);
		plan_take_exit(&p, RECEIVED(EXIT, STR(name, name), STR(retryable, "perhaps"),
		                            STR(side_effects, "some"), STR(retry_strategy, "often")));
	}
	assert_int_equal(p.code_count, PLAN_MAX_CODES);
	assert_int_equal(p.codes[0].retryable, RETRYABLE_INHERIT);
	assert_int_equal(p.codes[0].side_effects, SIDE_EFFECTS_INHERIT);
	assert_int_equal(p.codes[0].strategy, RETRY_STRATEGY_NONE);
}

static void long_names_are_cut_and_long_items_of_on_left_out(void **state UNUSED)
{
	struct plan p = fresh();
	struct buf list = BUF_INIT;
	char longer[4096];

	memset(longer, 'X', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	buf_add(&list, longer, sizeof(longer));
	for (int i = 0; i < PLAN_MAX_ON + 5; i++)
		buf_add(&list, "TIMEOUT", 8);
	plan_take(&p, RECEIVED(PLAN, STR(command, longer), STR(digest, longer), STR(schema_version, longer),
	                       BYTES(on, list.data, list.len)));
	assert_int_equal(strlen(p.command), PLAN_NAME - 1);
	assert_int_equal(strlen(p.digest), PLAN_NAME - 1);
	assert_string_equal(p.schema_version, "1.0");
	assert_int_equal(p.on_count, PLAN_MAX_ON);
	assert_string_equal(p.on[0], "TIMEOUT");
	buf_release(&list);
}

static void a_schema_version_is_two_numbers_or_the_default(void **state UNUSED)
{
	static const char *const bad[] = { "", "1", ".", "1.", ".1", "1.0.0", "v1.0", "1.0\n", "\"1.0", "1,0" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct plan p = fresh();

		plan_take(&p, RECEIVED(PLAN, STR(schema_version, bad[i])));
		assert_string_equal(p.schema_version, "1.0");
	}
	struct plan p = fresh();

	plan_take(&p, RECEIVED(PLAN, STR(schema_version, "12.34")));
	assert_string_equal(p.schema_version, "12.34");
}

/* Retryable, or "maybe" where the policy says so; in `on`, or with no side effects
 * where there is no `on` (docs/design.md#what-is-retried). */
static void a_code_is_retried_as_the_design_says_in_every_combination(void **state UNUSED)
{
	static const char *const ons[] = { NULL, "TIMEOUT", "OPERATION_TIMEOUT", "CONFLICT" };

	for (int retryable = RETRYABLE_FALSE; retryable <= RETRYABLE_MAYBE; retryable++)
		for (int effects = SIDE_EFFECTS_NONE; effects <= SIDE_EFFECTS_PARTIAL; effects++)
			for (int maybe = 0; maybe <= 1; maybe++)
				for (size_t on = 0; on < ARRAY_LEN(ons); on++) {
					struct hints h = { .retryable = (enum retryable)retryable,
						           .side_effects = (enum side_effects)effects };
					struct plan p = fresh();
					bool allowed = retryable == RETRYABLE_TRUE ||
					               (retryable == RETRYABLE_MAYBE && maybe);
					bool listed = on == 0 ? effects == SIDE_EFFECTS_NONE : on < 3;

					p.retry_maybe = maybe;
					if (ons[on])
						strcpy(p.on[p.on_count++], ons[on]);
					assert_int_equal(plan_retries_code(&p, "OPERATION_TIMEOUT", &h), allowed && listed);
				}
}

/* It has stopped on purpose (REQ-F-082): only who names it in `on` gets another attempt. */
static void what_is_incomplete_is_not_retried_unasked(void **state UNUSED)
{
	struct hints h = { .retryable = RETRYABLE_TRUE, .side_effects = SIDE_EFFECTS_NONE, .entry = EXIT_ENTRY_INCOMPLETE };
	struct plan p = fresh();

	assert_false(plan_retries_code(&p, "INCOMPLETE", &h));
	strcpy(p.on[p.on_count++], "INCOMPLETE");
	assert_true(plan_retries_code(&p, "INCOMPLETE", &h));
}

static int forget(void **state UNUSED)
{
	forget_frames();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_plan_leaves_the_defaults_of_the_design),
		cmocka_unit_test(what_stdout_carries_is_known_by_name_and_an_unknown_name_is_the_answer),
		cmocka_unit_test(only_a_server_has_another_limit_once_it_runs),
		cmocka_unit_test(every_limit_is_clamped_so_that_arithmetic_can_not_overflow),
		cmocka_unit_test(retries_and_jitter_stay_where_one_more_still_fits),
		cmocka_unit_test(delays_are_counted_and_clamped),
		cmocka_unit_test(every_format_and_table_is_read_and_an_unknown_one_changes_nothing),
		cmocka_unit_test(before_a_plan_the_caller_decides),
		cmocka_unit_test(what_is_incomplete_is_not_retried_unasked),
		cmocka_unit_test(the_first_plan_rules_the_run),
		cmocka_unit_test(only_79_to_125_are_a_commands_own_numbers),
		cmocka_unit_test(a_declared_code_needs_a_well_formed_name),
		cmocka_unit_test(long_names_are_cut_and_long_items_of_on_left_out),
		cmocka_unit_test(a_schema_version_is_two_numbers_or_the_default),
		cmocka_unit_test(a_code_is_retried_as_the_design_says_in_every_combination),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
