/*
 * test_supervisor.c: whole runs: results, and workers that end without one. One
 * valid envelope, the right exit status, and no process left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "supervisor_fixture.h"

/* --- results ---------------------------------------------------------------------------- */

static void a_result_is_the_answer(void **state UNUSED)
{
	const char *text = assert_answer(replies_ok, 0, NULL);

	assert_contains(text, "{\"ok\":true,\"data\":{\"n\":1},\"error\":null,\"warnings\":[],\"meta\":{\"command\":\"test\"");
	assert_contains(text, "\"timeout_ms\":10000");
	assert_contains(text, "\"attempt\":1,\"max_attempts\":1,\"cwd\":\"");
	assert_contains(text, "\"config_sources\":[],\"effective_config_hash\":\"cbf29ce484222325\"}}");
	assert_string_equal(stderr_text(), "");
}

static void a_failure_has_its_codes_number(void **state UNUSED)
{
	const char *text = assert_answer(replies_failure, 5, "NOT_FOUND");

	assert_contains(text, "\"message\":\"no such thing\",\"retryable\":false,\"side_effects\":\"none\",\"phase\":\"execution\"}");
}

static int replies_and_fails(const struct launch *launch)
{
	replies_ok(launch);
	return 7;
}

static void an_exit_status_after_the_result_is_a_warning_and_no_verdict(void **state UNUSED)
{
	assert_contains(assert_answer(replies_and_fails, 0, NULL), "{\"code\":\"WORKER_EXIT\"");
}

static int replies_twice(const struct launch *launch)
{
	struct buf both = BUF_INIT;

	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	ADD_FRAME(&both, RESULT, INT(ok, 1), STR(data, "[1]"));
	ADD_FRAME(&both, RESULT, INT(ok, 0), STR(code, "CONFLICT"), STR(data, "[2]"));
	send_frames(launch, &both);
	SEND(launch, RESULT, INT(ok, 0), STR(code, "NOT_FOUND"));
	return 0;
}

static void of_several_results_none_is_the_answer(void **state UNUSED)
{
	const char *text = assert_answer(replies_twice, 1, "COMMAND_CRASHED");

	assert_contains(text, "\"data\":null");
	assert_contains(text, "answered twice");
}

static int talks_after_its_result(const struct launch *launch)
{
	replies_ok(launch);
	SEND(launch, WARN, STR(code, "CLEANUP_FAILED"), STR(message, "m"));
	SEND(launch, META, STR(name, "late"), STR(data, "1"));
	SEND(launch, PLAN, STR(command, "other"));
	SEND(launch, STEP, STR(name, "late"));
	return 0;
}

static void frames_after_the_result_add_warnings_and_change_nothing_else(void **state UNUSED)
{
	const char *text = assert_answer(talks_after_its_result, 0, NULL);

	assert_contains(text, "\"warnings\":[{\"code\":\"CLEANUP_FAILED\"");
	assert_lacks(text, "late");
	assert_lacks(text, "other");
}

static int replies_with_4_mib(const struct launch *launch)
{
	struct buf data = BUF_INIT;

	BEGIN_RUN(launch, INT(timeout_ms, 20000));
	buf_add_str(&data, "[\"");
	for (int i = 0; i < 4 << 17; i++)
		buf_add_str(&data, "01234567");
	buf_add_str(&data, "\"]");
	SEND(launch, RESULT, INT(ok, 1), BYTES(data, data.data, data.len));
	return 0;
}

static void a_large_result_reaches_a_slow_reader_whole(void **state UNUSED)
{
	setup.read_after_ms = 300;
	assert_answer(replies_with_4_mib, 0, NULL);
	assert_true(answer.out.len > 4 << 20);
}

/* --- no result ----------------------------------------------------------------------------- */

static int exit_status_of_worker;

static int exits_silently(const struct launch *launch)
{
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
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

static int kills_itself(const struct launch *launch)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
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

static int says_nothing(const struct launch *launch UNUSED)
{
	return 0;
}

static void a_worker_that_sent_no_frame_is_a_crash_before_run(void **state UNUSED)
{
	assert_contains(assert_answer(says_nothing, 1, "COMMAND_CRASHED"), "\"side_effects\":\"none\",\"phase\":\"validation\"");
}

/* --- a caller's stdout ------------------------------------------------------------------------------------- */

static void closed_stdout(void)
{
	close(1);
}

static void a_success_that_can_not_be_written_is_1_and_a_failure_keeps_its_number(void **state UNUSED)
{
	setup.out = open("/dev/full", O_WRONLY);
	for (int closed = 0; closed <= 1; closed++) {
		setup.before = closed ? closed_stdout : NULL;
		run_scenario(replies_ok);
		assert_int_equal(exit_status(), 1);
		assert_contains(stderr_text(), "OUTPUT_FAILED");
		run_scenario(replies_failure);
		assert_int_equal(exit_status(), 5);
	}
	close(setup.out);
}

#define TEST(f) cmocka_unit_test_teardown(f, reset_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_result_is_the_answer),
		TEST(a_failure_has_its_codes_number),
		TEST(an_exit_status_after_the_result_is_a_warning_and_no_verdict),
		TEST(of_several_results_none_is_the_answer),
		TEST(frames_after_the_result_add_warnings_and_change_nothing_else),
		TEST(a_large_result_reaches_a_slow_reader_whole),
		TEST(every_exit_without_a_result_is_a_crash_with_its_status),
		TEST(every_signal_that_ends_the_worker_is_named),
		TEST(a_worker_that_sent_no_frame_is_a_crash_before_run),
		TEST(a_success_that_can_not_be_written_is_1_and_a_failure_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
