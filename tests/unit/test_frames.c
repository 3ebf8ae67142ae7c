/*
 * test_frames.c: what each frame does to the run and the report, before and
 * after a verdict, and what a broken stream does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/supervisor/frames.h"
#include "run_fixture.h"

static struct run run;
static struct report r;
static struct frames f;
static struct buf wire;

static int open_frames(void **state UNUSED)
{
	run_open(&run);
	report_init(&r);
	frames_init(&f, mono_now());
	return 0;
}

static int close_frames(void **state UNUSED)
{
	frames_release(&f);
	report_release(&r);
	run_close(&run);
	buf_release(&wire);
	return 0;
}

/* Feed the bytes on the wire, in pieces of that size. */
static enum frames_status hand_over(bool open, size_t piece)
{
	enum frames_status status = FRAMES_MORE;

	for (size_t at = 0; at < wire.len && status != FRAMES_BROKEN; at += piece) {
		enum frames_status s;

		assert_int_equal(frame_feed(&f.decoder, wire.data + at, MIN_OF(piece, wire.len - at)), 0);
		s = frames_take(&f, &run, &r, open);
		if (s != FRAMES_MORE)
			open = false, status = s;
	}
	buf_clear(&wire);
	return status;
}

static void say_all(void)
{
	ADD_FRAME(&wire, EXIT, STR(name, "LOCKED"), INT(exit_code, 79));
	ADD_FRAME(&wire, PLAN, STR(command, "deploy"), LIST(steps, "a\0b"), INT(grace_ms, 7));
	ADD_FRAME(&wire, RUN);
	ADD_FRAME(&wire, STEP, STR(name, "a"), STR(state, "running"));
	ADD_FRAME(&wire, PROGRESS, STR(data, "{\"n\":1}"), STR(text, "one"));
	ADD_FRAME(&wire, LOG, STR(level, "info"), STR(message, "hello"));
	ADD_FRAME(&wire, WARN, STR(code, "W1"), STR(message, "careful"));
	ADD_FRAME(&wire, META, STR(name, "extra"), STR(data, "[1]"));
	ADD_FRAME(&wire, RETRY, STR(event, "repeat"));
	ADD_FRAME(&wire, HOLD, INT(change, 1));
	ADD_FRAME(&wire, DETACH, INT(pid, 12345));
	ADD_FRAME(&wire, GUARD);
	ADD_FRAME(&wire, TEMPDIR, STR(text, "/t"));
	ADD_FRAME(&wire, TEXT, STR(text, "rendered"));
	ADD_FRAME(&wire, RESULT, INT(ok, 1), STR(data, "{\"done\":true}"));
}

static void assert_all_was_taken(void)
{
	assert_int_equal(run.plan.code_count, 1);
	assert_string_equal(run.plan.command, "deploy");
	assert_true(f.planned);
	assert_true(r.entered_run);
	assert_int_equal(r.steps.row[0].state, STEP_COMPLETED);
	assert_string_equal(buf_cstr(&r.progress), "{\"n\":1}");
	assert_int_equal(run.warnings.count, 1);
	assert_string_equal(buf_cstr(&run.metas.members), ",\"extra\":[1]");
	assert_int_equal(run.inner_repeats, 1);
	assert_int_equal(f.holds, 1);
	assert_int_equal(run.spared.count, 1);
	assert_true(run.session_dir_made);
	assert_string_equal(buf_cstr(&r.text), "rendered");
	assert_string_equal(buf_cstr(&r.data), "{\"done\":true}");
	assert_true(r.ok);
}

static void every_kind_is_taken_however_the_bytes_arrive(void **state UNUSED)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 8, 9, 64, 65536 };

	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		say_all();
		assert_int_equal(hand_over(true, pieces[i]), FRAMES_RESULT);
		assert_all_was_taken();
		close_frames(NULL);
		open_frames(NULL);
	}
}

static void retries_of_a_called_command_count_once_within_bounds(void **state UNUSED)
{
	ADD_FRAME(&wire, RETRY, STR(event, "called"), INT(attempt, 2));
	ADD_FRAME(&wire, RETRY, STR(event, "called"), INT(attempt, -5));
	ADD_FRAME(&wire, RETRY, STR(event, "called"));
	assert_int_equal(hand_over(true, 65536), FRAMES_MORE);
	assert_int_equal(run.inner_repeats, 2);
	assert_int_equal(run.called_repeats, 2);
	ADD_FRAME(&wire, RETRY, STR(event, "called"), INT(attempt, INT64_MAX));
	assert_int_equal(hand_over(true, 65536), FRAMES_MORE);
	assert_int_equal(run.called_repeats, 1002);
}

static void after_a_verdict_only_words_and_facts_about_processes_are_taken(void **state UNUSED)
{
	say_all();
	assert_int_equal(hand_over(false, 65536), FRAMES_MORE);
	assert_int_equal(run.plan.code_count, 0);
	assert_false(run.plan.known);
	assert_false(r.entered_run);
	assert_int_equal(r.steps.count, 0);
	assert_int_equal(r.progress.len + run.metas.members.len + r.text.len + r.data.len, 0);
	assert_int_equal(run.inner_repeats, 0);
	assert_int_equal(f.holds, 0);
	assert_false(r.ok);
	assert_int_equal(run.warnings.count, 1);
	assert_int_equal(run.spared.count, 1);
	assert_true(run.session_dir_made);
}

static void no_session_is_spared_that_the_run_itself_lives_in(void **state UNUSED)
{
	run.worker_pid = 4321;
	ADD_FRAME(&wire, DETACH, INT(pid, 0));
	ADD_FRAME(&wire, DETACH, INT(pid, 1));
	ADD_FRAME(&wire, DETACH, INT(pid, -5));
	ADD_FRAME(&wire, DETACH, INT(pid, getsid(0)));
	ADD_FRAME(&wire, DETACH, INT(pid, 4321));
	assert_int_equal(hand_over(true, 65536), FRAMES_MORE);
	assert_int_equal(run.spared.count, 0);
}

static void after_a_result_only_warnings_are_taken(void **state UNUSED)
{
	ADD_FRAME(&wire, RESULT, INT(ok, 1), STR(data, "[1]"));
	ADD_FRAME(&wire, STEP, STR(name, "late"));
	ADD_FRAME(&wire, WARN, STR(code, "LATE"));
	assert_int_equal(hand_over(true, 65536), FRAMES_RESULT);
	assert_true(r.ok);
	assert_string_equal(buf_cstr(&r.data), "[1]");
	assert_int_equal(r.steps.count, 0);
	assert_int_equal(run.warnings.count, 1);
}

/* Whichever comes first, and whether they come together. */
static void of_two_results_neither_is_believed(void **state UNUSED)
{
	static const size_t pieces[] = { 1, 65536 };

	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 2; k++) {
			if ((i + k) % 2 == 0)
				ADD_FRAME(&wire, RESULT, INT(ok, 1), STR(data, "[1]"));
			else
				ADD_FRAME(&wire, RESULT, INT(ok, 0), STR(code, "CONFLICT"), STR(data, "[2]"), STR(retryable, "true"),
				          INT(exit_code, 9));
		}
		assert_int_equal(hand_over(true, pieces[i / 2]), FRAMES_RESULT);
		assert_false(r.ok);
		assert_string_equal(r.code, "COMMAND_CRASHED");
		assert_int_equal(r.data.len, 0);
		assert_int_equal(r.exit_code, 0);
		assert_int_equal(r.own.retryable, RETRYABLE_INHERIT);
		close_frames(NULL);
		open_frames(NULL);
	}
}

static void a_limit_that_came_first_stands_whatever_is_answered(void **state UNUSED)
{
	ADD_FRAME(&wire, RESULT, INT(ok, 1), STR(data, "[1]"));
	ADD_FRAME(&wire, RESULT, INT(ok, 1), STR(data, "[2]"));
	assert_int_equal(hand_over(false, 65536), FRAMES_MORE);
	assert_string_equal(r.code, "");
}

/* It names a file that we write to: from RUN on, code that is confined could name one. */
static void a_ledger_is_named_before_run_or_not_at_all(void **state UNUSED)
{
	ADD_FRAME(&wire, RUN);
	ADD_FRAME(&wire, AUDIT, STR(text, "/home/victim/.bashrc"));
	hand_over(true, 65536);
	assert_string_equal(run.audit.path, "");
	close_frames(NULL);
	open_frames(NULL);
	ADD_FRAME(&wire, AUDIT, STR(text, "/ledger"), STR(name, "/project"));
	ADD_FRAME(&wire, AUDIT, STR(text, "/other"));
	ADD_FRAME(&wire, RUN);
	hand_over(true, 65536);
	assert_string_equal(run.audit.path, "/ledger");
	assert_string_equal(run.audit.project, "/project");
}

/* In texts and JSON of any frame, not in words of ours, nor in the counts of progress; and in what is written to the terminal. */
static void a_secret_is_hidden_in_each_frame_that_follows(void **state UNUSED)
{
	ADD_FRAME(&wire, PLAN, STR(command, "token4711"));
	ADD_FRAME(&wire, SECRETS, STR(text, "token4711"));
	ADD_FRAME(&wire, SECRETS, STR(text, "4711"));
	ADD_FRAME(&wire, RUN);
	ADD_FRAME(&wire, STEP, STR(name, "one token4711"), STR(state, "running"));
	ADD_FRAME(&wire, PROGRESS, STR(data, "{\"token4711\":4711}"));
	ADD_FRAME(&wire, RESULT, INT(ok, 0), STR(code, "TOKEN4711"), STR(message, "bad token4711"), STR(detail, "dG9rZW40NzEx"),
	          STR(context, "{\"a\":[\"token471\\u0031\",\"x\",4711]}"));
	assert_int_equal(hand_over(true, 7), FRAMES_RESULT);
	assert_string_equal(run.plan.command, "token4711");
	assert_string_equal(steps_running(&r.steps), "one ***");
	assert_string_equal(buf_cstr(&r.progress), "{\"***\":4711}");
	assert_string_equal(r.code, "TOKEN4711");
	assert_string_equal(buf_cstr(&r.message), "bad ***");
	assert_string_equal(buf_cstr(&r.detail), "***");
	assert_string_equal(buf_cstr(&r.context), "{\"a\":[\"***\",\"x\",\"***\"]}");
}

static void what_another_process_wrote_ends_the_attempt_unless_it_has_a_verdict(void **state UNUSED)
{
	ADD_FRAME(&wire, RESULT, INT(ok, 1));
	f.intruder = 4321;
	assert_int_equal(hand_over(false, 65536), FRAMES_MORE);
	assert_string_equal(r.code, "");
	close_frames(NULL);
	open_frames(NULL);
	ADD_FRAME(&wire, RESULT, INT(ok, 1));
	f.intruder = 4321;
	assert_int_equal(hand_over(true, 65536), FRAMES_BROKEN);
	assert_string_equal(r.code, "COMMAND_CRASHED");
	assert_non_null(strstr(buf_cstr(&r.message), "4321"));
	ADD_FRAME(&wire, RESULT, INT(ok, 1));
	assert_int_equal(hand_over(true, 65536), FRAMES_MORE);
	assert_false(r.ok);
}

static void fragments_of_invalid_json_are_left_out(void **state UNUSED)
{
	ADD_FRAME(&wire, PROGRESS, STR(data, "{"));
	ADD_FRAME(&wire, PROGRESS);
	ADD_FRAME(&wire, META, STR(name, "a"), STR(data, "1,\"ok\":true"));
	ADD_FRAME(&wire, META, STR(data, "1"));
	ADD_FRAME(&wire, WARN, STR(code, "W1"), STR(context, "{}}"));
	assert_int_equal(hand_over(true, 65536), FRAMES_MORE);
	assert_int_equal(r.progress.len + run.metas.members.len, 0);
	assert_lacks(buf_cstr(&run.warnings.rows), "context");
}

static void silence_counts_in_run_and_outside_of_waits(void **state UNUSED)
{
	assert_false(frames_may_idle(&f, &r));
	ADD_FRAME(&wire, RUN);
	hand_over(true, 64);
	assert_true(frames_may_idle(&f, &r));
	ADD_FRAME(&wire, HOLD, INT(change, 1));
	ADD_FRAME(&wire, HOLD, INT(change, INT64_MAX));
	hand_over(true, 64);
	ADD_FRAME(&wire, HOLD, INT(change, -1));
	hand_over(true, 64);
	assert_false(frames_may_idle(&f, &r));
	ADD_FRAME(&wire, HOLD, INT(change, INT64_MIN));
	hand_over(true, 64);
	assert_true(frames_may_idle(&f, &r));
}

static void the_load_limit_is_5_seconds_or_what_the_environment_says(void **state UNUSED)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = { { "200ms", 200 }, { "none", 0 }, { "7", 7000 }, { "", 5000 }, { "soon", 5000 }, { "-1s", 5000 } };

	assert_int_equal(f.load_ms, 5000);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setenv("RUNNER_LOAD_TIMEOUT", rows[i].text, 1);
		frames_init(&f, mono_now());
		assert_int_equal(f.load_ms, rows[i].ms);
	}
	unsetenv("RUNNER_LOAD_TIMEOUT");
}

/* --- rows -------------------------------------------------------------------------------------- */

static void a_row_is_counted_and_written_only_if_it_is_one_object_on_one_line(void **state UNUSED)
{
	static const char *const wrong[] = { "[1]", "1", "{\"a\":1}{}", "{\"a\":\n1}", "{", "" };
	char got[256];
	int p[2];

	assert_int_equal(pipe(p), 0);
	run.stdout_fd = p[1];
	ADD_FRAME(&wire, EMIT, STR(state, "rows"), INT(delay_ms, -5));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		ADD_FRAME(&wire, EMIT, STR(data, wrong[i]));
	ADD_FRAME(&wire, EMIT, STR(data, "{\"a\":1}"));
	ADD_FRAME(&wire, EMIT, STR(text, "a line"));
	hand_over(true, 7);
	rows_flush(&run);
	assert_true(run.rows.streams);
	assert_false(run.rows.may_repeat);
	assert_int_equal(run.rows.beat_ms, 0);
	assert_int_equal(run.rows.count, 2);
	assert_int_equal(read(p[0], got, sizeof(got)), 15);
	assert_memory_equal(got, "{\"a\":1}\na line\n", 15);
	rows_release(&run);
	close(p[0]), close(p[1]);
	run.stdout_fd = -1;
}

/* They gather for 50 us; what came before, or nothing at all, is not waited for. */
static void rows_gather_only_behind_others(void **state UNUSED)
{
	mono_t before = mono_now();

	run.rows.count = run.rows.flushed = 3;
	run.rows.seen_at = before;
	rows_gather(&run);
	assert_true(run.rows.seen_at == before);
	run.rows.count = 4;
	run.rows.seen_at = before + 1000000000; /* a row of this instant, whenever it is looked at */
	rows_gather(&run);
	assert_int_equal(run.rows.flushed, 4);
	assert_true(run.rows.seen_at >= before + 50000);
	run.rows.count = 5;
	run.rows.seen_at = 0;
	rows_gather(&run);
	assert_int_equal(run.rows.flushed, 5);
	assert_true(run.rows.seen_at > before);
	run.rows = (struct rows){ 0 };
}

/* --- a broken stream --------------------------------------------------------------------------- */

static void announce(enum frame_kind kind, uint32_t n)
{
	const char header[FRAME_HEADER] = { 'R', 'F', (char)kind, 1, (char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24) };

	buf_add(&wire, header, sizeof(header));
}

static const uint32_t caps[FRAME_KIND_COUNT] = {
#define FRAME(name, cap) [FRAME_##name] = cap,
#include "../../src/common/frame.def"
};

static void a_frame_over_its_cap_is_too_large_or_a_broken_protocol(void **state UNUSED)
{
	for (int kind = FRAME_NONE + 1; kind < FRAME_KIND_COUNT; kind++) {
		bool content = kind == FRAME_TEXT || kind == FRAME_RESULT;

		announce((enum frame_kind)kind, caps[kind] + 1);
		assert_int_equal(hand_over(true, 65536), FRAMES_BROKEN);
		assert_string_equal(r.code, content ? "OUTPUT_TOO_LARGE" : "COMMAND_CRASHED");
		close_frames(NULL);
		open_frames(NULL);
	}
}

static void anything_but_a_frame_breaks_the_protocol(void **state UNUSED)
{
	static const char *const wrong[] = { "XF\1\1\0\0\0\0", "RX\1\1\0\0\0\0", "RF\0\1\0\0\0\0", "RF\1\2\0\0\0\0",
		                             "RF\x63\1\0\0\0\0", "{\"ok\":1" };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		buf_add(&wire, wrong[i], 8);
		assert_int_equal(hand_over(true, 8), FRAMES_BROKEN);
		assert_string_equal(r.code, "COMMAND_CRASHED");
		close_frames(NULL);
		open_frames(NULL);
	}
}

static void a_broken_stream_is_forgotten_and_keeps_nothing_that_follows(void **state UNUSED)
{
	static char garbage[64 << 10];

	for (int open = 0; open <= 1; open++) {
		for (int i = 0; i < 256; i++) {
			assert_int_equal(frame_feed(&f.decoder, garbage, sizeof(garbage)), 0);
			assert_int_equal(frames_take(&f, &run, &r, open), open && i == 0 ? FRAMES_BROKEN : FRAMES_MORE);
		}
		assert_true(f.decoder.in.cap <= 1 << 20);
		ADD_FRAME(&wire, RESULT, INT(ok, 1));
		assert_int_equal(hand_over(open, 65536), FRAMES_MORE);
		assert_false(r.ok);
		close_frames(NULL);
		open_frames(NULL);
	}
}

static void frames_before_a_broken_one_still_count_and_so_does_a_result(void **state UNUSED)
{
	ADD_FRAME(&wire, RUN);
	buf_add_str(&wire, "garbage!");
	assert_int_equal(hand_over(true, 65536), FRAMES_BROKEN);
	assert_true(r.entered_run);
	close_frames(NULL);
	open_frames(NULL);
	ADD_FRAME(&wire, RESULT, INT(ok, 1));
	buf_add_str(&wire, "garbage!");
	assert_int_equal(hand_over(true, 65536), FRAMES_RESULT);
	assert_true(r.ok);
}

static void memory_that_runs_out_is_our_failure_and_not_the_commands(void **state UNUSED)
{
	f.decoder.in.failed = true;
	assert_int_equal(frames_take(&f, &run, &r, true), FRAMES_BROKEN);
	assert_string_equal(r.code, "RESOURCE_EXHAUSTED");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_frames, close_frames)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_is_taken_however_the_bytes_arrive),
		TEST(retries_of_a_called_command_count_once_within_bounds),
		TEST(after_a_verdict_only_words_and_facts_about_processes_are_taken),
		TEST(no_session_is_spared_that_the_run_itself_lives_in),
		TEST(after_a_result_only_warnings_are_taken),
		TEST(of_two_results_neither_is_believed),
		TEST(a_limit_that_came_first_stands_whatever_is_answered),
		TEST(a_ledger_is_named_before_run_or_not_at_all),
		TEST(a_secret_is_hidden_in_each_frame_that_follows),
		TEST(what_another_process_wrote_ends_the_attempt_unless_it_has_a_verdict),
		TEST(fragments_of_invalid_json_are_left_out),
		TEST(silence_counts_in_run_and_outside_of_waits),
		TEST(the_load_limit_is_5_seconds_or_what_the_environment_says),
		TEST(a_row_is_counted_and_written_only_if_it_is_one_object_on_one_line),
		TEST(rows_gather_only_behind_others),
		TEST(a_frame_over_its_cap_is_too_large_or_a_broken_protocol),
		TEST(anything_but_a_frame_breaks_the_protocol),
		TEST(a_broken_stream_is_forgotten_and_keeps_nothing_that_follows),
		TEST(frames_before_a_broken_one_still_count_and_so_does_a_result),
		TEST(memory_that_runs_out_is_our_failure_and_not_the_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
