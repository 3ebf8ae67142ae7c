/*
 * test_supervisor_tree.c: whole runs with many processes, many attempts, and
 * signals from outside: nothing is left, and every end has its number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor_fixture.h"

/* --- processes ----------------------------------------------------------------------------------------- */

/* A process of its own session that ignores TERM, holding all it was given. */
static void leave_daemon(void)
{
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		ignore_term();
		hang();
	}
}

static int leaves_daemons(const struct launch *launch)
{
	ignore_term();
	for (int i = 0; i < 5; i++)
		leave_daemon();
	return replies_ok(launch);
}

static void daemons_left_by_a_success_are_ended_and_reported(void **state UNUSED)
{
	assert_contains(assert_answer(leaves_daemons, 0, NULL), "\"PROCESS_LEFT\"");
	assert_ended_between(GRACE_MS, GRACE_MS);
}

static int crashes_beside_daemons(const struct launch *launch)
{
	leave_daemon();
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	raise(SIGKILL);
	return 0;
}

static void daemons_of_a_crashed_worker_are_ended(void **state UNUSED)
{
	assert_contains(assert_answer(crashes_beside_daemons, 1, "COMMAND_CRASHED"), "\"signal\":\"SIGKILL\"");
}

static int breeds(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 300));
	ignore_term();
	for (int i = 0; i < 6; i++)
		fork(); /* 64 of us */
	hang();
	return 0;
}

static void a_tree_that_ignores_term_is_gone_with_the_answer(void **state UNUSED)
{
	assert_answer(breeds, 10, "TIMEOUT");
	assert_ended_between(300 + GRACE_MS, 300 + GRACE_MS);
}

/* --- attempts ------------------------------------------------------------------------------------------- */

#define POLICY(n) INT(retries, n), STR(strategy, "constant"), INT(delay_ms, 20), STR(jitter, "none")

static int succeeds_at_the_third(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000), POLICY(5));
	if (launch->attempt < 3)
		SEND(launch, RESULT, INT(ok, 0), STR(code, "UNAVAILABLE"), STR(message, "503"));
	else if (launch->previous_code && strcmp(launch->previous_code, "UNAVAILABLE") == 0)
		SEND(launch, RESULT, INT(ok, 1), STR(data, "[3]"));
	return 0;
}

static void a_failure_is_retried_until_it_succeeds(void **state UNUSED)
{
	const char *text = assert_answer(succeeds_at_the_third, 0, NULL);

	assert_contains(text, "\"attempt\":3,\"max_attempts\":6,\"retries\":2,\"retry_history\":[{\"attempt\":1,\"code\":\"UNAVAILABLE\"");
	assert_json_lines(stderr_text(), 5);
	assert_contains(stderr_text(), "test succeeded on attempt 3");
}

static int prepares(void)
{
	return write(2, "{}\n", 3) == 3 ? 0 : -1;
}

static int fails_to_prepare(void)
{
	(void)prepares();
	return -1;
}

static void workers_are_prepared_once_and_behind_the_first_failure(void **state UNUSED)
{
	prepare_fn *const both[] = { prepares, fails_to_prepare };

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		const char *first, *prepared;

		setup.prepare = both[i];
		assert_contains(assert_answer(succeeds_at_the_third, 0, NULL), "\"attempt\":3,");
		assert_json_lines(stderr_text(), 6);
		first = strstr(stderr_text(), "attempt 1/6");
		prepared = strstr(stderr_text(), "{}\n");
		assert_non_null(first);
		assert_true(first < prepared && prepared < strstr(stderr_text(), "attempt 2/6"));
	}
}

static int succeeds_at_once(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000), POLICY(5));
	SEND(launch, RESULT, INT(ok, 1), STR(data, "[1]"));
	return 0;
}

static void nothing_is_prepared_where_nothing_fails(void **state UNUSED)
{
	setup.prepare = prepares;
	assert_answer(succeeds_at_once, 0, NULL);
	assert_string_equal(stderr_text(), "");
}

static int64_t allowed_retries;

static int always_fails(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 20000), POLICY(allowed_retries));
	SEND(launch, RESULT, INT(ok, 0), STR(code, "UNAVAILABLE"), STR(message, "503"));
	return 0;
}

static void n_retries_are_n_and_then_final(void **state UNUSED)
{
	char wanted[64];

	for (allowed_retries = 0; allowed_retries <= 4; allowed_retries++) {
		const char *text = assert_answer(always_fails, 12, "UNAVAILABLE");

		snprintf(wanted, sizeof(wanted), "\"attempt\":%d,\"max_attempts\":%d", (int)allowed_retries + 1,
		         (int)allowed_retries + 1);
		assert_contains(text, wanted);
		snprintf(wanted, sizeof(wanted), "\"max_retries\":%d,\"retries_exhausted\":%d", (int)allowed_retries,
		         (int)allowed_retries);
		if (allowed_retries > 0)
			assert_contains(text, wanted);
		else
			assert_lacks(text, "retries_exhausted");
		assert_contains(text, allowed_retries > 0 ? "\"retryable\":false," : "\"retryable\":true,");
	}
}

static int times_out_then_works(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000), INT(attempt_timeout_ms, 600), POLICY(2));
	if (launch->attempt == 1)
		hang();
	SEND(launch, RESULT, INT(ok, 1));
	return 0;
}

static void an_attempt_timeout_is_retried(void **state UNUSED)
{
	assert_contains(assert_answer(times_out_then_works, 0, NULL), "\"retry_history\":[{\"attempt\":1,\"code\":\"TIMEOUT\"");
}

static int fails_before_run_the_second_time(const struct launch *launch)
{
	SEND(launch, PLAN, STR(command, "test"), INT(grace_ms, GRACE_MS), POLICY(3));
	if (launch->attempt == 1)
		SEND(launch, RUN);
	SEND(launch, RESULT, INT(ok, 0), STR(code, launch->attempt == 1 ? "UNAVAILABLE" : "COMMAND_INVALID"));
	return 0;
}

static void a_later_attempt_that_never_ran_leaves_the_earlier_error(void **state UNUSED)
{
	assert_contains(assert_answer(fails_before_run_the_second_time, 12, "UNAVAILABLE"), "\"COMMAND_CHANGED\"");
}

/* --- signals ---------------------------------------------------------------------------------------------- */

static int waits(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 20000));
	SEND(launch, LOG, STR(level, "warn"), STR(message, "it hangs"));
	hang();
	return 0;
}

static int fails_and_waits(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 30000), INT(retries, 1), STR(strategy, "constant"), INT(delay_ms, 20000),
	     STR(jitter, "none"));
	SEND(launch, RESULT, INT(ok, 0), STR(code, "UNAVAILABLE"), STR(message, "503"), STR(suggestion, "call back"),
	     STR(context, "{\"status\":503}"));
	return 0;
}

static void every_cancelling_signal_ends_work_and_waits_with_its_number(void **state UNUSED)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	static const struct {
		worker_fn *worker;
		const char *begun;
	} rows[] = { { waits, "it hangs" }, { fails_and_waits, "Retrying in" } };
	char wanted[64], scratch[16];

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		for (size_t w = 0; w < ARRAY_LEN(rows); w++) {
			setup.sig = signals[i];
			setup.sig_after = rows[w].begun;
			assert_answer(rows[w].worker, signals[i] == SIGINT ? 130 : 143, "CANCELLED");
			snprintf(wanted, sizeof(wanted), "\"signal\":\"%s\"", signal_name(signals[i], scratch));
			assert_contains(buf_cstr(&answer.out), wanted);
			assert_contains(buf_cstr(&answer.out), "\"partial\":true");
			assert_lacks(buf_cstr(&answer.out), "call back");
			assert_lacks(buf_cstr(&answer.out), "\"status\":503");
			assert_ended_between(0, 0);
		}
}

#define TEST(f) cmocka_unit_test_teardown(f, reset_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(daemons_left_by_a_success_are_ended_and_reported),
		TEST(daemons_of_a_crashed_worker_are_ended),
		TEST(a_tree_that_ignores_term_is_gone_with_the_answer),
		TEST(a_failure_is_retried_until_it_succeeds),
		TEST(workers_are_prepared_once_and_behind_the_first_failure),
		TEST(nothing_is_prepared_where_nothing_fails),
		TEST(n_retries_are_n_and_then_final),
		TEST(an_attempt_timeout_is_retried),
		TEST(a_later_attempt_that_never_ran_leaves_the_earlier_error),
		TEST(every_cancelling_signal_ends_work_and_waits_with_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
