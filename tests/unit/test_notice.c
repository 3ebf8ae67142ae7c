/*
 * test_notice.c: what people and log readers see on stderr: text on a terminal,
 * otherwise one JSON object per line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/xio.h"
#include "../../src/supervisor/beat.h"
#include "../../src/supervisor/decide.h"
#include "../../src/supervisor/line.h"
#include "../../src/supervisor/notice.h"
#include "../../src/supervisor/warn.h"
#include "run_fixture.h"

static struct run run;
static int ours = -1, theirs = -1; /* ends of the pipe that is stderr */

static int open_run(void **state UNUSED)
{
	int p[2];

	run_open(&run);
	assert_int_equal(xpipe(p), 0);
	ours = p[0];
	theirs = p[1];
	assert_int_equal(xnonblock(ours), 0);
	outlet_init(&run.err, theirs);
	strcpy(run.plan.command, "deploy");
	return 0;
}

static int close_run(void **state UNUSED)
{
	beat_release(&run);
	run_close(&run);
	xclose(&ours);
	xclose(&theirs);
	return 0;
}

/* What was written since the last call. */
static const char *seen(void)
{
	static char text[64 << 10];
	ssize_t n = xread(ours, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static struct field bytes(const char *s)
{
	return (struct field){ .s = s, .n = strlen(s) };
}

static void on_terminal(bool color)
{
	run.launch.stderr_is_tty = true;
	run.color = color;
}

static void failed(const char *code, const char *message)
{
	report_release(&run.verdict.report);
	run.verdict.report.entered_run = true;
	report_fail(&run.verdict.report, code, "%s", message);
	run.verdict.hints = decide_hints(&run, &run.verdict.report);
}

/* --- retries ----------------------------------------------------------------------------- */

static void a_retry_is_two_json_lines_with_the_keys_of_the_design(void **state UNUSED)
{
	static const char *const keys[] = { "{\"level\":", ",\"event\":", ",\"command\":\"deploy\"", ",\"attempt\":1",
		                            ",\"max_attempts\":4", ",\"code\":", ",\"message\":", ",\"delay_ms\":5200",
		                            ",\"elapsed_ms\":" };
	const char *text, *at;

	run.plan.policy.retries = 3;
	failed("UNAVAILABLE", "503");
	notice_failed(&run, &run.verdict.report, 5200);
	text = seen();
	assert_json_lines(text, 2);
	for (int line = 0; line < 2; line++, text = strchr(text, '\n') + 1) {
		at = text;
		for (size_t i = 0; i < ARRAY_LEN(keys); i++)
			assert_non_null(at = strstr(at, keys[i]));
	}
	run.attempts = 3;
	notice_succeeded(&run);
	text = seen();
	assert_json_lines(text, 1);
	assert_contains(text, "\"event\":\"retry.succeeded\"");
	assert_contains(text, "\"code\":null");
	assert_contains(text, "\"message\":\"deploy succeeded on attempt 3\"");
	assert_contains(text, "\"delay_ms\":null");
}

static void on_a_terminal_the_same_is_text(void **state UNUSED)
{
	on_terminal(false);
	run.plan.policy.retries = 3;
	failed("UNAVAILABLE", "503");
	notice_failed(&run, &run.verdict.report, 5200);
	assert_string_equal(seen(), "deploy failed (attempt 1/4): UNAVAILABLE: 503\nRetrying in 5.2 seconds...\n");
	run.plan.policy.retries = POLICY_UNBOUNDED;
	notice_failed(&run, &run.verdict.report, 0);
	assert_string_equal(seen(), "deploy failed (attempt 1): UNAVAILABLE: 503\nRetrying in 0.0 seconds...\n");
	notice_succeeded(&run);
	assert_string_equal(seen(), "deploy succeeded on attempt 1\n");
}

static void waits_are_shown_to_a_tenth_of_a_second_however_long(void **state UNUSED)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0.0" },      { 49, "0.0" },     { 50, "0.1" },
		{ 949, "0.9" },    { 950, "1.0" },    { 60000, "60.0" },
		{ INT64_MAX - 1, "9223372036854775.8" }, { INT64_MAX, "9223372036854775.8" },
	};

	on_terminal(false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		failed("UNAVAILABLE", "503");
		notice_failed(&run, &run.verdict.report, rows[i].ms);
		assert_contains(seen(), rows[i].text);
	}
}

static void a_loop_inside_the_command_is_reported_alike_but_not_an_unknown_event(void **state UNUSED)
{
	static const char *const strange[] = { "", "repeat", "failed2", "retry.failed", "\x1b[2J" };
	const struct frame *f = RECEIVED(RETRY, INT(attempt, INT64_MAX), INT(max_attempts, INT64_MIN),
	                                 INT(delay_ms, INT64_MAX), STR(code, "A\"B\n"), STR(message, "m\xff\x1b[0m"));

	for (size_t i = 0; i < ARRAY_LEN(strange); i++)
		notice_inner_retry(&run, strange[i], f);
	assert_string_equal(seen(), "");
	notice_inner_retry(&run, "failed", f);
	notice_inner_retry(&run, "wait", f);
	notice_inner_retry(&run, "succeeded", f);
	assert_json_lines(seen(), 3);
	on_terminal(true);
	notice_inner_retry(&run, "failed", f);
	assert_lacks(seen(), "\x1b[0m");
}

/* --- logs, steps, progress ------------------------------------------------------------------ */

static void a_log_line_is_json_or_text_and_debug_needs_verbose(void **state UNUSED)
{
	notice_log(&run, "info", bytes("hello"));
	assert_string_equal(seen(), ""); /* nobody reads it */
	run.launch.log_kept = true;
	notice_log(&run, "info", bytes("hello"));
	assert_string_equal(seen(), "{\"level\":\"info\",\"event\":\"log\",\"command\":\"deploy\",\"message\":\"hello\"}\n");
	run.launch.log_kept = false;
	notice_log(&run, "debug", bytes("x"));
	assert_string_equal(seen(), "");
	run.plan.verbose = true;
	notice_log(&run, "debug", bytes("x"));
	assert_json_lines(seen(), 1);
	on_terminal(false);
	notice_log(&run, "info", bytes("a\x1b[31mb\r"));
	notice_log(&run, "error", bytes("bad"));
	assert_string_equal(seen(), "ab\nerror: bad\n");
}

static void an_event_has_the_keys_of_a_retry_line_and_its_context(void **state UNUSED)
{
	const struct frame *f = RECEIVED(LOG, STR(event, "step.retry"), STR(message, "a\x1b[31mb"),
	                                 INT(attempt, 1), INT(max_attempts, 5), STR(code, "UNAVAILABLE"),
	                                 INT(delay_ms, 20), STR(context, "{\"step\":\"build\"}"));

	notice_event(&run, "debug", f);
	assert_string_equal(seen(), "");
	notice_event(&run, "warn", f);
	assert_contains(seen(), "{\"level\":\"warn\",\"event\":\"step.retry\",\"command\":\"deploy\","
	                        "\"attempt\":1,\"max_attempts\":5,\"code\":\"UNAVAILABLE\",");
	notice_event(&run, "warn", f);
	assert_contains(seen(), "\"context\":{\"step\":\"build\"}}\n");
	on_terminal(false);
	notice_event(&run, "warn", f);
	assert_string_equal(seen(), "ab\n");
}

static void who_is_behind_with_reading_has_the_last_progress(void **state UNUSED)
{
	static char full[80 << 10];
	char text[64];

	run.plan.verbose = true;
	notice_progress(&run, bytes(" 1/9"));
	assert_non_null(strstr(seen(), "\"message\":\"1/9\"}\n"));
	memset(full, '\n', sizeof(full));
	outlet_write(&run.err, full, sizeof(full), true);
	assert_true(outlet_waiting(&run.err));
	for (int i = 2; i < 50000; i++) {
		snprintf(text, sizeof(text), "%d/50000", i);
		notice_progress(&run, bytes(text));
	}
	notice_held(&run, false);
	assert_true(run.err.backlog.len - run.err.sent < sizeof(full)); /* not one line more */
	while (outlet_waiting(&run.err)) {
		(void)seen();
		outlet_flush(&run.err);
	}
	(void)seen();
	notice_held(&run, false);
	assert_string_equal(seen(), "{\"level\":\"info\",\"event\":\"progress\",\"command\":\"deploy\",\"message\":\"49999/50000\"}\n");
	notice_held(&run, true);
	assert_string_equal(seen(), "");
}

static void what_a_step_says_has_one_line_of_the_terminal(void **state UNUSED)
{
	char text[300], *line = text;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	const struct frame *f = RECEIVED(LOG, STR(event, "step.live"), STR(message, line));

	notice_event(&run, "info", f);
	assert_int_equal(strspn(strstr(seen(), "xx"), "x"), 299);
	on_terminal(false); /* its width is not known: 80 columns, the last of them free */
	notice_event(&run, "info", f);
	const char *shown = seen();
	assert_int_equal(strspn(shown, "x"), 77);
	assert_string_equal(shown + 77, "…\n");
	f = RECEIVED(LOG, STR(event, "step.live"), STR(message, "short \x1b[31mred"));
	notice_event(&run, "info", f);
	assert_string_equal(seen(), "short red\n");
}

static void an_event_without_more_is_a_line_and_broken_context_is_left_out(void **state UNUSED)
{
	const struct frame *f = RECEIVED(LOG, STR(event, "step"), STR(context, "{\"broken\""));

	notice_event(&run, "info", f);
	assert_json_lines(seen(), 1);
	notice_event(&run, "info", f);
	assert_lacks(seen(), "context");
}

static void steps_and_progress_are_for_terminals_only(void **state UNUSED)
{
	notice_step(&run, bytes("upload"));
	picture_progress(&run, bytes("50 %"));
	assert_string_equal(seen(), "");
	on_terminal(false);
	notice_step(&run, bytes("up\x1b[2Jload"));
	picture_progress(&run, bytes("50 %"));
	assert_string_equal(seen(), "deploy: upload\n");
	on_terminal(true);
	picture_progress(&run, bytes("50 %"));
	assert_string_equal(seen(), "\x1b[?7l\r\x1b[K50 %\x1b[?7h");
	notice_log(&run, "info", bytes("x"));
	assert_string_equal(seen(), "");
	block_close(&run);
	assert_string_equal(seen(), "\r\x1b[Kx\n");
}

static void quiet_hides_all_of_it_but_the_verdict(void **state UNUSED)
{
	run.plan.quiet = true;
	failed("UNAVAILABLE", "503");
	for (int tty = 0; tty <= 1; tty++) {
		run.launch.stderr_is_tty = run.color = tty;
		notice_failed(&run, &run.verdict.report, 1);
		notice_succeeded(&run);
		notice_inner_retry(&run, "failed", RECEIVED(RETRY));
		notice_log(&run, "error", bytes("x"));
		notice_step(&run, bytes("x"));
		picture_progress(&run, bytes("x"));
		assert_string_equal(seen(), "");
	}
	notice_error(&run, 12);
	assert_contains(seen(), "UNAVAILABLE (exit 12)");
	notice_plain(&run, "%s", "last words");
	assert_string_equal(seen(), "runner: last words\n");
}

/* --- the verdict ------------------------------------------------------------------------------ */

static void an_error_for_people_shows_the_code_whether_to_retry_and_what_to_do(void **state UNUSED)
{
	failed("RATE_LIMITED", "slow down");
	buf_add_str(&run.verdict.report.suggestion, "use less");
	notice_error(&run, 11);
	assert_string_equal(seen(), "deploy: error: slow down\n  code: RATE_LIMITED (exit 11)\n"
	                            "  retryable: yes, after 1m\n  hint: use less\n");
	buf_add_str(&run.verdict.report.fix_required, "wait");
	notice_error(&run, 11);
	assert_lacks(seen(), "fix:"); /* the nearer advice is enough */
	run.plan.verbose = true;
	notice_error(&run, 11);
	assert_contains(seen(), "  fix: wait\n  hint: use less\n");
	buf_add_str(&run.verdict.report.fix_required, " less");
	run.verdict.report.suggestion.len = 0;
	buf_add_str(&run.verdict.report.suggestion, "wait less");
	notice_error(&run, 11);
	assert_lacks(seen(), "fix:"); /* never the same twice */
	run.plan.verbose = false;
	run.verdict.exhausted = true;
	notice_error(&run, 11);
	assert_contains(seen(), "retryable: no, retries exhausted\n");
	run.verdict.exhausted = false;
	failed("TIMEOUT", "late");
	notice_error(&run, 10);
	assert_contains(seen(), "retryable: yes, immediately\n");
	failed("COMMAND_CRASHED", "gone");
	notice_error(&run, 1);
	assert_contains(seen(), "retryable: maybe\n");
}

static void a_fix_that_the_message_contains_is_printed_once(void **state UNUSED)
{
	failed("COMMAND_INVALID", "x.lua:1: unknown key 'timout'. Rename 'timout' to 'timeout' (and 1 more)");
	buf_add_str(&run.verdict.report.fix_required, "Rename 'timout' to 'timeout'");
	notice_error(&run, 4);
	assert_null(strstr(seen(), "fix:"));
	failed("COMMAND_INVALID", "x.lua:1: syntax error");
	buf_add_str(&run.verdict.report.fix_required, "Fix the syntax error");
	notice_error(&run, 4);
	assert_contains(seen(), "  fix: Fix the syntax error\n");
}

static void nothing_is_said_twice(void **state UNUSED)
{
	struct report *r = &run.verdict.report;

	failed("VALIDATION_ERROR", "Missing argument --target, which takes text");
	buf_add_str(&r->suggestion, "--target takes text");
	buf_add_str(&r->place, "runner deploy --target <string>");
	notice_error(&run, 2);
	assert_string_equal(seen(), "deploy: error: Missing argument --target, which takes text\n  code: VALIDATION_ERROR (exit 2)\n"
	                            "  usage: runner deploy --target <string>\n");
	failed("VALIDATION_ERROR", "Unknown flag '--taget'");
	buf_add_str(&r->suggestion, "Did you mean '--target'?");
	buf_add_str(&r->fix_command, "runner deploy --target x"); /* says both */
	buf_add_str(&r->place, "runner deploy [options]");
	notice_error(&run, 2);
	assert_string_equal(seen(), "deploy: error: Unknown flag '--taget'\n  code: VALIDATION_ERROR (exit 2)\n"
	                            "  run: runner deploy --target x\n");
	run.plan.verbose = true;
	notice_error(&run, 2);
	assert_contains(seen(), "hint: Did you mean '--target'?\n");
	run.plan.verbose = false;
	failed("SUBPROCESS_FAILED", "make exited with status 2: gone");
	buf_add_str(&r->output, "\n    gone");
	notice_error(&run, 1);
	assert_lacks(seen(), "output:");
	buf_add_str(&r->output, "\n    going");
	notice_error(&run, 1);
	assert_contains(seen(), "  output: \n    going\n");
}

static void a_mistake_of_a_script_says_where_once_and_is_none_of_runner(void **state UNUSED)
{
	struct report *r = &run.verdict.report;

	failed("INTERNAL_ERROR", "/p/commands/x.lua:3: there is no ctx:shell");
	buf_add_str(&r->place, "commands/x.lua:3\n    ctx:shell(1)");
	notice_error(&run, 1);
	assert_string_equal(seen(), "deploy: error: /p/commands/x.lua:3: there is no ctx:shell\n"
	                            "  code: INTERNAL_ERROR (exit 1), an error of the script\n  line: ctx:shell(1)\n");
	failed("INTERNAL_ERROR", "boom");
	buf_add_str(&r->place, "commands/x.lua:3\n    ctx:shell(1)");
	notice_error(&run, 1);
	assert_contains(seen(), "  at: commands/x.lua:3\n    ctx:shell(1)\n");
	failed("INTERNAL_ERROR", "boom"); /* of runner, as far as is known */
	notice_error(&run, 1);
	assert_contains(seen(), "(exit 1)\n  retryable: maybe\n");
}

static void a_traceback_is_for_crashes_and_for_verbose(void **state UNUSED)
{
	static const char *const codes[] = { "INTERNAL_ERROR", "UNAVAILABLE" };

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		for (int verbose = 0; verbose <= 1; verbose++) {
			run.plan.verbose = verbose;
			failed(codes[i], "m");
			buf_add_str(&run.verdict.report.detail, "stack");
			notice_error(&run, 1);
			assert_int_equal(strstr(seen(), "detail: stack") != NULL, i == 0 || verbose);
		}
}

static void a_warning_is_printed_where_no_envelope_has_it(void **state UNUSED)
{
	for (int format = FORMAT_JSON; format <= FORMAT_TEXT; format++)
		for (int quiet = 0; quiet <= 1; quiet++) {
			run.plan.format = (enum format)format;
			run.plan.quiet = quiet;
			run.launch.stderr_is_tty = false;
			run_warn(&run, "A_CODE", "careful", NULL);
			assert_string_equal(seen(), format == FORMAT_JSON || quiet ? "" :
				"{\"level\":\"warn\",\"event\":\"warning\",\"command\":\"deploy\",\"code\":\"A_CODE\","
				"\"message\":\"careful\"}\n");
			on_terminal(false);
			run_warn(&run, "A_CODE", "care\x1b[2Jful", NULL);
			assert_string_equal(seen(), format == FORMAT_JSON || quiet ? "" : "deploy: warning: careful\n");
		}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_retry_is_two_json_lines_with_the_keys_of_the_design),
		TEST(on_a_terminal_the_same_is_text),
		TEST(waits_are_shown_to_a_tenth_of_a_second_however_long),
		TEST(a_loop_inside_the_command_is_reported_alike_but_not_an_unknown_event),
		TEST(a_log_line_is_json_or_text_and_debug_needs_verbose),
		TEST(an_event_has_the_keys_of_a_retry_line_and_its_context),
		TEST(who_is_behind_with_reading_has_the_last_progress),
		TEST(what_a_step_says_has_one_line_of_the_terminal),
		TEST(an_event_without_more_is_a_line_and_broken_context_is_left_out),
		TEST(steps_and_progress_are_for_terminals_only),
		TEST(quiet_hides_all_of_it_but_the_verdict),
		TEST(an_error_for_people_shows_the_code_whether_to_retry_and_what_to_do),
		TEST(a_fix_that_the_message_contains_is_printed_once),
		TEST(nothing_is_said_twice),
		TEST(a_mistake_of_a_script_says_where_once_and_is_none_of_runner),
		TEST(a_traceback_is_for_crashes_and_for_verbose),
		TEST(a_warning_is_printed_where_no_envelope_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
