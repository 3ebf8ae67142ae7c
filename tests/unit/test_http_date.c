/*
 * test_http_date.c: HTTP dates and Retry-After, against gmtime_r as the
 * independent model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/common/http_date.h"

#define NOV_1994 784111777 /* the RFC's own example */

static const char *const DAY[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
	                           "Thursday", "Friday", "Saturday" };
static const char *const MONTH[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
	                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

static int parse(const char *text, int64_t now, int64_t *seconds)
{
	return http_date_parse(text, strlen(text), now, seconds);
}

static int64_t retry_after(const char *text, int64_t now)
{
	return http_retry_after_ms(text, strlen(text), now);
}

static void imf(char out[64], const struct tm *t)
{
	snprintf(out, 64, "%.3s, %02d %s %04d %02d:%02d:%02d GMT", DAY[t->tm_wday], t->tm_mday,
	         MONTH[t->tm_mon], t->tm_year + 1900, t->tm_hour, t->tm_min, t->tm_sec);
}

static void rfc850(char out[64], const struct tm *t)
{
	snprintf(out, 64, "%s, %02d-%s-%02d %02d:%02d:%02d GMT", DAY[t->tm_wday], t->tm_mday,
	         MONTH[t->tm_mon], t->tm_year % 100, t->tm_hour, t->tm_min, t->tm_sec);
}

static void asctime_form(char out[64], const struct tm *t)
{
	snprintf(out, 64, "%.3s %s %2d %02d:%02d:%02d %04d", DAY[t->tm_wday], MONTH[t->tm_mon],
	         t->tm_mday, t->tm_hour, t->tm_min, t->tm_sec, t->tm_year + 1900);
}

static void assert_reads(const char *text, int64_t now, int64_t expected)
{
	int64_t got = -1;

	if (parse(text, now, &got) != 0 || got != expected)
		fail_msg("'%s': expected %lld, got %lld", text, (long long)expected,
		         (long long)got);
}

static void the_three_forms_of_the_rfc_are_one_instant(void **state)
{
	(void)state;
	assert_reads("Sun, 06 Nov 1994 08:49:37 GMT", 0, NOV_1994);
	assert_reads("Sunday, 06-Nov-94 08:49:37 GMT", NOV_1994, NOV_1994);
	assert_reads("Sun Nov  6 08:49:37 1994", 0, NOV_1994);
}

/* 97 is prime to the day, so the time of day wanders as well. */
static void every_day_of_two_centuries_reads_back_in_every_form(void **state)
{
	(void)state;
	for (int64_t at = -2208988800; at < 4102444800; at += 86400 + 97) {
		char text[64];
		time_t wall = (time_t)at;
		struct tm t;

		assert_non_null(gmtime_r(&wall, &t));
		imf(text, &t);
		assert_reads(text, 0, at);
		rfc850(text, &t);
		assert_reads(text, at, at);
		asctime_form(text, &t);
		assert_reads(text, 0, at);
	}
}

static void a_two_digit_year_is_the_one_within_fifty_years(void **state)
{
	(void)state;
	assert_reads("Saturday, 01-Jan-00 00:00:00 GMT", 915148800, 946684800);  /* from 1999 */
	assert_reads("Friday, 31-Dec-99 23:59:59 GMT", 1767225600, 946684799);   /* from 2026 */
	assert_reads("Tuesday, 01-Jan-30 00:00:00 GMT", 1767225600, 1893456000); /* from 2026 */
}

static void leap_days_and_leap_seconds_exist_where_they_should(void **state)
{
	int64_t got;

	(void)state;
	assert_reads("Tue, 29 Feb 2000 00:00:00 GMT", 0, 951782400);
	assert_reads("Sat, 31 Dec 2016 23:59:60 GMT", 0, 1483228800);
	assert_int_equal(parse("Mon, 29 Feb 2100 00:00:00 GMT", 0, &got), -1);
	assert_int_equal(parse("Wed, 29 Feb 2023 00:00:00 GMT", 0, &got), -1);
}

static void anything_but_a_date_is_refused(void **state)
{
	static const char *const BAD[] = {
		"",
		" ",
		"Sun",
		"Sun, 06 Nov 1994 08:49:37",
		"Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 Nov 1994 08:49:37 +0000",
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 94 08:49:37 GMT",
		"Sun, 06 nov 1994 08:49:37 GMT",
		"sun, 06 Nov 1994 08:49:37 GMT",
		"Mon, 06 Nov 1994 08:49:37 GMT",
		"Sun,  06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 GMT ",
		" Sun, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nov 1994 08:60:37 GMT",
		"Sun, 06 Nov 1994 08:49:61 GMT",
		"Sun, 00 Nov 1994 08:49:37 GMT",
		"Sun, 31 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 -8:49:37 GMT",
		"Sunday, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06-Nov-94 08:49:37 GMT",
		"Sun Nov 6 08:49:37 1994",
		"Sun Nov 06 08:49:37 1994 GMT",
		"1994-11-06T08:49:37Z",
	};
	int64_t got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		if (parse(BAD[i], NOV_1994, &got) == 0)
			fail_msg("'%s' was accepted", BAD[i]);
}

static void no_prefix_of_a_date_is_a_date(void **state)
{
	const char *text = "Sunday, 06-Nov-94 08:49:37 GMT";
	int64_t got;

	(void)state;
	for (size_t n = 0; n < strlen(text); n++)
		assert_int_equal(http_date_parse(text, n, NOV_1994, &got), -1);
}

static void retry_after_takes_seconds_and_dates(void **state)
{
	(void)state;
	assert_int_equal(retry_after("120", 0), 120000);
	assert_int_equal(retry_after("0", 0), 0);
	assert_int_equal(retry_after("007", 0), 7000);
	assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", NOV_1994 - 30), 30000);
	assert_int_equal(retry_after("Sun Nov  6 08:49:37 1994", NOV_1994 - 5), 5000);
}

static void a_retry_after_in_the_past_is_now_and_an_absurd_one_is_capped(void **state)
{
	(void)state;
	assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", NOV_1994 + 1), 0);
	assert_int_equal(retry_after("31536001", 0), RETRY_AFTER_MAX_MS);
	assert_int_equal(retry_after("99999999999999999999999999999999", 0), RETRY_AFTER_MAX_MS);
	assert_int_equal(retry_after("Fri, 31 Dec 9999 23:59:59 GMT", 0), RETRY_AFTER_MAX_MS);
}

static void a_retry_after_that_is_neither_is_ignored(void **state)
{
	static const char *const BAD[] = { "", "-1", "+1", "1.5", "soon", "1 s", " 1", "0x10", "1e3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_int_equal(retry_after(BAD[i], 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_forms_of_the_rfc_are_one_instant),
		cmocka_unit_test(every_day_of_two_centuries_reads_back_in_every_form),
		cmocka_unit_test(a_two_digit_year_is_the_one_within_fifty_years),
		cmocka_unit_test(leap_days_and_leap_seconds_exist_where_they_should),
		cmocka_unit_test(anything_but_a_date_is_refused),
		cmocka_unit_test(no_prefix_of_a_date_is_a_date),
		cmocka_unit_test(retry_after_takes_seconds_and_dates),
		cmocka_unit_test(a_retry_after_in_the_past_is_now_and_an_absurd_one_is_capped),
		cmocka_unit_test(a_retry_after_that_is_neither_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
