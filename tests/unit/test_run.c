/*
 * test_run.c: the counts of a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

static void retries_are_attempts_after_the_first_and_those_inside(void **state UNUSED)
{
	struct run run;

	run_open(&run);
	assert_int_equal(run_repeats(&run), 0);
	run.attempts = 3;
	run.inner_repeats = 4;
	assert_int_equal(run_repeats(&run), 6);
	run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retries_are_attempts_after_the_first_and_those_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
