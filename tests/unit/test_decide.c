/*
 * test_decide.c: what every kind of failure means, and whether it is retried.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/xio.h"
#include "../../src/supervisor/decide.h"
#include "run_fixture.h"

static struct run run;

static int open_run(void **state UNUSED)
{
	run_open(&run);
	run.plan.known = true;
	run.plan.timeout_ms = 0;
	run.plan.policy = (struct policy){ .retries = 3, .delay_ms = 10, .jitter = JITTER_NONE };
	return 0;
}

static int close_run(void **state UNUSED)
{
	run_close(&run);
	return 0;
}

/* The attempt before us failed like this, in `run`. */
static void failed(enum verdict_kind verdict, const char *code)
{
	report_release(&run.verdict.report);
	run.verdict.report.verdict = verdict;
	run.verdict.report.entered_run = true;
	report_fail(&run.verdict.report, code, "it failed");
}

static enum policy_verdict next(void)
{
	int64_t wait_ms = -1;
	enum policy_verdict verdict = decide_next(&run, &wait_ms);

	if (verdict == POLICY_WAIT)
		assert_true(wait_ms >= 0);
	return verdict;
}

/* --- side effects ------------------------------------------------------------------------ */

static void before_run_nothing_was_touched_whatever_the_code_says(void **state UNUSED)
{
	for (size_t i = 0; code_at(i); i++) {
		failed(VERDICT_RESULT, code_at(i)->name);
		run.verdict.report.own.side_effects = SIDE_EFFECTS_PARTIAL;
		run.verdict.report.entered_run = false;
		assert_int_equal(decide_hints(&run, &run.verdict.report).side_effects, SIDE_EFFECTS_NONE);
	}
}

/* 2 promises that nothing was touched, which is unknown once run has begun
 * (docs/design.md#exit-2). */
static void an_argument_error_of_run_promises_nothing_about_side_effects(void **state UNUSED)
{
	static const char *const codes[] = { "ARG_ERROR", "VALIDATION_ERROR", "UNKNOWN_FLAG" };

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		failed(VERDICT_RESULT, codes[i]);
		assert_int_equal(decide_hints(&run, &run.verdict.report).side_effects, SIDE_EFFECTS_PARTIAL);
		run.verdict.report.own.side_effects = SIDE_EFFECTS_NONE;
		assert_int_equal(decide_hints(&run, &run.verdict.report).side_effects, SIDE_EFFECTS_NONE);
	}
}

/* --- codes --------------------------------------------------------------------------------- */

static void an_undeclared_code_is_reworded_and_a_declared_one_is_not(void **state UNUSED)
{
	failed(VERDICT_RESULT, "WHATEVER");
	run.verdict.report.own.retryable = RETRYABLE_TRUE;
	assert_int_equal(next(), POLICY_AS_RAISED);
	assert_string_equal(run.verdict.report.code, "UNDECLARED_EXIT_CODE");
	assert_string_equal(buf_cstr(&run.verdict.report.message), "The command raised the undeclared code WHATEVER: it failed");
	assert_int_equal(run.verdict.hints.retryable, RETRYABLE_FALSE);
	plan_take_exit(&run.plan, RECEIVED(EXIT, STR(name, "WHATEVER"), INT(exit_code, 99)));
	assert_int_equal(run.plan.code_count, 0); /* the plan is known: too late */
	run.plan.known = false;
	plan_take_exit(&run.plan, RECEIVED(EXIT, STR(name, "WHATEVER"), INT(exit_code, 99)));
	failed(VERDICT_RESULT, "WHATEVER");
	next();
	assert_string_equal(run.verdict.report.code, "WHATEVER");
	assert_int_equal(run.verdict.hints.exit_code, 99);
}

static void an_arguments_own_code_is_a_validation_error_before_run(void **state UNUSED)
{
	failed(VERDICT_RESULT, "INVALID_ENVIRONMENT");
	run.verdict.report.entered_run = false;
	assert_int_equal(next(), POLICY_AS_RAISED);
	assert_string_equal(run.verdict.report.code, "INVALID_ENVIRONMENT");
	assert_int_equal(run.verdict.hints.exit_code, 2);
	assert_int_equal(run.verdict.worst_effects, SIDE_EFFECTS_NONE);
}

/* --- again? -------------------------------------------------------------------------------- */

/* Every code × `on` × maybe against the rule (docs/design.md#what-is-retried). */
static void every_code_is_retried_as_on_and_maybe_say(void **state UNUSED)
{
	for (size_t i = 0; code_at(i); i++)
		for (size_t on = 0; on <= EXIT_ENTRY_COUNT; on++)
			for (int maybe = 0; maybe <= 1; maybe++) {
				const struct code_row *row = code_at(i);
				const struct exit_row *entry = exit_row(row->entry);
				enum retryable retryable = row->retryable ? row->retryable : entry->retryable;
				bool allowed = retryable == RETRYABLE_TRUE || (retryable == RETRYABLE_MAYBE && maybe);
				bool listed = on == EXIT_ENTRY_COUNT ? entry->side_effects == SIDE_EFFECTS_NONE
				                                     : on == row->entry || strcmp(exit_row((enum exit_entry)on)->name, row->name) == 0;

				run.plan.retry_maybe = maybe;
				run.plan.on_count = on < EXIT_ENTRY_COUNT;
				if (on < EXIT_ENTRY_COUNT)
					strcpy(run.plan.on[0], exit_row((enum exit_entry)on)->name);
				failed(VERDICT_RESULT, row->name);
				assert_int_equal(next(), allowed && listed ? POLICY_WAIT : POLICY_AS_RAISED);
			}
}

static void a_failure_that_ends_the_run_is_never_retried(void **state UNUSED)
{
	static const struct {
		enum verdict_kind verdict;
		enum limit limit;
		bool again;
	} rows[] = {
		{ VERDICT_RESULT, 0, true },
		{ VERDICT_GONE, 0, true },
		{ VERDICT_BROKEN, 0, true },
		{ VERDICT_LIMIT, LIMIT_ATTEMPT, true },
		{ VERDICT_LIMIT, LIMIT_IDLE, true },
		{ VERDICT_LIMIT, LIMIT_TIMEOUT, false },
		{ VERDICT_LIMIT, LIMIT_LOAD, false },
		{ VERDICT_SIGNAL, 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		failed(rows[i].verdict, "UNAVAILABLE");
		run.verdict.report.limit = rows[i].limit;
		assert_int_equal(next(), rows[i].again ? POLICY_WAIT : POLICY_AS_RAISED);
		run.verdict.report.survivors = true;
		assert_int_equal(next(), POLICY_AS_RAISED);
		run.verdict.report.survivors = false;
		run.verdict.report.entered_run = false;
		assert_int_equal(next(), POLICY_AS_RAISED);
	}
}

static void retries_end_as_raised_at_none_and_exhausted_after_some(void **state UNUSED)
{
	for (int64_t retries = 0; retries <= 3; retries++)
		for (int64_t attempts = 1; attempts <= 5; attempts++) {
			run.plan.policy.retries = retries;
			run.attempts = attempts;
			run.verdict.exhausted = false;
			failed(VERDICT_RESULT, "UNAVAILABLE");
			assert_int_equal(next(), attempts - 1 < retries ? POLICY_WAIT
			                         : attempts == 1        ? POLICY_AS_RAISED
			                                                : POLICY_EXHAUSTED);
			assert_int_equal(run.verdict.exhausted, attempts - 1 >= retries && attempts > 1);
		}
}

static void retries_inside_the_command_count_only_with_one_budget(void **state UNUSED)
{
	run.inner_repeats = 3;
	failed(VERDICT_RESULT, "UNAVAILABLE");
	assert_int_equal(next(), POLICY_WAIT);
	run.plan.one_budget = true;
	assert_int_equal(next(), POLICY_EXHAUSTED);
}

static void retries_of_commands_that_this_one_calls_are_of_its_budget(void **state UNUSED)
{
	run.plan.policy.retries = 3;
	run.inner_repeats = run.called_repeats = 2;
	failed(VERDICT_RESULT, "UNAVAILABLE");
	assert_int_equal(next(), POLICY_WAIT);
	run.inner_repeats = run.called_repeats = 3;
	assert_int_equal(next(), POLICY_EXHAUSTED);
}

static void a_wait_that_would_overrun_is_a_warning_and_stays_retryable(void **state UNUSED)
{
	run.plan.timeout_ms = 5000;
	failed(VERDICT_RESULT, "UNAVAILABLE");
	run.verdict.report.own.retry_after_ms = 60000;
	assert_int_equal(next(), POLICY_BUDGET);
	assert_contains(buf_cstr(&run.warnings.rows), "RETRY_BUDGET");
	assert_false(run.verdict.exhausted);
	assert_int_equal(run.verdict.hints.retryable, RETRYABLE_TRUE);
	assert_int_equal(run.verdict.hints.retry_after_ms, 60000);
}

static void a_pipe_on_stdin_is_not_read_twice_and_a_file_is(void **state UNUSED)
{
	int p[2];

	assert_int_equal(xpipe(p), 0);
	run.plan.reads_stdin = true;
	run.launch.stdin_fd = p[0];
	failed(VERDICT_RESULT, "UNAVAILABLE");
	assert_int_equal(next(), POLICY_AS_RAISED);
	assert_contains(buf_cstr(&run.warnings.rows), "STDIN_CONSUMED");
	run.launch.stdin_is_tty = true;
	assert_int_equal(next(), POLICY_WAIT);
	run.launch.stdin_is_tty = false;
	run.launch.stdin_fd = xopen("/proc/self/exe", 0, 0);
	assert_int_equal(next(), POLICY_WAIT);
	xclose(&run.launch.stdin_fd);
	xclose(&p[0]);
	xclose(&p[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(before_run_nothing_was_touched_whatever_the_code_says),
		TEST(an_argument_error_of_run_promises_nothing_about_side_effects),
		TEST(an_undeclared_code_is_reworded_and_a_declared_one_is_not),
		TEST(an_arguments_own_code_is_a_validation_error_before_run),
		TEST(every_code_is_retried_as_on_and_maybe_say),
		TEST(a_failure_that_ends_the_run_is_never_retried),
		TEST(retries_end_as_raised_at_none_and_exhausted_after_some),
		TEST(retries_inside_the_command_count_only_with_one_budget),
		TEST(retries_of_commands_that_this_one_calls_are_of_its_budget),
		TEST(a_wait_that_would_overrun_is_a_warning_and_stays_retryable),
		TEST(a_pipe_on_stdin_is_not_read_twice_and_a_file_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
