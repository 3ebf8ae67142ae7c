/*
 * test_verdict.c: side effects and exit code of a run.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/supervisor/verdict.h"

static void side_effects_of_a_run_are_the_worst_of_its_attempts_in_any_order(void **state UNUSED)
{
	for (int a = SIDE_EFFECTS_NONE; a <= SIDE_EFFECTS_PARTIAL; a++)
		for (int b = SIDE_EFFECTS_NONE; b <= SIDE_EFFECTS_PARTIAL; b++) {
			struct hints first = { .side_effects = (enum side_effects)a };
			struct hints second = { .side_effects = (enum side_effects)b };
			struct verdict v = { .worst_effects = SIDE_EFFECTS_INHERIT };

			verdict_note_effects(&v, &first);
			assert_int_equal(v.worst_effects, a);
			verdict_note_effects(&v, &second);
			assert_int_equal(v.worst_effects, MAX_OF(a, b));
		}
}

static void success_is_0_whatever_the_hints_say(void **state UNUSED)
{
	struct verdict v = { .report = { .ok = true }, .hints = { .exit_code = 7 } };

	assert_int_equal(verdict_exit_code(&v), 0);
}

static void a_signal_has_the_number_that_a_shell_would_show(void **state UNUSED)
{
	static const int rows[][2] = { { SIGINT, 130 }, { SIGTERM, 143 }, { SIGHUP, 143 }, { SIGQUIT, 143 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct verdict v = { .report = { .verdict = VERDICT_SIGNAL, .signal = rows[i][0] } };

		assert_int_equal(verdict_exit_code(&v), rows[i][1]);
	}
}

/* 2 promises that nothing was touched. */
static void an_argument_error_is_2_before_run_and_1_after(void **state UNUSED)
{
	struct verdict v = { .report = { .verdict = VERDICT_RESULT },
	                     .hints = { .entry = EXIT_ENTRY_ARG_ERROR, .exit_code = 2 } };

	assert_int_equal(verdict_exit_code(&v), 2);
	v.report.entered_run = true;
	assert_int_equal(verdict_exit_code(&v), 1);
	v.hints.entry = EXIT_ENTRY_NOT_FOUND;
	v.hints.exit_code = 5;
	assert_int_equal(verdict_exit_code(&v), 5);
}

static void a_repeated_answer_keeps_its_number(void **state UNUSED)
{
	struct verdict v = { .report = { .verdict = VERDICT_RESULT, .entered_run = true, .exit_code = 2 },
	                     .hints = { .entry = EXIT_ENTRY_ARG_ERROR, .exit_code = 2 } };

	assert_int_equal(verdict_exit_code(&v), 2);
	v.report.exit_code = 93;
	assert_int_equal(verdict_exit_code(&v), 93);
	v.report.ok = true;
	assert_int_equal(verdict_exit_code(&v), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(side_effects_of_a_run_are_the_worst_of_its_attempts_in_any_order),
		cmocka_unit_test(success_is_0_whatever_the_hints_say),
		cmocka_unit_test(a_signal_has_the_number_that_a_shell_would_show),
		cmocka_unit_test(an_argument_error_is_2_before_run_and_1_after),
		cmocka_unit_test(a_repeated_answer_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
