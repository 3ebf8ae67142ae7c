/*
 * test_signals.c: which signal counts as what. Each scenario has a process of its
 * own, since the flags stay for a process's life.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/child.h"
#include "../../src/supervisor/signals.h"
#include "fork_fixture.h"
#include "needs.h"

static const int cancelling[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static int which; /* of cancelling: for the scenarios that run once for each */

/* Whoever runs the tests may ignore some. */
static void init_from_defaults(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cancelling); i++)
		signal(cancelling[i], SIG_DFL);
	signal(SIGTSTP, SIG_DFL);
	signals_init();
}

/* Signals arrive in ppoll() and nowhere else, one each time it is called. */
static void open_for(int64_t ms)
{
	struct timespec ts;
	mono_t until = mono_add_ms(mono_now(), ms);

	for (int calls = 0; calls < 4 || mono_now() < until; calls++)
		ppoll(NULL, 0, mono_left(until, mono_now(), &ts), signals_open_mask());
}

static void each_alone(void)
{
	int sig = cancelling[which];

	init_from_defaults();
	CHECK(signals_cancelled() == 0 && signals_count() == 0);
	raise(sig);
	CHECK(signals_cancelled() == 0); /* blocked until ppoll */
	open_for(0);
	CHECK(signals_cancelled() == sig);
	CHECK(signals_count() == 1);
	CHECK(!signals_insisted());
	raise(SIGTERM);
	open_for(0);
	CHECK(signals_cancelled() == sig); /* the first stays */
}

static void each_cancelling_signal_waits_for_ppoll_and_the_first_stays(void **state UNUSED)
{
	for (which = 0; which < (int)ARRAY_LEN(cancelling); which++)
		run_forked(each_alone);
}

static void insisting(void)
{
	init_from_defaults();
	raise(SIGTERM);
	open_for(10);
	raise(SIGINT);
	open_for(0);
	CHECK(!signals_insisted()); /* one key press, delivered twice */
	CHECK(signals_count() == 1);
	open_for(350);
	raise(SIGTERM);
	raise(SIGHUP);
	open_for(0);
	CHECK(!signals_insisted()); /* only INT insists */
	CHECK(signals_count() > 1);
	raise(SIGINT);
	open_for(0);
	CHECK(signals_insisted());
	CHECK(signals_cancelled() == SIGTERM);
}

static void an_int_300_ms_after_the_first_insists_and_nothing_else_does(void **state UNUSED)
{
	run_forked(insisting);
}

static void ignored(void)
{
	int sig = cancelling[which];
	struct sigaction act;

	signal(sig, SIG_IGN);
	signals_init();
	raise(sig);
	open_for(0);
	CHECK(signals_cancelled() == (sig == SIGTERM ? SIGTERM : 0));
	CHECK(child_was_ignored(sig) == (sig != SIGTERM));
	child_reset_signals();
	CHECK(sigaction(sig, NULL, &act) == 0);
	CHECK((act.sa_handler == SIG_IGN) == (sig != SIGTERM));
}

static void what_is_ignored_at_entry_stays_ignored_but_term(void **state UNUSED)
{
	for (which = 0; which < (int)ARRAY_LEN(cancelling); which++)
		run_forked(ignored);
}

static void flags(void)
{
	init_from_defaults();
	CHECK(!signals_take(SIGCHLD) && !signals_take(SIGTSTP));
	raise(SIGCHLD);
	raise(SIGTSTP);
	raise(SIGPIPE); /* ignored: we are still here */
	open_for(0);
	CHECK(signals_take(SIGCHLD) && !signals_take(SIGCHLD));
	CHECK(signals_take(SIGTSTP) && !signals_take(SIGTSTP));
	CHECK(signals_cancelled() == 0);
}

static void child_and_stop_are_taken_once_and_pipe_never(void **state UNUSED)
{
	run_forked(flags);
}

/* In a group that somebody could continue: how it ends, or that it stops. */
static int stop_with(bool continued)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setpgid(0, 0);
		init_from_defaults();
		raise(SIGTSTP);
		open_for(0);
		CHECK(signals_take(SIGTSTP));
		if (continued)
			raise(SIGCONT);
		signals_stop_self();
		_exit(7);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGCONT);
		CHECK(wait_for(pid) >> 8 == 7);
	}
	return status;
}

static void stopping(void)
{
	CHECK(WIFSTOPPED(stop_with(false)));
	CHECK(WEXITSTATUS(stop_with(true)) == 7);
}

static void a_cont_that_comes_before_we_stop_is_not_lost(void **state UNUSED)
{
	if (under_valgrind()) /* which keeps pending signals to itself: sigpending(2) sees none */
		NEEDS("to run without valgrind");
	run_forked(stopping);
}

static void other(void)
{
	struct pollfd none = { .fd = -1 };

	init_from_defaults();
	signal(SIGUSR2, SIG_IGN);
	raise(SIGUSR2);
	CHECK(signals_poll(&none, 1, 0) == 0);
	CHECK(signals_cancelled() == 0); /* ignored stays ignored */
	raise(SIGALRM);
	CHECK(signals_cancelled() == 0);
	CHECK(signals_poll(&none, 1, MONO_NEVER) == 0);
	CHECK(signals_cancelled() == SIGALRM && signals_count() == 1);
	CHECK(signals_poll(&none, 1, mono_add_ms(mono_now(), 350)) == 0);
	raise(SIGUSR1);
	CHECK(signals_poll(&none, 1, MONO_NEVER) == 0);
	CHECK(signals_cancelled() == SIGALRM && signals_count() == 1 && !signals_insisted());
	raise(SIGINT);
	CHECK(signals_poll(&none, 1, MONO_NEVER) == 0);
	CHECK(signals_insisted() && !signals_orphaned());
}

static void any_other_fatal_signal_cancels_and_never_insists(void **state UNUSED)
{
	run_forked(other);
}

static void obeying(void)
{
	struct pollfd none = { .fd = -1 };
	int p[2];

	init_from_defaults();
	CHECK(pipe(p) == 0);
	signals_obey(p[0]);
	CHECK(signals_poll(&none, 1, 0) == 0 && signals_cancelled() == 0);
	CHECK(write(p[1], "TTTT", 4) == 4);
	CHECK(signals_poll(&none, 1, MONO_NEVER) == 0); /* it wakes, and is no descriptor of the caller's */
	CHECK(signals_cancelled() == SIGTERM && signals_count() == 1 && !signals_insisted());
	CHECK(signals_poll(&none, 1, mono_add_ms(mono_now(), 320)) == 0);
	CHECK(write(p[1], "T", 1) == 1);
	CHECK(signals_poll(&none, 1, MONO_NEVER) == 0);
	CHECK(signals_count() == 2 && !signals_insisted());
}

static void bytes_in_what_it_obeys_cancel_as_one_term(void **state UNUSED)
{
	run_forked(obeying);
}

/* Its parent is not the one that it expects: that one is dead. */
static void orphan(void)
{
	struct pollfd none = { .fd = -1 };
	pid_t front = getpid();

	pid_t pid = fork();

	if (pid != 0) {
		CHECK(wait_for(pid) == 0);
		return;
	}
	init_from_defaults();
	signals_expect_parent(front);
	raise(SIGTERM);
	signals_poll(&none, 1, MONO_NEVER);
	CHECK(signals_cancelled() == SIGTERM && !signals_orphaned() && !signals_insisted());
	signals_expect_parent(front + 1);
	raise(SIGTERM);
	signals_poll(&none, 1, MONO_NEVER);
	CHECK(signals_orphaned() && signals_insisted());
}

static void a_signal_behind_the_death_of_the_process_in_front_insists_at_once(void **state UNUSED)
{
	run_forked(orphan);
}

static void reset(void)
{
	struct sigaction act;
	sigset_t mask;

	init_from_defaults();
	child_reset_signals();
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sigaction(sig, NULL, &act) == 0)
			CHECK(act.sa_handler == SIG_DFL);
	CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
	for (int sig = 1; sig < NSIG; sig++)
		CHECK(sigismember(&mask, sig) != 1);
}

static void a_worker_starts_with_every_signal_at_its_default(void **state UNUSED)
{
	run_forked(reset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cancelling_signal_waits_for_ppoll_and_the_first_stays),
		cmocka_unit_test(an_int_300_ms_after_the_first_insists_and_nothing_else_does),
		cmocka_unit_test(what_is_ignored_at_entry_stays_ignored_but_term),
		cmocka_unit_test(child_and_stop_are_taken_once_and_pipe_never),
		cmocka_unit_test(a_cont_that_comes_before_we_stop_is_not_lost),
		cmocka_unit_test(any_other_fatal_signal_cancels_and_never_insists),
		cmocka_unit_test(bytes_in_what_it_obeys_cancel_as_one_term),
		cmocka_unit_test(a_signal_behind_the_death_of_the_process_in_front_insists_at_once),
		cmocka_unit_test(a_worker_starts_with_every_signal_at_its_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
