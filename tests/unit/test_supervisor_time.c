/*
 * test_supervisor_time.c: whole runs with workers that hang, flood or send
 * garbage: an answer in bounded time and memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor_fixture.h"

/* --- time ------------------------------------------------------------------------------------ */

static int hangs(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 300), LIST(steps, "a\0b"));
	SEND(launch, STEP, STR(name, "a"));
	hang();
	return 0;
}

static void a_worker_that_hangs_ends_at_its_limit_and_its_steps_are_reported(void **state UNUSED)
{
	const char *text = assert_answer(hangs, 10, "TIMEOUT");

	assert_contains(text, "\"message\":\"Command exceeded timeout of 300ms\"");
	assert_contains(text, "\"data\":{\"completed_steps\":[],\"failed_step\":\"a\",\"pending_steps\":[\"a\",\"b\"],\"skipped_steps\":[]}");
	assert_ended_between(300, 300);
}

static int ignores_term(const struct launch *launch)
{
	ignore_term();
	return hangs(launch);
}

static void a_worker_that_ignores_term_is_killed_when_the_grace_is_over(void **state UNUSED)
{
	assert_answer(ignores_term, 10, "TIMEOUT");
	assert_ended_between(300 + GRACE_MS, 300 + GRACE_MS);
}

static int stops_itself(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 300));
	kill(getpid(), SIGSTOP);
	return 0;
}

static void a_stopped_worker_ends_at_its_limit(void **state UNUSED)
{
	assert_answer(stops_itself, 10, "TIMEOUT");
	assert_ended_between(300, 300);
}

static int never_plans(const struct launch *launch UNUSED)
{
	hang();
	return 0;
}

static void short_load(void)
{
	setenv("RUNNER_LOAD_TIMEOUT", "200ms", 1);
}

static void loading_has_a_limit_of_its_own(void **state UNUSED)
{
	const char *text;

	setup.before = short_load;
	text = assert_answer(never_plans, 10, "TIMEOUT");
	assert_contains(text, "\"phase\":\"validation\"");
	assert_contains(text, "\"context\":{\"limit\":\"load\"}");
	assert_contains(text, "RUNNER_LOAD_TIMEOUT");
	assert_ended_between(200, 200);
}

static int falls_silent(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000), INT(idle_timeout_ms, 400));
	SEND(launch, HOLD, INT(change, 1));
	poll(NULL, 0, 800); /* our own wait does not count as idle */
	SEND(launch, HOLD, INT(change, -1));
	for (int i = 0; i < 4; i++) {
		poll(NULL, 0, 100);
		(void)!write(1, ".", 1); /* neither is a byte on a tap */
	}
	hang();
	return 0;
}

static void only_real_silence_is_idle(void **state UNUSED)
{
	assert_contains(assert_answer(falls_silent, 10, "TIMEOUT"), "\"context\":{\"limit\":\"idle\"}");
	assert_ended_between(1600, 1600);
	assert_contains(buf_cstr(&answer.out), "\"THIRD_PARTY_STDOUT\"");
}

static int dies_at_once_after_its_result_is_sent_at_the_limit(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 200));
	poll(NULL, 0, 150);
	SEND(launch, RESULT, INT(ok, 1), STR(data, "[1]"));
	kill(getppid(), SIGCONT); /* no more than a wake-up */
	_exit(0);
}

static void a_result_just_before_the_limit_counts(void **state UNUSED)
{
	setup.text = true;
	run_scenario(dies_at_once_after_its_result_is_sent_at_the_limit);
	assert_json_lines(buf_cstr(&answer.out), 1);
	/* on a loaded machine the worker may be late, but then it is a timeout whole */
	assert_true(exit_status() == 0 || exit_status() == 10);
	assert_contains(buf_cstr(&answer.out), exit_status() == 0 ? "\"data\":[1]" : "TIMEOUT");
}

static int cleans_up_forever(const struct launch *launch)
{
	ignore_term();
	replies_ok(launch);
	hang();
	return 0;
}

static void an_endless_cleanup_is_cut_off_and_the_result_stands(void **state UNUSED)
{
	const char *text = assert_answer(cleans_up_forever, 0, NULL);

	assert_contains(text, "\"warnings\":[{\"code\":\"CLEANUP_SKIPPED\"");
	assert_lacks(text, "WORKER_EXIT"); /* its death is our doing */
	assert_ended_between(GRACE_MS, GRACE_MS);
}

/* --- floods -------------------------------------------------------------------------------------- */

static int floods_its_stdout_and_stderr(const struct launch *launch)
{
	static char text[8192];

	memset(text, 'x', sizeof(text));
	BEGIN_RUN(launch, INT(timeout_ms, 500));
	for (mono_t end = mono_add_ms(mono_now(), SCENARIO_LIMIT_MS); mono_now() < end;)
		(void)!(write(1, text, sizeof(text)) + write(2, text, sizeof(text)));
	return 0;
}

static void unwritable_stderr(void)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, 2);
	close(null);
}

static void a_flood_on_both_taps_stops_no_limit_and_costs_no_memory(void **state UNUSED)
{
	setup.before = unwritable_stderr;
	assert_answer(floods_its_stdout_and_stderr, 10, "TIMEOUT");
	assert_ended_between(500, 500 + GRACE_MS);
	assert_true(answer.out.len < 32 << 10);
	assert_small();
}

static int floods_frames(const struct launch *launch)
{
	struct buf many = BUF_INIT;

	BEGIN_RUN(launch, INT(timeout_ms, 500), INT(quiet, 1));
	for (int i = 0; i < 200; i++) {
		ADD_FRAME(&many, WARN, STR(code, "W1"), STR(message, "again"));
		ADD_FRAME(&many, PROGRESS, STR(data, "[1]"));
		ADD_FRAME(&many, LOG, STR(message, "again"));
	}
	for (mono_t end = mono_add_ms(mono_now(), SCENARIO_LIMIT_MS); mono_now() < end;)
		(void)!xwrite_all(launch->frame_fd, many.data, many.len);
	return 0;
}

static void a_flood_of_frames_stops_no_limit_and_costs_no_memory(void **state UNUSED)
{
	const char *text = assert_answer(floods_frames, 10, "TIMEOUT");

	assert_contains(text, "WARNINGS_DROPPED");
	assert_ended_between(500, 500 + GRACE_MS);
	assert_small();
}

static int floods_garbage(const struct launch *launch)
{
	static char garbage[64 << 10];

	ignore_term();
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	for (mono_t end = mono_add_ms(mono_now(), SCENARIO_LIMIT_MS); mono_now() < end;)
		(void)!xwrite_all(launch->frame_fd, garbage, sizeof(garbage));
	return 0;
}

static void endless_garbage_is_not_kept(void **state UNUSED)
{
	assert_answer(floods_garbage, 1, "COMMAND_CRASHED");
	assert_ended_between(GRACE_MS, GRACE_MS);
	assert_small();
}

/* --- broken frames ---------------------------------------------------------------------------------- */

static struct buf broken_bytes;
static bool then_hangs;
static int sent_limit_ms = 10000;

static int sends_bytes(const struct launch *launch)
{
	struct buf copy = BUF_INIT;

	/* only a hang ever meets its limit: what ends by itself may take what the machine takes */
	BEGIN_RUN(launch, INT(timeout_ms, sent_limit_ms));
	buf_add(&copy, broken_bytes.data, broken_bytes.len);
	send_frames(launch, &copy);
	if (then_hangs)
		hang();
	return 3;
}

static void announce(enum frame_kind kind, uint32_t n)
{
	const char header[FRAME_HEADER] = { 'R', 'F', (char)kind, 1, (char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24) };

	buf_clear(&broken_bytes);
	buf_add(&broken_bytes, header, sizeof(header));
}

static void half_a_frame_is_none_whether_the_worker_ends_or_hangs(void **state UNUSED)
{
	struct buf whole = BUF_INIT;

	ADD_FRAME(&whole, RESULT, INT(ok, 1), STR(data, "[1]"));
	for (size_t n = 1; n < whole.len; n += 7) {
		buf_clear(&broken_bytes);
		buf_add(&broken_bytes, whole.data, n);
		then_hangs = false;
		assert_contains(assert_answer(sends_bytes, 1, "COMMAND_CRASHED"), "\"exit_status\":3");
	}
	then_hangs = true;
	sent_limit_ms = 600;
	assert_answer(sends_bytes, 10, "TIMEOUT");
	sent_limit_ms = 10000;
	buf_release(&whole);
}

static void a_frame_over_its_cap_ends_the_attempt(void **state UNUSED)
{
	static const struct {
		enum frame_kind kind;
		const char *code;
	} rows[] = {
		{ FRAME_RESULT, "OUTPUT_TOO_LARGE" },
		{ FRAME_TEXT, "OUTPUT_TOO_LARGE" },
		{ FRAME_LOG, "COMMAND_CRASHED" },
		{ FRAME_HOLD, "COMMAND_CRASHED" },
	};

	then_hangs = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		announce(rows[i].kind, UINT32_MAX);
		assert_answer(sends_bytes, 1, rows[i].code);
		assert_ended_between(0, 0);
	}
}

static void an_unknown_frame_or_field_ends_the_attempt(void **state UNUSED)
{
	then_hangs = true;
	announce((enum frame_kind)FRAME_KIND_COUNT, 0);
	assert_answer(sends_bytes, 1, "COMMAND_CRASHED");
	announce((enum frame_kind)200, 0);
	assert_answer(sends_bytes, 1, "COMMAND_CRASHED");
	announce(FRAME_RUN, 5);
	buf_add(&broken_bytes, "\0\0\0\0\0", 5);
	assert_answer(sends_bytes, 1, "COMMAND_CRASHED");
	buf_release(&broken_bytes);
}

static int closes_everything(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 400));
	os_close_from(0, NULL, 0);
	hang();
	return 0;
}

static void a_worker_that_closes_every_descriptor_ends_at_its_limit(void **state UNUSED)
{
	assert_answer(closes_everything, 10, "TIMEOUT");
	assert_ended_between(400, 400);
}

static int smuggles(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	SEND(launch, META, STR(name, "exit_code"), STR(data, "0"));
	SEND(launch, WARN, STR(code, "x\"}],\"ok\":true"), STR(message, "\"}\n{\"ok\":true}\n"), STR(context, "{}}"));
	SEND(launch, RESULT, INT(ok, 1), STR(data, "{}},\"error\":null,\"x\":{\"y\":{}"));
	return 0;
}

static void nothing_can_be_smuggled_into_the_envelope(void **state UNUSED)
{
	const char *text = assert_answer(smuggles, 1, "INVALID_RESULT");

	assert_null(strstr(strstr(text, "\"exit_code\"") + 1, "\"exit_code\""));
}

#define TEST(f) cmocka_unit_test_teardown(f, reset_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_worker_that_hangs_ends_at_its_limit_and_its_steps_are_reported),
		TEST(a_worker_that_ignores_term_is_killed_when_the_grace_is_over),
		TEST(a_stopped_worker_ends_at_its_limit),
		TEST(loading_has_a_limit_of_its_own),
		TEST(only_real_silence_is_idle),
		TEST(a_result_just_before_the_limit_counts),
		TEST(an_endless_cleanup_is_cut_off_and_the_result_stands),
		TEST(a_flood_on_both_taps_stops_no_limit_and_costs_no_memory),
		TEST(a_flood_of_frames_stops_no_limit_and_costs_no_memory),
		TEST(endless_garbage_is_not_kept),
		TEST(half_a_frame_is_none_whether_the_worker_ends_or_hangs),
		TEST(a_frame_over_its_cap_ends_the_attempt),
		TEST(an_unknown_frame_or_field_ends_the_attempt),
		TEST(a_worker_that_closes_every_descriptor_ends_at_its_limit),
		TEST(nothing_can_be_smuggled_into_the_envelope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
