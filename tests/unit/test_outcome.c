/*
 * test_outcome.c: every wait status and every signal, exhaustively; the names
 * are compared with the C library's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/engine/outcome.h"

/* How a child that exits with `status`, or kills itself with `sig`, ends. */
static int real_status(int status, int sig)
{
	struct rlimit no_core = { 0, 0 };
	int wait_status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		if (sig > 0) {
			signal(sig, SIG_DFL);
			raise(sig);
		}
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	return wait_status;
}

static void every_exit_status_is_itself(void **state UNUSED)
{
	for (int i = 0; i < 256; i++) {
		struct outcome o = outcome_decode(real_status(i, 0));

		assert_false(o.signalled);
		assert_false(o.core_dumped);
		assert_int_equal(o.status, i);
	}
}

static void death_by_signal_is_never_an_exit_status(void **state UNUSED)
{
	static const int deadly[] = { SIGHUP, SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS, SIGFPE,
		                      SIGKILL, SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGSYS,
		                      SIGXCPU };

	for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
		struct outcome o = outcome_decode(real_status(0, deadly[i]));

		assert_true(o.signalled);
		assert_int_equal(o.status, deadly[i]);
	}
}

#ifdef WCOREFLAG
static void a_core_dump_does_not_change_the_signal(void **state UNUSED)
{
	struct outcome o = outcome_decode(SIGSEGV | WCOREFLAG);

	assert_true(o.signalled);
	assert_true(o.core_dumped);
	assert_int_equal(o.status, SIGSEGV);
	assert_false(outcome_decode(SIGSEGV).core_dumped);
}
#endif

#ifdef __GLIBC__
static void signals_have_the_names_that_the_system_gives_them(void **state UNUSED)
{
	char scratch[16], want[32];

	for (int sig = 1; sig < 32; sig++) {
		assert_non_null(sigabbrev_np(sig));
		snprintf(want, sizeof(want), "SIG%s", sigabbrev_np(sig));
		/* SIGPOLL and SIGIO are one number; people know SIGIO */
		if (sig != SIGPOLL)
			assert_string_equal(signal_name(sig, scratch), want);
	}
}
#endif

static void every_name_reads_back_with_and_without_sig(void **state UNUSED)
{
	char scratch[16];

	for (int sig = 1; sig < NSIG; sig++) {
		const char *name = signal_name(sig, scratch);

		assert_int_equal(strncmp(name, "SIG", 3), 0);
		assert_int_equal(signal_parse(name), sig);
		assert_int_equal(signal_parse(name + 3), sig);
	}
	assert_string_equal(signal_name(SIGRTMIN, scratch), "SIGRTMIN");
	assert_string_equal(signal_name(SIGRTMIN + 3, scratch), "SIGRTMIN+3");
	assert_int_equal(signal_parse("IOT"), SIGABRT);
}

static void numbers_without_a_name_are_shown_as_numbers(void **state UNUSED)
{
	char scratch[16];

	assert_string_equal(signal_name(77, scratch), "SIG77");
	assert_string_equal(signal_name(0, scratch), "SIG0");
	assert_string_equal(signal_name(INT_MIN, scratch), "SIG-2147483648");
	assert_string_equal(signal_name(INT_MAX, scratch), "SIG2147483647");
}

static void anything_but_a_signal_is_refused(void **state UNUSED)
{
	static const char *const bad[] = { "",     "SIG",     "term",     "SIGTERMX", "SIGSIGTERM",
		                           "0",    "SIG0",    "-1",       "65",       "9999999999999",
		                           "1x",   "RTMIN+",  "RTMIN+99", "RTMIN-1",  "RTMIN+ 1",
		                           " TERM" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (signal_parse(bad[i]) != -1)
			fail_msg("'%s' is taken for signal %d", bad[i], signal_parse(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exit_status_is_itself),
		cmocka_unit_test(death_by_signal_is_never_an_exit_status),
#ifdef WCOREFLAG
		cmocka_unit_test(a_core_dump_does_not_change_the_signal),
#endif
#ifdef __GLIBC__
		cmocka_unit_test(signals_have_the_names_that_the_system_gives_them),
#endif
		cmocka_unit_test(every_name_reads_back_with_and_without_sig),
		cmocka_unit_test(numbers_without_a_name_are_shown_as_numbers),
		cmocka_unit_test(anything_but_a_signal_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
