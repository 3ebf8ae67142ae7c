/*
 * test_hint.c: what an error code means for a command. Precedence is tested field by
 * field; that each error says whether and when to retry, over the whole registry
 * (REQ-C-014, docs/design.md#hint-precedence).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/hint.h"

#define SILENT_ROW(name_) \
	{ name_, -1, RETRYABLE_INHERIT, SIDE_EFFECTS_INHERIT, -1, RETRY_STRATEGY_NONE }

static struct hints resolve(const char *code, const struct own_hints *own,
                            const struct declared_code *rows, size_t count)
{
	struct declared_codes declared = { rows, count };

	return hints_resolve(code, own, &declared, EXIT_TABLE_STANDARD);
}

static struct hints registry(const char *code)
{
	return hints_resolve(code, NULL, NULL, EXIT_TABLE_STANDARD);
}

/* --- the registry alone ---------------------------------------------------------- */

static void every_registry_code_takes_its_entrys_number_in_both_tables(void **state UNUSED)
{
	const struct code_row *row;

	for (size_t i = 0; (row = code_at(i)) != NULL; i++)
		for (int t = EXIT_TABLE_STANDARD; t <= EXIT_TABLE_CLASSIC; t++) {
			struct hints h = hints_resolve(row->name, NULL, NULL, (enum exit_table)t);

			assert_true(h.known);
			assert_int_equal(h.entry, row->entry);
			assert_int_equal(h.exit_code, exit_row(row->entry)->number[t]);
			assert_int_equal(h.side_effects, exit_row(row->entry)->side_effects);
			assert_ptr_equal(h.hint, row->hint);
		}
}

static void the_seeds_numbers_and_hints_hold(void **state UNUSED)
{
	struct hints h = registry("RATE_LIMITED");

	assert_int_equal(h.exit_code, 11);
	assert_int_equal(h.retryable, RETRYABLE_TRUE);
	assert_int_equal(h.retry_after_ms, 60000);
	assert_int_equal(h.strategy, RETRY_STRATEGY_EXPONENTIAL_BACKOFF);
	h = registry("TIMEOUT");
	assert_int_equal(h.exit_code, 10);
	assert_int_equal(h.retry_after_ms, 0);
	assert_int_equal(h.strategy, RETRY_STRATEGY_IMMEDIATE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_NONE);
	assert_int_equal(hints_resolve("TIMEOUT", NULL, NULL, EXIT_TABLE_CLASSIC).exit_code, 7);
	h = registry("LOCK_HELD"); /* the code's own answer beats its entry's */
	assert_int_equal(h.exit_code, 4);
	assert_int_equal(h.retryable, RETRYABLE_TRUE);
	assert_int_equal(h.strategy, RETRY_STRATEGY_LINEAR_BACKOFF);
	assert_int_equal(registry("COMMAND_CRASHED").retryable, RETRYABLE_MAYBE);
	assert_int_equal(registry("VALIDATION_ERROR").exit_code, 2);
	assert_int_equal(registry("CANCELLED").exit_code, 130);
}

static void an_unknown_code_is_a_general_error_that_says_so(void **state UNUSED)
{
	struct hints h = registry("NO_SUCH_CODE");

	assert_false(h.known);
	assert_int_equal(h.entry, EXIT_ENTRY_GENERAL_ERROR);
	assert_int_equal(h.exit_code, 1);
	assert_int_equal(h.retryable, RETRYABLE_FALSE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_PARTIAL);
	assert_null(h.hint);
}

/* --- precedence ------------------------------------------------------------------ */

/* RATE_LIMIT_EXCEEDED: code and entry differ and all five sources can speak. */
#define CODE "RATE_LIMIT_EXCEEDED"
#define ENTRY "RATE_LIMITED"

static struct declared_code *speak(struct declared_code *d, int64_t ms)
{
	d->retryable = RETRYABLE_MAYBE;
	d->side_effects = SIDE_EFFECTS_COMPLETE;
	d->retry_after_ms = ms;
	d->strategy = RETRY_STRATEGY_LINEAR_BACKOFF;
	return d;
}

static void each_source_wins_over_all_below_it(void **state UNUSED)
{
	for (unsigned mask = 0; mask < 8; mask++) {
		struct own_hints own = OWN_HINTS_NONE;
		struct declared_code rows[] = { SILENT_ROW("OTHER"), SILENT_ROW(ENTRY), SILENT_ROW(CODE) };
		int64_t want = mask & 4 ? 11 : mask & 2 ? 22 : mask & 1 ? 33 : 30000;
		struct hints h;

		if (mask & 4)
			own.retry_after_ms = 11;
		if (mask & 2)
			rows[2].retry_after_ms = 22;
		if (mask & 1)
			rows[1].retry_after_ms = 33;
		h = resolve(CODE, &own, rows, ARRAY_LEN(rows));
		assert_int_equal(h.retry_after_ms, want);
		assert_int_equal(h.retryable, RETRYABLE_TRUE);
		assert_int_equal(h.exit_code, 11);
	}
}

static void every_field_finds_its_own_source(void **state UNUSED)
{
	struct own_hints own = OWN_HINTS_NONE;
	struct declared_code rows[] = { SILENT_ROW(ENTRY), SILENT_ROW(CODE) };
	struct hints h;

	own.retryable = RETRYABLE_FALSE;
	rows[1].side_effects = SIDE_EFFECTS_PARTIAL;
	speak(&rows[0], 44);
	h = resolve(CODE, &own, rows, 2);
	assert_int_equal(h.retryable, RETRYABLE_FALSE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_PARTIAL);
	assert_int_equal(h.retry_after_ms, 44);
	assert_int_equal(h.strategy, RETRY_STRATEGY_LINEAR_BACKOFF);
	own.strategy = RETRY_STRATEGY_IMMEDIATE;
	own.side_effects = SIDE_EFFECTS_NONE;
	h = resolve(CODE, &own, rows, 2);
	assert_int_equal(h.strategy, RETRY_STRATEGY_IMMEDIATE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_NONE);
}

static void a_declaration_of_the_entry_reaches_every_code_of_it(void **state UNUSED)
{
	struct declared_code rows[] = { SILENT_ROW("UNAVAILABLE") };

	rows[0].retry_after_ms = 7;
	assert_int_equal(resolve("UNAVAILABLE", NULL, rows, 1).retry_after_ms, 7);
	assert_int_equal(resolve("NETWORK_ERROR", NULL, rows, 1).retry_after_ms, 7);
	assert_int_equal(resolve("TIMEOUT", NULL, rows, 1).retry_after_ms, 0);
}

static void a_declared_retryable_alone_gets_the_default_wait(void **state UNUSED)
{
	struct declared_code rows[] = { SILENT_ROW("CONFLICT") };
	struct hints h;

	rows[0].retryable = RETRYABLE_TRUE;
	h = resolve("CONFLICT", NULL, rows, 1);
	assert_int_equal(h.retryable, RETRYABLE_TRUE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_NONE);
	assert_int_equal(h.retry_after_ms, 1000);
	assert_int_equal(h.strategy, RETRY_STRATEGY_EXPONENTIAL_BACKOFF);
	assert_int_equal(h.exit_code, 6);
}

static void a_commands_own_code_has_its_own_number_and_no_entry(void **state UNUSED)
{
	struct declared_code rows[] = { SILENT_ROW("GENERAL_ERROR"), SILENT_ROW("LOCKED") };
	struct hints h;

	rows[0].retry_after_ms = 5; /* none of LOCKED's business */
	rows[0].retryable = RETRYABLE_MAYBE;
	rows[1].exit_code = 79;
	h = resolve("LOCKED", NULL, rows, 2);
	assert_true(h.known);
	assert_int_equal(h.entry, -1);
	assert_int_equal(h.exit_code, 79);
	assert_int_equal(h.retryable, RETRYABLE_FALSE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_PARTIAL);
	assert_int_equal(h.retry_after_ms, 1000);
	speak(&rows[1], 5000);
	h = hints_resolve("LOCKED", NULL, &(struct declared_codes){ rows, 2 }, EXIT_TABLE_CLASSIC);
	assert_int_equal(h.exit_code, 79);
	assert_int_equal(h.retryable, RETRYABLE_MAYBE);
	assert_int_equal(h.retry_after_ms, 5000);
}

static void deploys_declaration_of_req_c_014_holds(void **state UNUSED)
{
	struct declared_code rows[] = {
		{ "TIMEOUT", -1, RETRYABLE_TRUE, SIDE_EFFECTS_PARTIAL, 0, RETRY_STRATEGY_IMMEDIATE },
		{ "RATE_LIMITED", -1, RETRYABLE_INHERIT, SIDE_EFFECTS_INHERIT, 30000,
		  RETRY_STRATEGY_EXPONENTIAL_BACKOFF },
	};
	struct hints h = resolve("TIMEOUT", NULL, rows, 2);

	assert_int_equal(h.retryable, RETRYABLE_TRUE);
	assert_int_equal(h.side_effects, SIDE_EFFECTS_PARTIAL);
	assert_int_equal(h.retry_after_ms, 0);
	assert_int_equal(resolve("RATE_LIMITED", NULL, rows, 2).retry_after_ms, 30000);
}

/* --- promises -------------------------------------------------------------------- */

static void check_complete(const struct code_row *row, struct hints h)
{
	assert_int_not_equal(h.retryable, RETRYABLE_INHERIT);
	assert_int_not_equal(h.side_effects, SIDE_EFFECTS_INHERIT);
	assert_int_not_equal(h.strategy, RETRY_STRATEGY_NONE);
	assert_true(h.retry_after_ms >= 0);
	if (row->entry == EXIT_ENTRY_RATE_LIMITED)
		assert_true(h.retry_after_ms > 0);
}

static void every_field_is_decided_whatever_the_sources_set(void **state UNUSED)
{
	const struct code_row *row;

	for (size_t i = 0; (row = code_at(i)) != NULL; i++) {
		for (int said = 0; said < 4 * 3 * 3; said++) {
			struct own_hints own = { (enum retryable)(said % 4), SIDE_EFFECTS_INHERIT,
				                 said / 4 % 3 - 1, RETRY_STRATEGY_NONE };
			struct declared_code d = SILENT_ROW("");

			strcpy(d.name, exit_row(row->entry)->name);
			d.retry_after_ms = said / 12 - 1;
			check_complete(row, resolve(row->name, &own, &d, 1));
		}
	}
}

static void a_rate_limit_that_says_wait_zero_falls_to_the_next_source(void **state UNUSED)
{
	struct own_hints own = OWN_HINTS_NONE;
	struct declared_code rows[] = { SILENT_ROW("RATE_LIMITED") };

	own.retry_after_ms = 0;
	assert_int_equal(resolve(CODE, &own, NULL, 0).retry_after_ms, 30000);
	rows[0].retry_after_ms = 250;
	assert_int_equal(resolve(CODE, &own, rows, 1).retry_after_ms, 250);
	assert_int_equal(resolve("UNAVAILABLE", &own, NULL, 0).retry_after_ms, 0);
}

static void a_name_of_on_matches_a_code_or_its_entry(void **state UNUSED)
{
	assert_true(hint_name_matches("UNAVAILABLE", "UNAVAILABLE"));
	assert_true(hint_name_matches("UNAVAILABLE", "NETWORK_ERROR"));
	assert_false(hint_name_matches("NETWORK_ERROR", "UNAVAILABLE"));
	assert_false(hint_name_matches("TIMEOUT", "NETWORK_ERROR"));
	assert_true(hint_name_matches("LOCKED", "LOCKED"));
	assert_false(hint_name_matches("GENERAL_ERROR", "LOCKED"));
	assert_true(hint_name_matches("PRECONDITION", "LOCK_HELD"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_registry_code_takes_its_entrys_number_in_both_tables),
		cmocka_unit_test(the_seeds_numbers_and_hints_hold),
		cmocka_unit_test(an_unknown_code_is_a_general_error_that_says_so),
		cmocka_unit_test(each_source_wins_over_all_below_it),
		cmocka_unit_test(every_field_finds_its_own_source),
		cmocka_unit_test(a_declaration_of_the_entry_reaches_every_code_of_it),
		cmocka_unit_test(a_declared_retryable_alone_gets_the_default_wait),
		cmocka_unit_test(a_commands_own_code_has_its_own_number_and_no_entry),
		cmocka_unit_test(deploys_declaration_of_req_c_014_holds),
		cmocka_unit_test(every_field_is_decided_whatever_the_sources_set),
		cmocka_unit_test(a_rate_limit_that_says_wait_zero_falls_to_the_next_source),
		cmocka_unit_test(a_name_of_on_matches_a_code_or_its_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
