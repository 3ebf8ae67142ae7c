/*
 * test_envelope.c: whatever a run came to, one line of valid JSON whose keys,
 * order and promises are the documented ones (docs/design.md#one-envelope).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/decide.h"
#include "../../src/supervisor/envelope.h"
#include "run_fixture.h"

static struct run run;
static struct buf out;

static int open_run(void **state UNUSED)
{
	run_open(&run);
	return 0;
}

static int close_run(void **state UNUSED)
{
	run_close(&run);
	buf_release(&out);
	return 0;
}

/* The envelope, checked for what holds of every one of them. */
static const char *written(int exit_code)
{
	static const char *const keys[] = { "{\"ok\":", ",\"data\":", ",\"error\":", ",\"warnings\":[", "],\"meta\":{" };
	const char *at;

	buf_clear(&out);
	envelope_write(&run, exit_code, &out);
	assert_false(out.failed);
	assert_json_lines(out.data, 1);
	at = out.data;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		at = strstr(at, keys[i]);
		assert_non_null(at);
	}
	return out.data;
}

/* The members of an object in the order they must have; absent ones are passed over. */
static void assert_order(const char *text, const char *const *keys, size_t n)
{
	const char *last = text;
	char key[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "\"%s\":", keys[i]);
		if (!strstr(text, key))
			continue;
		if (!(last = strstr(last, key)))
			fail_msg("%s is out of order in %s", keys[i], text);
	}
}

static void failed(const char *code)
{
	report_release(&run.verdict.report);
	run.verdict.report.verdict = VERDICT_RESULT;
	run.verdict.report.entered_run = true;
	report_fail(&run.verdict.report, code, "it failed");
	report_describe(&run.verdict.report);
	run.verdict.hints = decide_hints(&run, &run.verdict.report);
	run.verdict.worst_effects = SIDE_EFFECTS_INHERIT;
	verdict_note_effects(&run.verdict, &run.verdict.hints);
}

/* --- ok ------------------------------------------------------------------------------------ */

static void ok_is_true_exactly_at_exit_0_for_every_number_of_both_tables(void **state UNUSED)
{
	for (int table = EXIT_TABLE_STANDARD; table <= EXIT_TABLE_CLASSIC; table++)
		for (size_t i = 0; code_at(i); i++) {
			int number = exit_row(code_at(i)->entry)->number[table];
			char wanted[32];

			run.plan.table = (enum exit_table)table;
			failed(code_at(i)->name);
			assert_int_equal(run.verdict.hints.exit_code, number);
			assert_int_not_equal(number, 0);
			written(number);
			assert_memory_equal(out.data, "{\"ok\":false,", 12);
			snprintf(wanted, sizeof(wanted), "\"exit_code\":%d,", number);
			assert_contains(out.data, wanted);
			assert_lacks(out.data, "\"error\":null");
		}
	for (int number = 1; number < 256; number++)
		assert_memory_equal(written(number), "{\"ok\":false,", 12);
	run.verdict.report.ok = true;
	assert_contains(written(0), "{\"ok\":true,\"data\":null,\"error\":null,\"warnings\":[],\"meta\":{");
}

static void data_stands_beside_an_error_as_well(void **state UNUSED)
{
	failed("PARTIAL_FAILURE");
	buf_add_str(&run.verdict.report.data, "{\"done\":[1,2]}");
	assert_contains(written(3), "{\"ok\":false,\"data\":{\"done\":[1,2]},\"error\":{");
}

/* --- retry hints ------------------------------------------------------------------------------ */

/* The retry hints of an error, for each retryable, exhausted or not, under
 * any policy (REQ-C-014, REQ-F-078; docs/design.md#retryable). */
static void retry_hints_hold_in_every_combination(void **state UNUSED)
{
	static const char *const shown[] = { "", "false", "true", "\"maybe\"" };

	for (size_t i = 0; code_at(i); i++)
		for (int retryable = RETRYABLE_FALSE; retryable <= RETRYABLE_MAYBE; retryable++)
			for (int exhausted = 0; exhausted <= 1; exhausted++)
				for (int64_t retries = -1; retries <= 4; retries++) {
					char wanted[64];
					int64_t advice = retries > 0 ? retries : 3;
					bool again, limited;

					failed(code_at(i)->name);
					run.verdict.report.own.retryable = (enum retryable)retryable;
					run.verdict.hints = decide_hints(&run, &run.verdict.report);
					run.verdict.exhausted = exhausted;
					run.attempts = exhausted ? 6 : 1;
					run.plan.policy.retries = retries;
					written(1);
					snprintf(wanted, sizeof(wanted), "\"retryable\":%s,", exhausted ? "false" : shown[retryable]);
					assert_contains(out.data, wanted);
					again = retryable == RETRYABLE_TRUE && !exhausted;
					limited = code_at(i)->entry == EXIT_ENTRY_RATE_LIMITED;
					assert_int_equal(strstr(out.data, "\"retry_after_ms\":") != NULL, again || limited);
					assert_int_equal(strstr(out.data, "\"retry_strategy\":\"") != NULL, again);
					if (limited)
						assert_lacks(out.data, "\"retry_after_ms\":0,");
					snprintf(wanted, sizeof(wanted), "\"max_retries\":%lld,", exhausted ? 5LL : (long long)advice);
					if (exhausted || retryable != RETRYABLE_FALSE)
						assert_contains(out.data, wanted);
					else
						assert_lacks(out.data, "\"max_retries\"");
					assert_int_equal(strstr(out.data, "\"retries_exhausted\":5,") != NULL, exhausted);
				}
}

static void retries_without_bound_leave_max_attempts_null(void **state UNUSED)
{
	failed("UNAVAILABLE");
	run.plan.policy.retries = POLICY_UNBOUNDED;
	assert_contains(written(12), "\"max_attempts\":null");
	run.plan.policy.retries = 0;
	assert_contains(written(12), "\"max_attempts\":1,");
	run.plan.policy.retries = 5;
	assert_contains(written(12), "\"max_attempts\":6,");
}

static void the_seed_is_shown_where_chance_had_a_part(void **state UNUSED)
{
	run.plan.policy.seed = 42;
	assert_lacks(written(0), "retry_seed");
	run.plan.policy.retries = 1;
	assert_contains(written(0), "\"retry_seed\":\"42\"");
	run.plan.policy.jitter = JITTER_NONE;
	assert_lacks(written(0), "retry_seed");
}

/* --- the error ----------------------------------------------------------------------------- */

static void every_member_of_an_error_is_in_its_place(void **state UNUSED)
{
	static const char *const order[] = { "code", "message", "detail", "retryable", "retry_after_ms",
		                             "max_retries", "retries_exhausted", "side_effects", "phase", "fix_required",
		                             "fix_command", "suggestion", "signal", "errors", "context" };
	const char *error;

	failed("RATE_LIMITED");
	report_take_result(&run.verdict.report, RECEIVED(RESULT, STR(code, "RATE_LIMITED"), STR(message, "m"), STR(detail, "d"),
	                                        STR(fix_required, "f"), STR(fix_command, "c"), STR(suggestion, "s"),
	                                        STR(errors, "[1]"), STR(context, "{\"x\":1}"), STR(phase, "execution")));
	run.verdict.exhausted = true;
	run.verdict.report.verdict = VERDICT_SIGNAL;
	run.verdict.report.signal = SIGHUP;
	error = strstr(written(143), "\"error\":") + 8;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		char key[64];

		snprintf(key, sizeof(key), "\"%s\":", order[i]);
		assert_contains(error, key);
	}
	assert_order(error, order, ARRAY_LEN(order));
	assert_contains(error, "\"signal\":\"SIGHUP\"");
}

static void a_fix_is_the_registrys_only_where_nothing_better_is_known(void **state UNUSED)
{
	for (size_t i = 0; code_at(i); i++) {
		const char *hint = code_at(i)->hint;

		failed(code_at(i)->name);
		written(1);
		assert_int_equal(strstr(out.data, "\"fix_required\":") != NULL,
		                 hint != NULL && run.verdict.hints.retryable == RETRYABLE_FALSE);
		buf_add_str(&run.verdict.report.fix_required, "do this");
		assert_contains(written(1), "\"fix_required\":\"do this\"");
	}
}

static void no_byte_of_a_message_can_leave_its_string(void **state UNUSED)
{
	char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	failed("UNAVAILABLE");
	buf_add(&run.verdict.report.message, bytes, sizeof(bytes));
	buf_add(&run.verdict.report.detail, bytes, sizeof(bytes));
	buf_add(&run.verdict.report.suggestion, "\x1b]0;x\a\x1b[2J\"},\n", 15);
	written(12);
	assert_null(memchr(out.data, '\x1b', out.len));
}

/* --- meta ------------------------------------------------------------------------------------ */

static void meta_has_its_members_in_order_and_those_of_modules_after_them(void **state UNUSED)
{
	static const char *const order[] = { "command", "exit_code", "items_emitted", "duration_ms", "timeout_ms", "request_id", "timestamp",
		                             "schema_version", "tool_version", "trace_id", "headless", "attempt", "max_attempts", "retries",
		                             "retry_history", "retry_seed", "cwd", "config_sources",
		                             "effective_config_hash", "extra" };
	const char *meta;

	failed("UNAVAILABLE");
	run.launch.trace_id = "t-1";
	run.launch.headless = true;
	run.rows.streams = true;
	strcpy(run.cwd, "/work \"here\"");
	run.plan.policy.retries = 3;
	history_add(&run.history, run.attempts, &run.verdict.report, 100);
	run.attempts = 2;
	history_add(&run.history, run.attempts, &run.verdict.report, -1);
	metas_add(&run.metas, "extra", (struct field){ .s = "[1]", .n = 3 });
	meta = strstr(written(12), "\"meta\":") + 7;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		char key[64];

		snprintf(key, sizeof(key), "\"%s\":", order[i]);
		assert_contains(meta, key);
	}
	assert_order(meta, order, ARRAY_LEN(order));
	assert_contains(meta, "\"timestamp\":\"1970-01-01T00:00:00.000Z\"");
	assert_contains(meta, "\"delay_ms\":100}");
	assert_contains(meta, "\"delay_ms\":null}");
}

static void a_worker_may_say_more_of_the_configuration_than_we_know(void **state UNUSED)
{
	struct field sources = { .s = "[\"/p/runner.lua\"]", .n = 17 };

	failed("UNAVAILABLE");
	assert_contains(written(12), "\"config_sources\":[],\"effective_config_hash\":\"cbf29ce484222325\"");
	metas_add(&run.metas, "config_sources", sources);
	assert_contains(written(12), "\"config_sources\":[\"/p/runner.lua\"]");
	assert_lacks(written(12), "\"config_sources\":[]");
}

static void a_tool_has_its_own_version_in_the_place_of_ours(void **state UNUSED)
{
	failed("UNAVAILABLE");
	assert_contains(written(12), "\"tool_version\":\"" RUNNER_VERSION "\"");
	metas_add(&run.metas, "tool_version", (struct field){ .s = "\"1.2.0\"", .n = 7 });
	assert_contains(written(12), "\"tool_version\":\"1.2.0\"");
	assert_lacks(written(12), "\"tool_version\":\"" RUNNER_VERSION "\"");
}

static void retries_appear_only_when_there_were_some(void **state UNUSED)
{
	assert_lacks(written(0), "\"retries\"");
	assert_lacks(written(0), "retry_history");
	run.inner_repeats = 2;
	assert_contains(written(0), "\"retries\":2");
	assert_lacks(written(0), "retry_history");
}

/* --- out of memory ----------------------------------------------------------------------------- */

/* A buf that lost an append holds a prefix: it must not be spliced as it is. */
static void a_fragment_that_lost_bytes_fails_the_whole(void **state UNUSED)
{
	struct buf *const fragments[] = { &run.warnings.rows, &run.metas.members, &run.history.row[0], &run.verdict.report.data,
		                          &run.verdict.report.errors, &run.verdict.report.context };

	failed("UNAVAILABLE");
	run.attempts = 2;
	history_add(&run.history, run.attempts, &run.verdict.report, 1);
	for (size_t i = 0; i < ARRAY_LEN(fragments); i++) {
		fragments[i]->failed = true;
		buf_clear(&out);
		envelope_write(&run, 12, &out);
		assert_true(out.failed);
		fragments[i]->failed = false;
	}
	written(12);
}

static void the_last_resort_is_an_envelope(void **state UNUSED)
{
	assert_json_lines(envelope_last_resort(), 1);
	assert_memory_equal(envelope_last_resort(), "{\"ok\":false,\"data\":null,\"error\":{", 33);
	assert_contains(envelope_last_resort(), "\"exit_code\":12");
}

/* --- for a terminal ------------------------------------------------------------------------------ */

static void a_timeouts_steps_as_text_are_never_empty(void **state UNUSED)
{
	failed("TIMEOUT");
	strcpy(run.plan.command, "deploy");
	envelope_step_text(&run, &out);
	assert_string_equal(out.data, "deploy: TIMEOUT\n");
	buf_clear(&out);
	run.launch.stderr_is_tty = true;
	envelope_step_text(&run, &out);
	assert_string_equal(out.data, "deploy: TIMEOUT\n");
	buf_clear(&out);
	run.verdict.report.verdict = VERDICT_SIGNAL; /* the terminal shows the error */
	envelope_step_text(&run, &out);
	assert_int_equal(out.len, 0);
	steps_declare(&run.verdict.report.steps, RECEIVED(PLAN, LIST(steps, "a\0b\0c\0d")));
	steps_take(&run.verdict.report.steps, RECEIVED(STEP, STR(name, "a")));
	steps_take(&run.verdict.report.steps, RECEIVED(STEP, STR(name, "c"), STR(state, "skipped")));
	steps_take(&run.verdict.report.steps, RECEIVED(STEP, STR(name, "b")));
	envelope_step_text(&run, &out);
	assert_string_equal(out.data, "completed  a\nfailed     b\nskipped    c\npending    d\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ok_is_true_exactly_at_exit_0_for_every_number_of_both_tables),
		TEST(data_stands_beside_an_error_as_well),
		TEST(retry_hints_hold_in_every_combination),
		TEST(retries_without_bound_leave_max_attempts_null),
		TEST(the_seed_is_shown_where_chance_had_a_part),
		TEST(every_member_of_an_error_is_in_its_place),
		TEST(a_fix_is_the_registrys_only_where_nothing_better_is_known),
		TEST(no_byte_of_a_message_can_leave_its_string),
		TEST(meta_has_its_members_in_order_and_those_of_modules_after_them),
		TEST(a_worker_may_say_more_of_the_configuration_than_we_know),
		TEST(a_tool_has_its_own_version_in_the_place_of_ours),
		TEST(retries_appear_only_when_there_were_some),
		TEST(a_fragment_that_lost_bytes_fails_the_whole),
		TEST(the_last_resort_is_an_envelope),
		TEST(a_timeouts_steps_as_text_are_never_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
