/*
 * test_mono.c: deadlines never wrap, waits are exact, durations are read and
 * written as users mean them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/mono.h"

#define TEN_YEARS_MS (INT64_C(3650) * 86400 * 1000)

static void time_never_runs_backwards(void **state UNUSED)
{
	mono_t last = mono_now();
	assert_true(last > 0);
	for (int i = 0; i < 1000; i++) {
		mono_t now = mono_now();
		assert_true(now >= last);
		last = now;
	}
}

static void adding_milliseconds_saturates_at_never(void **state UNUSED)
{
	assert_true(mono_add_ms(5, 3) == 3000005);
	assert_true(mono_add_ms(3000005, -3) == 5);
	assert_true(mono_add_ms(1, INT64_MAX) == MONO_NEVER);
	assert_true(mono_add_ms(MONO_NEVER - 1, 1) == MONO_NEVER);
	assert_true(mono_add_ms(MONO_NEVER, 0) == MONO_NEVER);
	assert_true(mono_add_ms(MONO_NEVER, -1000) == MONO_NEVER);
	assert_true(mono_add_ms(0, INT64_MIN) < 0);
}

static void a_limit_of_zero_sets_no_deadline(void **state UNUSED)
{
	assert_true(mono_deadline(77, 0) == MONO_NEVER);
	assert_true(mono_deadline(77, 1) == 1000077);
	assert_true(mono_deadline(77, INT64_MAX) == MONO_NEVER);
}

static void elapsed_time_is_rounded_down_and_never_negative(void **state UNUSED)
{
	assert_true(mono_elapsed_ms(0, 1999999) == 1);
	assert_true(mono_elapsed_ms(0, 2000000) == 2);
	assert_true(mono_elapsed_ms(10, 10) == 0);
	assert_true(mono_elapsed_ms(2000000, 0) == 0);
	assert_true(mono_elapsed_ms(INT64_MIN, INT64_MAX) > 0);
}

static void time_left_is_exact_zero_when_past_and_null_when_never(void **state UNUSED)
{
	struct timespec ts;
	assert_null(mono_left(MONO_NEVER, 0, &ts));
	assert_ptr_equal(mono_left(2000000003, 2, &ts), &ts);
	assert_int_equal(ts.tv_sec, 2);
	assert_int_equal(ts.tv_nsec, 1);
	assert_non_null(mono_left(5, 6, &ts));
	assert_int_equal(ts.tv_sec, 0);
	assert_int_equal(ts.tv_nsec, 0);
	assert_non_null(mono_left(MONO_NEVER - 1, -5, &ts));
	assert_true(ts.tv_sec > 0);
}

struct reading {
	const char *text;
	int64_t ms; /* -1: refused */
};

static void check_reading(const char *text, size_t len, int64_t expected)
{
	int64_t ms = -7;
	int rc = duration_parse(text, len, &ms);
	if (rc != (expected < 0 ? -1 : 0) || (rc == 0 && ms != expected))
		fail_msg("'%.*s' reads as %d, %lld ms", (int)len, text, rc, (long long)ms);
}

static void durations_read_as_users_write_them(void **state UNUSED)
{
	static const struct reading rows[] = {
		{ "500ms", 500 }, { "2s", 2000 }, { "1.5s", 1500 }, { "5m", 300000 },
		{ "1h", 3600000 }, { "2d", 172800000 }, { "30", 30000 }, { "0.25", 250 },
		{ "none", 0 }, { "0", 0 }, { "0s", 0 }, { "0.000ms", 0 }, { "007s", 7000 },
		{ "0.5h", 1800000 }, { "1.001s", 1001 }, { "0.1s", 100 }, { "0.07", 70 },
		{ "0.30000000000000004", 300 }, { "3650d", TEN_YEARS_MS },
		{ "315360000000ms", TEN_YEARS_MS }, { "0000000000000000000000000001s", 1000 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_reading(rows[i].text, strlen(rows[i].text), rows[i].ms);
}

static void durations_round_to_the_nearest_but_never_to_nothing(void **state UNUSED)
{
	static const struct reading rows[] = {
		{ "1.4ms", 1 }, { "1.5ms", 2 }, { "0.0004s", 1 }, { "0.1ms", 1 },
		{ "0.000000000000000000001s", 1 }, { "1.9999s", 2000 }, { "1.9994s", 1999 },
		{ "0.99999999999999999999d", 86400000 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_reading(rows[i].text, strlen(rows[i].text), rows[i].ms);
}

static void anything_but_a_duration_is_refused(void **state UNUSED)
{
	static const char *const texts[] = {
		"", "s", "ms", ".", ".5", ".5s", "5.", "5.s", "-1s", "-0", "+1s", "1 s", " 1s",
		"1s ", "1S", "1M", "1sec", "1w", "1h30m", "1e3", "1e3s", "0x10", "inf", "nan",
		"infinity", "1,5s", "1.5.0s", "None", "nones", "non", "1mss", "1_000", "\xd9\xa1s",
		"3651d", "3650.00001d", "315360000001ms", "87601h", "18446744073709551616ms",
		"99999999999999999999999999999999d", "18446744073709552s",
		"213503982335d", /* in ms, modulo 2^64: ten hours */
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check_reading(texts[i], strlen(texts[i]), -1);
	check_reading("1s\0", 3, -1);
	check_reading("\0" "1s", 3, -1);
}

static void only_the_given_length_of_a_duration_is_read(void **state UNUSED)
{
	check_reading("5ms", 1, 5000);
	check_reading("5ms", 2, 300000);
	check_reading("12", 1, 1000);
}

static void durations_are_written_in_their_shortest_exact_form(void **state UNUSED)
{
	static const struct reading rows[] = {
		{ "none", 0 }, { "1ms", 1 }, { "500ms", 500 }, { "999ms", 999 }, { "1s", 1000 },
		{ "1.001s", 1001 }, { "1.5s", 1500 }, { "2.25s", 2250 }, { "90s", 90000 },
		{ "90.5s", 90500 }, { "2m", 120000 }, { "5m", 300000 }, { "90m", 5400000 },
		{ "1h", 3600000 }, { "36h", 129600000 }, { "1d", 86400000 },
		{ "3650d", TEN_YEARS_MS }, { "9223372036854775.807s", INT64_MAX },
	};
	char out[32];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(duration_format(rows[i].ms, out), rows[i].text);
}

static void every_written_duration_reads_back(void **state UNUSED)
{
	char out[32];
	for (int64_t ms = 0; ms < TEN_YEARS_MS; ms = ms < 4000 ? ms + 1 : ms * 21 / 20 + 3) {
		duration_format(ms, out);
		check_reading(out, strlen(out), ms);
	}
}

static void wall_time_is_rfc_3339_in_utc_with_milliseconds(void **state UNUSED)
{
	struct timespec wall = { 1775044800, 123999999 };
	struct timespec leap = { 951827696, 5000000 };
	char out[32];
	assert_string_equal(rfc3339_format(&wall, out), "2026-04-01T12:00:00.123Z");
	assert_string_equal(rfc3339_format(&leap, out), "2000-02-29T12:34:56.005Z");
}

static void every_day_of_five_centuries_has_the_date_that_the_c_library_gives_it(void **state)
{
	char out[32], expected[32];

	(void)state;
	for (time_t day = 0; day < 500 * 366; day++) {
		struct timespec wall = { .tv_sec = day * 86400 + 86399, .tv_nsec = 999999999 };
		struct tm tm;

		gmtime_r(&wall.tv_sec, &tm);
		strftime(expected, sizeof(expected), "%Y-%m-%dT23:59:59.999Z", &tm);
		assert_string_equal(rfc3339_format(&wall, out), expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_never_runs_backwards),
		cmocka_unit_test(adding_milliseconds_saturates_at_never),
		cmocka_unit_test(a_limit_of_zero_sets_no_deadline),
		cmocka_unit_test(elapsed_time_is_rounded_down_and_never_negative),
		cmocka_unit_test(time_left_is_exact_zero_when_past_and_null_when_never),
		cmocka_unit_test(durations_read_as_users_write_them),
		cmocka_unit_test(durations_round_to_the_nearest_but_never_to_nothing),
		cmocka_unit_test(anything_but_a_duration_is_refused),
		cmocka_unit_test(only_the_given_length_of_a_duration_is_read),
		cmocka_unit_test(durations_are_written_in_their_shortest_exact_form),
		cmocka_unit_test(every_written_duration_reads_back),
		cmocka_unit_test(wall_time_is_rfc_3339_in_utc_with_milliseconds),
		cmocka_unit_test(every_day_of_five_centuries_has_the_date_that_the_c_library_gives_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
