/*
 * test_names.c: every enumeration by name and back, as users write it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/common/names.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The contract: reference.md and the envelope's schema say the same words. */
static const struct {
	enum names set;
	const char *key;
	int first; /* value of the first name */
	const char *const *names;
} expected[] = {
	{ NAMES_RETRYABLE, "retryable", RETRYABLE_FALSE, LIST("false", "true", "maybe") },
	{ NAMES_SIDE_EFFECTS, "side_effects", SIDE_EFFECTS_NONE, LIST("none", "complete", "partial") },
	{ NAMES_RETRY_STRATEGY, "retry_strategy", RETRY_STRATEGY_IMMEDIATE,
	  LIST("immediate", "linear_backoff", "exponential_backoff") },
	{ NAMES_EXIT_TABLE, "exit_table", EXIT_TABLE_STANDARD, LIST("standard", "classic") },
	{ NAMES_BACKOFF, "strategy", BACKOFF_CONSTANT,
	  LIST("constant", "linear", "exponential", "fibonacci", "custom") },
	{ NAMES_JITTER, "jitter", JITTER_NONE, LIST("none", "factor", "full", "equal", "decorrelated") },
	{ NAMES_FORMAT, "format", FORMAT_JSON, LIST("json", "jsonl", "tsv", "plain", "table", "id", "text") },
	{ NAMES_DANGER_LEVEL, "danger_level", DANGER_LEVEL_SAFE, LIST("safe", "mutating", "destructive") },
};

static void every_value_has_its_name_and_reads_back(void **state UNUSED)
{
	assert_int_equal(ARRAY_LEN(expected), NAMES_COUNT);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		int value = expected[i].first;

		for (const char *const *name = expected[i].names; *name; name++, value++) {
			assert_string_equal(name_of(expected[i].set, value), *name);
			assert_int_equal(name_parse(expected[i].set, *name), value);
		}
		assert_int_equal(names_end(expected[i].set), value);
	}
}

static void values_without_a_name_have_none(void **state UNUSED)
{
	assert_null(name_of(NAMES_RETRYABLE, RETRYABLE_INHERIT));
	assert_null(name_of(NAMES_SIDE_EFFECTS, SIDE_EFFECTS_INHERIT));
	assert_null(name_of(NAMES_RETRY_STRATEGY, RETRY_STRATEGY_NONE));
	for (int set = 0; set < NAMES_COUNT; set++) {
		assert_null(name_of((enum names)set, -1));
		assert_null(name_of((enum names)set, names_end((enum names)set)));
		assert_null(name_of((enum names)set, INT32_MAX));
	}
}

static void other_names_are_refused(void **state UNUSED)
{
	static const char *const wrong[] = { "", "None", "yes", "standard ", "quadratic", "SAFE" };

	for (int set = 0; set < NAMES_COUNT; set++) {
		assert_int_equal(name_parse((enum names)set, NULL), -1);
		for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
			assert_int_equal(name_parse((enum names)set, wrong[i]), -1);
	}
	assert_int_equal(name_parse(NAMES_RETRY_STRATEGY, "none"), -1);
}

static void enumerations_are_found_by_the_key_that_users_know(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_int_equal(names_find(expected[i].key), expected[i].set);
	assert_int_equal(names_find("backoff"), -1);
	assert_int_equal(names_find(""), -1);
}

/* "The worst" is the greatest (supervisor/verdict.c). */
static void side_effects_grow_worse_with_their_value(void **state UNUSED)
{
	assert_true(SIDE_EFFECTS_NONE < SIDE_EFFECTS_COMPLETE && SIDE_EFFECTS_COMPLETE < SIDE_EFFECTS_PARTIAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_has_its_name_and_reads_back),
		cmocka_unit_test(values_without_a_name_have_none),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(enumerations_are_found_by_the_key_that_users_know),
		cmocka_unit_test(side_effects_grow_worse_with_their_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
