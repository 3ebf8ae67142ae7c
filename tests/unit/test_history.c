/*
 * test_history.c: the rows of meta.retry_history.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/history.h"

static struct history history;
static struct report report;
static struct buf out;

static int open_history(void **state UNUSED)
{
	report_init(&report);
	report_fail(&report, "UNAVAILABLE", "it failed");
	return 0;
}

static int close_history(void **state UNUSED)
{
	report_release(&report);
	for (int i = 0; i < HISTORY_MAX; i++)
		buf_release(&history.row[i]);
	history.count = 0;
	buf_release(&out);
	return 0;
}

static const char *written(void)
{
	struct json_writer w = JSON_WRITER_INIT(&out);

	buf_clear(&out);
	history_write(&history, &w);
	assert_int_equal(json_check(out.data, out.len), JSON_ARRAY);
	return buf_cstr(&out);
}

static void a_row_names_the_attempt_its_failure_and_the_wait(void **state UNUSED)
{
	assert_string_equal(written(), "[]");
	history_add(&history, 1, &report, 100);
	history_add(&history, 2, &report, -1);
	assert_string_equal(written(),
	                    "[{\"attempt\":1,\"code\":\"UNAVAILABLE\",\"message\":\"it failed\",\"duration_ms\":0,\"delay_ms\":100},"
	                    "{\"attempt\":2,\"code\":\"UNAVAILABLE\",\"message\":\"it failed\",\"duration_ms\":0,\"delay_ms\":null}]");
}

static void the_newest_20_rows_are_kept_in_order(void **state UNUSED)
{
	const char *at;
	char wanted[32];

	for (int i = 1; i <= 50; i++)
		history_add(&history, i, &report, 1);
	at = strstr(written(), "[{\"attempt\":31,");
	assert_ptr_equal(at, out.data);
	for (int i = 31; i <= 50; i++) {
		snprintf(wanted, sizeof(wanted), "{\"attempt\":%d,", i);
		at = strstr(at, wanted);
		assert_non_null(at);
	}
	assert_null(strstr(out.data, "\"attempt\":30,"));
}

static void a_row_that_lost_bytes_is_known(void **state UNUSED)
{
	history_add(&history, 1, &report, 1);
	assert_false(history_failed(&history));
	history.row[0].failed = true;
	assert_true(history_failed(&history));
	history.row[0].failed = false;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_history, close_history)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_names_the_attempt_its_failure_and_the_wait),
		TEST(the_newest_20_rows_are_kept_in_order),
		TEST(a_row_that_lost_bytes_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
