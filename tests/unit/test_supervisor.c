/*
 * test_supervisor.c: whole runs with workers that do everything a worker can do
 * wrong. Whatever it is: one valid envelope, the right exit status, in bounded
 * time, and no process left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "scene.h"

#define GRACE_MS 200
#define LATE_MS 5000 /* what a loaded machine may add */

/* EXIT …, PLAN, RUN: what every worker of ours says first. */
#define OPEN(told, ...) \
	do { \
		TELL(told, PLAN, STR(command, "test"), INT(grace_ms, GRACE_MS), __VA_ARGS__); \
		TELL(told, RUN); \
	} while (0)

/* --- results ---------------------------------------------------------------------------- */

static int replies_ok(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000));
	TELL(told, RESULT, INT(ok, 1), STR(data, "{\"n\":1}"));
	return 0;
}

static void a_result_is_the_answer(void **state UNUSED)
{
	const char *text = assert_answer(replies_ok, 0, NULL);

	assert_contains(text, "{\"ok\":true,\"data\":{\"n\":1},\"error\":null,\"warnings\":[],\"meta\":{\"command\":\"test\"");
	assert_contains(text, "\"timeout_ms\":10000");
	assert_contains(text, "\"attempt\":1,\"max_attempts\":1}");
	assert_string_equal(said_on_stderr(), "");
}

static int replies_failure(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000));
	TELL(told, RESULT, INT(ok, 0), STR(code, "NOT_FOUND"), STR(message, "no such thing"), STR(phase, "execution"));
	return 0;
}

static void a_failure_has_its_codes_number(void **state UNUSED)
{
	const char *text = assert_answer(replies_failure, 5, "NOT_FOUND");

	assert_contains(text, "\"message\":\"no such thing\",\"retryable\":false,\"side_effects\":\"none\",\"phase\":\"execution\"}");
}

static int replies_and_fails(const struct launch *told)
{
	replies_ok(told);
	return 7;
}

static void an_exit_status_after_the_result_is_a_warning_and_no_verdict(void **state UNUSED)
{
	assert_contains(assert_answer(replies_and_fails, 0, NULL), "{\"code\":\"WORKER_EXIT\"");
}

static int replies_twice(const struct launch *told)
{
	struct buf both = BUF_INIT;

	OPEN(told, INT(timeout_ms, 10000));
	SAY(&both, RESULT, INT(ok, 1), STR(data, "[1]"));
	SAY(&both, RESULT, INT(ok, 0), STR(code, "CONFLICT"), STR(data, "[2]"));
	tell(told, &both);
	TELL(told, RESULT, INT(ok, 0), STR(code, "NOT_FOUND"));
	return 0;
}

static void of_several_results_the_first_is_the_answer(void **state UNUSED)
{
	assert_contains(assert_answer(replies_twice, 0, NULL), "\"data\":[1]");
}

static int talks_after_its_result(const struct launch *told)
{
	replies_ok(told);
	TELL(told, WARN, STR(code, "CLEANUP_FAILED"), STR(message, "m"));
	TELL(told, META, STR(name, "late"), STR(data, "1"));
	TELL(told, PLAN, STR(command, "other"));
	TELL(told, STEP, STR(name, "late"));
	return 0;
}

static void frames_after_the_result_add_warnings_and_change_nothing_else(void **state UNUSED)
{
	const char *text = assert_answer(talks_after_its_result, 0, NULL);

	assert_contains(text, "\"warnings\":[{\"code\":\"CLEANUP_FAILED\"");
	assert_lacks(text, "late");
	assert_lacks(text, "other");
}

static int replies_with_4_mib(const struct launch *told)
{
	struct buf data = BUF_INIT;

	OPEN(told, INT(timeout_ms, 20000));
	buf_add_str(&data, "[\"");
	for (int i = 0; i < 4 << 17; i++)
		buf_add_str(&data, "01234567");
	buf_add_str(&data, "\"]");
	TELL(told, RESULT, INT(ok, 1), BYTES(data, data.data, data.len));
	return 0;
}

static void a_large_result_reaches_a_slow_reader_whole(void **state UNUSED)
{
	staging.read_after_ms = 300;
	assert_answer(replies_with_4_mib, 0, NULL);
	assert_true(answer.out.len > 4 << 20);
}

/* --- no result ----------------------------------------------------------------------------- */

static int exit_status_of_worker;

static int exits_silently(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000));
	return exit_status_of_worker;
}

static void every_exit_without_a_result_is_a_crash_with_its_status(void **state UNUSED)
{
	static const int statuses[] = { 0, 1, 2, 10, 127, 130, 255 };
	char wanted[64];

	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		exit_status_of_worker = statuses[i];
		snprintf(wanted, sizeof(wanted), "\"context\":{\"exit_status\":%d}", statuses[i]);
		assert_contains(assert_answer(exits_silently, 1, "COMMAND_CRASHED"), wanted);
		assert_contains(buf_cstr(&answer.out), "\"retryable\":\"maybe\",\"max_retries\":3,\"side_effects\":\"partial\"");
	}
}

static int signal_of_worker;

static int kills_itself(const struct launch *told)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	OPEN(told, INT(timeout_ms, 10000));
	kill(getpid(), signal_of_worker);
	return 0;
}

static bool ends_a_process(int sig)
{
	static const int others[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (others[i] == sig)
			return false;
	if (sig > SIGTERM && under_valgrind()) /* which keeps some for itself */
		return false;
	return sig < 32 || (sig >= SIGRTMIN && sig <= SIGRTMAX);
}

static void every_signal_that_ends_the_worker_is_named(void **state UNUSED)
{
	char scratch[16], wanted[64];

	for (int sig = 1; sig < NSIG; sig++) {
		if (!ends_a_process(sig))
			continue;
		signal_of_worker = sig;
		snprintf(wanted, sizeof(wanted), "\"context\":{\"signal\":\"%s\"}", signal_name(sig, scratch));
		assert_contains(assert_answer(kills_itself, 1, "COMMAND_CRASHED"), wanted);
	}
}

static int says_nothing(const struct launch *told UNUSED)
{
	return 0;
}

static void a_worker_that_never_said_a_word_is_a_crash_before_run(void **state UNUSED)
{
	assert_contains(assert_answer(says_nothing, 1, "COMMAND_CRASHED"), "\"side_effects\":\"none\",\"phase\":\"validation\"");
}

/* --- time ------------------------------------------------------------------------------------ */

static void assert_ended_between(int64_t least, int64_t most)
{
	if (answer.ms < least || answer.ms > most + LATE_MS)
		fail_msg("ended after %lld ms, not %lld to %lld", (long long)answer.ms, (long long)least, (long long)most);
}

static int hangs(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 300), LIST(steps, "a\0b"));
	TELL(told, STEP, STR(name, "a"));
	hang();
	return 0;
}

static void a_worker_that_hangs_ends_at_its_limit_and_its_steps_are_told(void **state UNUSED)
{
	const char *text = assert_answer(hangs, 10, "TIMEOUT");

	assert_contains(text, "\"message\":\"Command exceeded timeout of 300ms\"");
	assert_contains(text, "\"data\":{\"completed_steps\":[],\"failed_step\":\"a\",\"pending_steps\":[\"a\",\"b\"],\"skipped_steps\":[]}");
	assert_ended_between(300, 300);
}

static int ignores_term(const struct launch *told)
{
	ignore_term();
	return hangs(told);
}

static void a_worker_that_ignores_term_is_killed_when_the_grace_is_over(void **state UNUSED)
{
	assert_answer(ignores_term, 10, "TIMEOUT");
	assert_ended_between(300 + GRACE_MS, 300 + GRACE_MS);
}

static int stops_itself(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 300));
	kill(getpid(), SIGSTOP);
	return 0;
}

static void a_stopped_worker_ends_at_its_limit(void **state UNUSED)
{
	assert_answer(stops_itself, 10, "TIMEOUT");
	assert_ended_between(300, 300);
}

static int never_plans(const struct launch *told UNUSED)
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
	staging.before = short_load;
	assert_contains(assert_answer(never_plans, 10, "TIMEOUT"), "\"phase\":\"validation\",\"context\":{\"limit\":\"load\"}");
	assert_ended_between(200, 200);
}

static int falls_silent(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000), INT(idle_timeout_ms, 400));
	TELL(told, HOLD, INT(change, 1));
	poll(NULL, 0, 800); /* a wait of ours is no silence */
	TELL(told, HOLD, INT(change, -1));
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

static int dies_at_once_after_its_result_is_sent_at_the_limit(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 200));
	poll(NULL, 0, 150);
	TELL(told, RESULT, INT(ok, 1), STR(data, "[1]"));
	kill(getppid(), SIGCONT); /* no more than a wake-up */
	_exit(0);
}

static void a_result_just_before_the_limit_counts(void **state UNUSED)
{
	staging.text = true;
	run_scene(dies_at_once_after_its_result_is_sent_at_the_limit);
	assert_json_lines(buf_cstr(&answer.out), 1);
	/* on a loaded machine the worker may be late, but then it is a timeout whole */
	assert_true(exit_status() == 0 || exit_status() == 10);
	assert_contains(buf_cstr(&answer.out), exit_status() == 0 ? "\"data\":[1]" : "TIMEOUT");
}

static int cleans_up_for_ever(const struct launch *told)
{
	ignore_term();
	replies_ok(told);
	hang();
	return 0;
}

static void a_cleanup_without_end_is_cut_and_the_result_stands(void **state UNUSED)
{
	const char *text = assert_answer(cleans_up_for_ever, 0, NULL);

	assert_contains(text, "\"warnings\":[{\"code\":\"CLEANUP_SKIPPED\"");
	assert_lacks(text, "WORKER_EXIT"); /* its death is our doing */
	assert_ended_between(GRACE_MS, GRACE_MS);
}

/* --- floods -------------------------------------------------------------------------------------- */

static int floods_its_stdout_and_stderr(const struct launch *told)
{
	static char text[8192];

	memset(text, 'x', sizeof(text));
	OPEN(told, INT(timeout_ms, 500));
	for (mono_t end = mono_add_ms(mono_now(), SCENE_LIMIT_MS); mono_now() < end;)
		(void)!(write(1, text, sizeof(text)) + write(2, text, sizeof(text)));
	return 0;
}

static void assert_small(void)
{
	if (!UNDER_SANITIZER && !under_valgrind())
		assert_in_range(answer.peak_kib, 1, 96 << 10);
}

static void unwritable_stderr(void)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, 2);
	close(null);
}

static void a_flood_on_both_taps_stops_no_limit_and_costs_no_memory(void **state UNUSED)
{
	staging.before = unwritable_stderr;
	assert_answer(floods_its_stdout_and_stderr, 10, "TIMEOUT");
	assert_ended_between(500, 500 + GRACE_MS);
	assert_true(answer.out.len < 32 << 10);
	assert_small();
}

static int floods_frames(const struct launch *told)
{
	struct buf many = BUF_INIT;

	OPEN(told, INT(timeout_ms, 500), INT(quiet, 1));
	for (int i = 0; i < 200; i++) {
		SAY(&many, WARN, STR(code, "W1"), STR(message, "again"));
		SAY(&many, PROGRESS, STR(data, "[1]"));
		SAY(&many, LOG, STR(message, "again"));
	}
	for (mono_t end = mono_add_ms(mono_now(), SCENE_LIMIT_MS); mono_now() < end;)
		(void)!xwrite_all(told->frame_fd, many.data, many.len);
	return 0;
}

static void a_flood_of_frames_stops_no_limit_and_costs_no_memory(void **state UNUSED)
{
	const char *text = assert_answer(floods_frames, 10, "TIMEOUT");

	assert_contains(text, "WARNINGS_DROPPED");
	assert_ended_between(500, 500 + GRACE_MS);
	assert_small();
}

static int floods_garbage(const struct launch *told)
{
	static char garbage[64 << 10];

	ignore_term();
	OPEN(told, INT(timeout_ms, 10000));
	for (mono_t end = mono_add_ms(mono_now(), SCENE_LIMIT_MS); mono_now() < end;)
		(void)!xwrite_all(told->frame_fd, garbage, sizeof(garbage));
	return 0;
}

static void garbage_without_end_is_not_kept(void **state UNUSED)
{
	assert_answer(floods_garbage, 1, "COMMAND_CRASHED");
	assert_ended_between(GRACE_MS, GRACE_MS);
	assert_small();
}

/* --- broken frames ---------------------------------------------------------------------------------- */

static struct buf broken_bytes;
static bool then_hangs;

static int sends_bytes(const struct launch *told)
{
	struct buf copy = BUF_INIT;

	OPEN(told, INT(timeout_ms, 600));
	buf_add(&copy, broken_bytes.data, broken_bytes.len);
	tell(told, &copy);
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

	SAY(&whole, RESULT, INT(ok, 1), STR(data, "[1]"));
	for (size_t n = 1; n < whole.len; n += 7) {
		buf_clear(&broken_bytes);
		buf_add(&broken_bytes, whole.data, n);
		then_hangs = false;
		assert_contains(assert_answer(sends_bytes, 1, "COMMAND_CRASHED"), "\"exit_status\":3");
	}
	then_hangs = true;
	assert_answer(sends_bytes, 10, "TIMEOUT");
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

static int closes_everything(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 400));
	os_close_from(0, NULL, 0);
	hang();
	return 0;
}

static void a_worker_that_closes_every_descriptor_ends_at_its_limit(void **state UNUSED)
{
	assert_answer(closes_everything, 10, "TIMEOUT");
	assert_ended_between(400, 400);
}

static int smuggles(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000));
	TELL(told, META, STR(name, "exit_code"), STR(data, "0"));
	TELL(told, WARN, STR(code, "x\"}],\"ok\":true"), STR(message, "\"}\n{\"ok\":true}\n"), STR(context, "{}}"));
	TELL(told, RESULT, INT(ok, 1), STR(data, "{}},\"error\":null,\"x\":{\"y\":{}"));
	return 0;
}

static void nothing_can_be_smuggled_into_the_envelope(void **state UNUSED)
{
	const char *text = assert_answer(smuggles, 1, "INVALID_RESULT");

	assert_null(strstr(strstr(text, "\"exit_code\"") + 1, "\"exit_code\""));
}

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

static int leaves_daemons(const struct launch *told)
{
	ignore_term();
	for (int i = 0; i < 5; i++)
		leave_daemon();
	return replies_ok(told);
}

static void daemons_after_a_success_are_ended_and_told(void **state UNUSED)
{
	assert_contains(assert_answer(leaves_daemons, 0, NULL), "\"PROCESS_LEFT\"");
	assert_ended_between(GRACE_MS, GRACE_MS);
}

static int crashes_beside_daemons(const struct launch *told)
{
	leave_daemon();
	OPEN(told, INT(timeout_ms, 10000));
	raise(SIGKILL);
	return 0;
}

static void daemons_of_a_crashed_worker_are_ended(void **state UNUSED)
{
	assert_contains(assert_answer(crashes_beside_daemons, 1, "COMMAND_CRASHED"), "\"signal\":\"SIGKILL\"");
}

static int breeds(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 300));
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

static int succeeds_at_the_third(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000), POLICY(5));
	if (told->attempt < 3)
		TELL(told, RESULT, INT(ok, 0), STR(code, "UNAVAILABLE"), STR(message, "503"));
	else if (told->previous_code && strcmp(told->previous_code, "UNAVAILABLE") == 0)
		TELL(told, RESULT, INT(ok, 1), STR(data, "[3]"));
	return 0;
}

static void a_failure_is_tried_again_until_it_works(void **state UNUSED)
{
	const char *text = assert_answer(succeeds_at_the_third, 0, NULL);

	assert_contains(text, "\"attempt\":3,\"max_attempts\":6,\"retries\":2,\"retry_history\":[{\"attempt\":1,\"code\":\"UNAVAILABLE\"");
	assert_json_lines(said_on_stderr(), 5);
	assert_contains(said_on_stderr(), "test succeeded on attempt 3");
}

static int64_t allowed_retries;

static int always_fails(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 20000), POLICY(allowed_retries));
	TELL(told, RESULT, INT(ok, 0), STR(code, "UNAVAILABLE"), STR(message, "503"));
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

static int times_out_then_works(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 10000), INT(attempt_timeout_ms, 200), POLICY(2));
	if (told->attempt == 1)
		hang();
	TELL(told, RESULT, INT(ok, 1));
	return 0;
}

static void an_attempts_limit_is_tried_again(void **state UNUSED)
{
	assert_contains(assert_answer(times_out_then_works, 0, NULL), "\"retry_history\":[{\"attempt\":1,\"code\":\"TIMEOUT\"");
}

static int fails_before_run_the_second_time(const struct launch *told)
{
	TELL(told, PLAN, STR(command, "test"), INT(grace_ms, GRACE_MS), POLICY(3));
	if (told->attempt == 1)
		TELL(told, RUN);
	TELL(told, RESULT, INT(ok, 0), STR(code, told->attempt == 1 ? "UNAVAILABLE" : "COMMAND_INVALID"));
	return 0;
}

static void a_later_attempt_that_never_ran_leaves_the_earlier_error(void **state UNUSED)
{
	assert_contains(assert_answer(fails_before_run_the_second_time, 12, "UNAVAILABLE"), "\"COMMAND_CHANGED\"");
}

/* --- signals ---------------------------------------------------------------------------------------------- */

static int waits(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 20000));
	hang();
	return 0;
}

static int fails_and_waits(const struct launch *told)
{
	OPEN(told, INT(timeout_ms, 30000), INT(retries, 1), STR(strategy, "constant"), INT(delay_ms, 20000),
	     STR(jitter, "none"));
	TELL(told, RESULT, INT(ok, 0), STR(code, "UNAVAILABLE"), STR(message, "503"), STR(suggestion, "call back"),
	     STR(context, "{\"status\":503}"));
	return 0;
}

static void every_cancelling_signal_ends_work_and_waits_with_its_number(void **state UNUSED)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	worker_fn *const workers[] = { waits, fails_and_waits };
	char wanted[64], scratch[16];

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		for (size_t w = 0; w < ARRAY_LEN(workers); w++) {
			staging.sig = signals[i];
			staging.sig_after_ms = 250;
			assert_answer(workers[w], signals[i] == SIGINT ? 130 : 143, "CANCELLED");
			snprintf(wanted, sizeof(wanted), "\"signal\":\"%s\"", signal_name(signals[i], scratch));
			assert_contains(buf_cstr(&answer.out), wanted);
			assert_contains(buf_cstr(&answer.out), "\"partial\":true");
			assert_lacks(buf_cstr(&answer.out), "call back");
			assert_lacks(buf_cstr(&answer.out), "\"status\":503");
			assert_ended_between(250, 250);
		}
}

/* --- a caller's stdout ------------------------------------------------------------------------------------- */

static void closed_stdout(void)
{
	close(1);
}

static void a_success_that_can_not_be_written_is_1_and_a_failure_keeps_its_number(void **state UNUSED)
{
	staging.out = open("/dev/full", O_WRONLY);
	for (int closed = 0; closed <= 1; closed++) {
		staging.before = closed ? closed_stdout : NULL;
		run_scene(replies_ok);
		assert_int_equal(exit_status(), 1);
		assert_contains(said_on_stderr(), "OUTPUT_FAILED");
		run_scene(replies_failure);
		assert_int_equal(exit_status(), 5);
	}
	close(staging.out);
}

#define TEST(f) cmocka_unit_test_teardown(f, strike)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_result_is_the_answer),
		TEST(a_failure_has_its_codes_number),
		TEST(an_exit_status_after_the_result_is_a_warning_and_no_verdict),
		TEST(of_several_results_the_first_is_the_answer),
		TEST(frames_after_the_result_add_warnings_and_change_nothing_else),
		TEST(a_large_result_reaches_a_slow_reader_whole),
		TEST(every_exit_without_a_result_is_a_crash_with_its_status),
		TEST(every_signal_that_ends_the_worker_is_named),
		TEST(a_worker_that_never_said_a_word_is_a_crash_before_run),
		TEST(a_worker_that_hangs_ends_at_its_limit_and_its_steps_are_told),
		TEST(a_worker_that_ignores_term_is_killed_when_the_grace_is_over),
		TEST(a_stopped_worker_ends_at_its_limit),
		TEST(loading_has_a_limit_of_its_own),
		TEST(only_real_silence_is_idle),
		TEST(a_result_just_before_the_limit_counts),
		TEST(a_cleanup_without_end_is_cut_and_the_result_stands),
		TEST(a_flood_on_both_taps_stops_no_limit_and_costs_no_memory),
		TEST(a_flood_of_frames_stops_no_limit_and_costs_no_memory),
		TEST(garbage_without_end_is_not_kept),
		TEST(half_a_frame_is_none_whether_the_worker_ends_or_hangs),
		TEST(a_frame_over_its_cap_ends_the_attempt),
		TEST(an_unknown_frame_or_field_ends_the_attempt),
		TEST(a_worker_that_closes_every_descriptor_ends_at_its_limit),
		TEST(nothing_can_be_smuggled_into_the_envelope),
		TEST(daemons_after_a_success_are_ended_and_told),
		TEST(daemons_of_a_crashed_worker_are_ended),
		TEST(a_tree_that_ignores_term_is_gone_with_the_answer),
		TEST(a_failure_is_tried_again_until_it_works),
		TEST(n_retries_are_n_and_then_final),
		TEST(an_attempts_limit_is_tried_again),
		TEST(a_later_attempt_that_never_ran_leaves_the_earlier_error),
		TEST(every_cancelling_signal_ends_work_and_waits_with_its_number),
		TEST(a_success_that_can_not_be_written_is_1_and_a_failure_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
