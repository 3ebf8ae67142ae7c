/*
 * test_report.c: how a RESULT that can't be trusted is handled, and the message of
 * every other verdict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/codes.h"
#include "run_fixture.h"

static struct report r;

static int open_report(void **state UNUSED)
{
	report_init(&r);
	return 0;
}

static int close_report(void **state UNUSED)
{
	report_release(&r);
	forget_frames();
	return 0;
}

/* --- a RESULT frame ------------------------------------------------------------------ */

static void a_success_carries_its_data_and_completes_the_running_step(void **state UNUSED)
{
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "a"), STR(state, "running")));
	report_take_result(&r, RECEIVED(RESULT, INT(ok, 1), STR(data, "{\"n\":1}"), INT(rows, 7)));
	assert_true(r.ok);
	assert_string_equal(buf_cstr(&r.data), "{\"n\":1}");
	assert_int_equal(r.rows, 7);
	assert_int_equal(r.steps.row[0].state, STEP_COMPLETED);
	assert_string_equal(r.code, "");
}

static void null_and_no_data_are_the_same(void **state UNUSED)
{
	report_take_result(&r, RECEIVED(RESULT, INT(ok, 1), STR(data, " null ")));
	assert_true(r.ok);
	assert_int_equal(r.data.len, 0);
	report_take_result(&r, RECEIVED(RESULT, INT(ok, 1)));
	assert_true(r.ok);
	assert_int_equal(r.data.len, 0);
}

static void only_1_is_ok(void **state UNUSED)
{
	static const int64_t values[] = { INT64_MIN, -1, 0, 2, 256, INT64_C(1) << 32, INT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		report_take_result(&r, RECEIVED(RESULT, INT(ok, values[i])));
		assert_false(r.ok);
		assert_string_equal(r.code, "INTERNAL_ERROR");
	}
	report_take_result(&r, RECEIVED(RESULT));
	assert_false(r.ok);
}

/* Not one JSON text, or not of the kind that the field promises. */
static const char *const malformed[] = {
	"{", "}", "[", "]", "{]", "[}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "[,1]", "{a:1}", "{'a':1}",
	"{\"a\":1}{", "{} {}", "{}x", "\xef\xbb\xbf{}", "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}",
	"{\"a\":\"\\ud800\"}", "{\"a\":\"\\udc00\"}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\u001b[31m\"}",
	"{\"a\":\"\x1b[31m\"}", "{\"a\":\"\n\"}", "{\n}", "{\r}", "[01]", "[1.]", "[.5]", "[+1]", "[1e]", "[NaN]",
	"[Infinity]", "[tru]", "[nul]", "[\"]", "[\"\\x\"]", "// c", " ", "nul", "nulll", "undefined",
};

static void assert_invalid(void)
{
	assert_false(r.ok);
	assert_string_equal(r.code, "INVALID_RESULT");
	assert_int_equal(r.data.len + r.errors.len + r.context.len, 0);
}

static void malformed_json_in_any_field_is_invalid_result(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++)
		for (int64_t ok = 0; ok <= 1; ok++) {
			report_take_result(&r, RECEIVED(RESULT, INT(ok, ok), STR(data, malformed[i])));
			assert_invalid();
			report_take_result(&r, RECEIVED(RESULT, INT(ok, ok), STR(errors, malformed[i])));
			assert_invalid();
			report_take_result(&r, RECEIVED(RESULT, INT(ok, ok), STR(context, malformed[i])));
			assert_invalid();
		}
}

static void data_errors_and_context_must_have_their_own_json_types(void **state UNUSED)
{
	static const char *const scalars[] = { "1", "\"x\"", "true", "false", "-0.5e3" };

	for (size_t i = 0; i < ARRAY_LEN(scalars); i++) {
		report_take_result(&r, RECEIVED(RESULT, INT(ok, 1), STR(data, scalars[i])));
		assert_invalid();
	}
	report_take_result(&r, RECEIVED(RESULT, STR(errors, "{}")));
	assert_invalid();
	report_take_result(&r, RECEIVED(RESULT, STR(context, "[]")));
	assert_invalid();
	report_take_result(&r, RECEIVED(RESULT, STR(context, "{}"), STR(errors, "[]"), STR(data, "[]")));
	assert_string_equal(r.code, "INTERNAL_ERROR");
}

static void depth_is_bounded(void **state UNUSED)
{
	char deep[2 * JSON_MAX_DEPTH + 3];

	for (size_t depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
		memset(deep, '[', depth);
		memset(deep + depth, ']', depth);
		report_take_result(&r, RECEIVED(RESULT, INT(ok, 1), BYTES(data, deep, 2 * depth)));
		assert_int_equal(r.ok, depth == JSON_MAX_DEPTH);
	}
}

static void an_invalid_failure_loses_its_own_hints(void **state UNUSED)
{
	report_take_result(&r, RECEIVED(RESULT, STR(code, "UNAVAILABLE"), STR(retryable, "true"), INT(retry_after_ms, 0),
	                                STR(side_effects, "none"), INT(retries_exhausted, 3), STR(context, "{")));
	assert_invalid();
	assert_int_equal(r.own.retryable, RETRYABLE_INHERIT);
	assert_int_equal(r.own.side_effects, SIDE_EFFECTS_INHERIT);
	assert_int_equal(r.own.retry_after_ms, -1);
	assert_int_equal(r.exhausted, 0);
}

static void a_result_over_16_mib_is_output_too_large_and_one_of_16_mib_is_not(void **state UNUSED)
{
	struct buf data = BUF_INIT;

	buf_add_str(&data, "[\"");
	assert_int_equal(buf_reserve(&data, RESULT_MAX), 0);
	memset(data.data + 2, 'x', RESULT_MAX);
	data.len = RESULT_MAX - 2;
	memcpy(data.data + data.len, "\"]", 3);
	data.len += 2;
	report_take_result(&r, RECEIVED(RESULT, INT(ok, 1), BYTES(data, data.data, data.len)));
	assert_true(r.ok);
	assert_int_equal(r.data.len, RESULT_MAX);
	memcpy(data.data + data.len - 2, "x\"]", 4);
	data.len++;
	report_take_result(&r, RECEIVED(RESULT, INT(ok, 1), BYTES(data, data.data, data.len)));
	assert_false(r.ok);
	assert_string_equal(r.code, "OUTPUT_TOO_LARGE");
	buf_release(&data);
}

static void a_failures_code_is_well_formed_whatever_came(void **state UNUSED)
{
	static const char *const bad[] = { "", "x", "Not_Found", "A", "_A", "A B", "A\"B", "ÄÖ" };
	char longest[80];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		report_take_result(&r, RECEIVED(RESULT, STR(code, bad[i])));
		assert_string_equal(r.code, "INTERNAL_ERROR");
	}
	memset(longest, 'A', sizeof(longest));
	report_take_result(&r, RECEIVED(RESULT, BYTES(code, longest, 64)));
	assert_int_equal(strlen(r.code), 64);
	report_take_result(&r, RECEIVED(RESULT, BYTES(code, longest, 65)));
	assert_string_equal(r.code, "INTERNAL_ERROR");
	report_take_result(&r, RECEIVED(RESULT, BYTES(code, "A\0B", 3)));
	assert_string_equal(r.code, "INTERNAL_ERROR");
}

static void texts_are_cut_at_their_caps(void **state UNUSED)
{
	static char text[DETAIL_MAX + 100];

	memset(text, 'x', sizeof(text));
	report_take_result(&r, RECEIVED(RESULT, BYTES(message, text, sizeof(text)), BYTES(detail, text, sizeof(text)),
	                                BYTES(fix_required, text, sizeof(text)), BYTES(fix_command, text, sizeof(text)),
	                                BYTES(suggestion, text, sizeof(text)), BYTES(phase, text, sizeof(text))));
	assert_int_equal(r.message.len, MESSAGE_MAX);
	assert_int_equal(r.detail.len, DETAIL_MAX);
	assert_int_equal(r.fix_required.len, MESSAGE_MAX);
	assert_int_equal(r.fix_command.len, MESSAGE_MAX);
	assert_int_equal(r.suggestion.len, MESSAGE_MAX);
	assert_string_equal(r.phase, "");
}

static void unknown_words_and_wild_numbers_are_ignored(void **state UNUSED)
{
	static const int64_t wild[] = { INT64_MIN, -2, -1 };

	for (size_t i = 0; i < ARRAY_LEN(wild); i++) {
		report_take_result(&r, RECEIVED(RESULT, STR(code, "TIMEOUT"), STR(retryable, "yes"), STR(side_effects, "lots"),
		                                STR(retry_strategy, "soon"), INT(retry_after_ms, wild[i]),
		                                INT(retries_exhausted, wild[i])));
		assert_int_equal(r.own.retryable, RETRYABLE_INHERIT);
		assert_int_equal(r.own.side_effects, SIDE_EFFECTS_INHERIT);
		assert_int_equal(r.own.strategy, RETRY_STRATEGY_NONE);
		assert_int_equal(r.own.retry_after_ms, -1);
		assert_int_equal(r.exhausted, 0);
	}
}

static void only_a_known_phase_is_accepted(void **state UNUSED)
{
	static const char *const good[] = { "validation", "execution", "cleanup" };
	static const char *const bad[] = { "", "Execution", "execution ", "exec", "executionexecution", "\"" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		report_take_result(&r, RECEIVED(RESULT, STR(phase, good[i])));
		assert_string_equal(r.phase, good[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		report_take_result(&r, RECEIVED(RESULT, STR(phase, bad[i])));
		assert_string_equal(r.phase, "");
		report_describe(&r);
		assert_string_equal(r.phase, "validation"); /* run was not entered */
	}
}

/* --- the other verdicts ---------------------------------------------------------------- */

/* --- how far a failure got ------------------------------------------------------------- */

/* What becomes of `data` (NULL: none) of a failure in its second step. */
static const char *data_of_failure(const char *data)
{
	report_release(&r);
	r.verdict = VERDICT_RESULT;
	r.entered_run = true;
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "a"), STR(state, "running")));
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "b"), STR(state, "running")));
	if (data)
		report_take_result(&r, RECEIVED(RESULT, STR(code, "CONFLICT"), STR(data, data)));
	else
		report_take_result(&r, RECEIVED(RESULT, STR(code, "CONFLICT")));
	report_describe(&r);
	return buf_cstr(&r.data);
}

#define STEPS_TOLD \
	"\"completed_steps\":[\"a\"],\"failed_step\":\"b\",\"pending_steps\":[\"b\"],\"skipped_steps\":[]}"

static void a_failure_tells_its_steps_beside_its_own_data(void **state UNUSED)
{
	assert_string_equal(data_of_failure(NULL), "{" STEPS_TOLD);
	assert_string_equal(data_of_failure(" { } "), "{" STEPS_TOLD);
	assert_string_equal(data_of_failure("{\"n\":{\"failed_step\":1}}"), "{\"n\":{\"failed_step\":1}," STEPS_TOLD);
	assert_string_equal(data_of_failure("[1]"), "{\"value\":[1]," STEPS_TOLD);
}

static void a_failure_that_speaks_of_its_steps_itself_has_the_word(void **state UNUSED)
{
	const char *own = "{\"completed_steps\" : [ ],\"n\":1}";

	assert_string_equal(data_of_failure(own), own);
}

static void a_failure_before_run_tells_no_steps(void **state UNUSED)
{
	r.verdict = VERDICT_RESULT;
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "a"), STR(state, "running")));
	report_take_result(&r, RECEIVED(RESULT, STR(code, "VALIDATION_ERROR")));
	report_describe(&r);
	assert_int_equal(r.data.len, 0);
}

static void every_limit_names_itself_and_its_ms(void **state UNUSED)
{
	static const struct {
		enum limit limit;
		const char *message, *context, *phase;
	} rows[] = {
		{ LIMIT_LOAD, "Command exceeded load timeout of 1234ms", "{\"limit\":\"load\"}", "validation" },
		{ LIMIT_TIMEOUT, "Command exceeded timeout of 1234ms", "{\"limit\":\"timeout\"}", "execution" },
		{ LIMIT_ATTEMPT, "Command exceeded attempt timeout of 1234ms", "{\"limit\":\"attempt\"}", "execution" },
		{ LIMIT_IDLE, "Command exceeded idle timeout of 1234ms", "{\"limit\":\"idle\"}", "execution" },
		{ LIMIT_STALL, "Command exceeded limit for progress of 1234ms", "{\"limit\":\"stall\"}", "execution" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		report_release(&r);
		r.verdict = VERDICT_LIMIT;
		r.limit = rows[i].limit;
		r.limit_ms = 1234;
		report_describe(&r);
		assert_string_equal(r.code, rows[i].limit == LIMIT_STALL ? "STALLED" : "TIMEOUT");
		assert_string_equal(buf_cstr(&r.message), rows[i].message);
		assert_string_equal(buf_cstr(&r.context), rows[i].context);
		assert_string_equal(r.phase, rows[i].phase);
		assert_int_equal(r.data.len, 0);
	}
}

static void a_timeout_reports_the_steps_and_the_newest_progress(void **state UNUSED)
{
	steps_declare(&r.steps, RECEIVED(PLAN, LIST(steps, "a\0b")));
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "b")));
	buf_add_str(&r.progress, "{\"done\":0.5}");
	r.verdict = VERDICT_LIMIT;
	r.limit = LIMIT_TIMEOUT;
	report_describe(&r);
	assert_string_equal(buf_cstr(&r.data), "{\"completed_steps\":[],\"failed_step\":\"b\",\"pending_steps\":[\"b\",\"a\"],"
	                                       "\"skipped_steps\":[],\"progress\":{\"done\":0.5}}");
}

static void a_run_that_was_cut_off_suggests_how_to_resume(void **state UNUSED)
{
	static const enum verdict_kind cut[] = { VERDICT_LIMIT, VERDICT_SIGNAL, VERDICT_GONE };

	for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
		report_release(&r);
		report_take_result(&r, RECEIVED(RESULT, STR(code, "UNAVAILABLE"), STR(suggestion, "the failure's")));
		report_take_resume_hint(&r, RECEIVED(PROGRESS, STR(suggestion, "earlier")));
		report_take_resume_hint(&r, RECEIVED(PROGRESS, STR(suggestion, "resume 1")));
		report_take_resume_hint(&r, RECEIVED(PROGRESS, STR(data, "1")));
		r.verdict = cut[i];
		r.signal = SIGINT;
		report_describe(&r);
		assert_string_equal(buf_cstr(&r.suggestion), "resume 1");
		if (cut[i] == VERDICT_GONE)
			assert_int_equal(r.own.retryable, RETRYABLE_FALSE);
	}
}

static void every_cancelling_signal_is_named_and_the_data_is_partial(void **state UNUSED)
{
	static const struct {
		int sig;
		const char *message;
	} rows[] = {
		{ SIGINT, "Cancelled by SIGINT" },
		{ SIGTERM, "Cancelled by SIGTERM" },
		{ SIGHUP, "Cancelled by SIGHUP" },
		{ SIGQUIT, "Cancelled by SIGQUIT" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int entered = 0; entered <= 1; entered++) {
			report_release(&r);
			r.verdict = VERDICT_SIGNAL;
			r.signal = rows[i].sig;
			r.entered_run = entered;
			report_describe(&r);
			assert_string_equal(r.code, "CANCELLED");
			assert_string_equal(buf_cstr(&r.message), rows[i].message);
			assert_string_equal(buf_cstr(&r.data), "{\"partial\":true}");
			assert_string_equal(r.phase, entered ? "execution" : "validation");
		}
}

static void a_cancelled_wait_keeps_nothing_of_the_failure_before_but_its_steps(void **state UNUSED)
{
	report_take_result(&r, RECEIVED(RESULT, STR(code, "UNAVAILABLE"), STR(message, "503"), STR(detail, "trace"),
	                                STR(fix_required, "fix"), STR(fix_command, "cmd"), STR(suggestion, "try"),
	                                STR(context, "{\"status\":503}"), STR(errors, "[1]"), INT(retries_exhausted, 2)));
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "b")));
	r.verdict = VERDICT_SIGNAL;
	r.signal = SIGINT;
	report_describe(&r);
	assert_string_equal(r.code, "CANCELLED");
	assert_int_equal(r.detail.len + r.fix_required.len + r.fix_command.len + r.suggestion.len, 0);
	assert_string_equal(buf_cstr(&r.context), "{\"signal\":\"SIGINT\"}");
	assert_int_equal(r.errors.len, 0);
	assert_int_equal(r.exhausted, 0);
	assert_contains(buf_cstr(&r.data), "\"failed_step\":\"b\"");
}

static void every_end_of_a_worker_has_a_message(void **state UNUSED)
{
	char wanted[96], scratch[16];

	for (int status = 0; status < 256; status++) {
		report_release(&r);
		r.verdict = VERDICT_GONE;
		r.worker = (struct outcome){ .status = status };
		report_describe(&r);
		assert_string_equal(r.code, "COMMAND_CRASHED");
		snprintf(wanted, sizeof(wanted), "{\"exit_status\":%d}", status);
		assert_string_equal(buf_cstr(&r.context), wanted);
	}
	for (int sig = 1; sig < NSIG; sig++) {
		report_release(&r);
		r.verdict = VERDICT_GONE;
		r.worker = (struct outcome){ .signalled = true, .status = sig };
		report_describe(&r);
		assert_string_equal(r.code, "COMMAND_CRASHED");
		snprintf(wanted, sizeof(wanted), "{\"signal\":\"%s\"}", signal_name(sig, scratch));
		assert_string_equal(buf_cstr(&r.context), wanted);
	}
}

static void moving_a_report_leaves_an_empty_one(void **state UNUSED)
{
	struct report to;

	report_init(&to);
	report_take_result(&r, RECEIVED(RESULT, STR(message, "m"), STR(data, "[1]")));
	steps_take(&r.steps, RECEIVED(STEP, STR(name, "b")));
	report_move(&to, &r);
	assert_string_equal(buf_cstr(&to.message), "m");
	assert_int_equal(to.steps.count, 1);
	assert_int_equal(r.message.len + r.data.len, 0);
	assert_null(r.steps.row);
	assert_int_equal(r.own.retry_after_ms, -1);
	report_release(&to);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_report, close_report)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_success_carries_its_data_and_completes_the_running_step),
		TEST(null_and_no_data_are_the_same),
		TEST(only_1_is_ok),
		TEST(malformed_json_in_any_field_is_invalid_result),
		TEST(data_errors_and_context_must_have_their_own_json_types),
		TEST(depth_is_bounded),
		TEST(an_invalid_failure_loses_its_own_hints),
		TEST(a_result_over_16_mib_is_output_too_large_and_one_of_16_mib_is_not),
		TEST(a_failures_code_is_well_formed_whatever_came),
		TEST(texts_are_cut_at_their_caps),
		TEST(only_a_known_phase_is_accepted),
		TEST(unknown_words_and_wild_numbers_are_ignored),
		TEST(a_failure_tells_its_steps_beside_its_own_data),
		TEST(a_failure_that_speaks_of_its_steps_itself_has_the_word),
		TEST(a_failure_before_run_tells_no_steps),
		TEST(every_limit_names_itself_and_its_ms),
		TEST(a_timeout_reports_the_steps_and_the_newest_progress),
		TEST(a_run_that_was_cut_off_suggests_how_to_resume),
		TEST(every_cancelling_signal_is_named_and_the_data_is_partial),
		TEST(a_cancelled_wait_keeps_nothing_of_the_failure_before_but_its_steps),
		TEST(every_end_of_a_worker_has_a_message),
		TEST(moving_a_report_leaves_an_empty_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
