/*
 * test_shepherd.c: a program under a shepherd starts as any child does, and what is reported
 * is its own end. Every scenario runs in a process of its own (fork_fixture.h), once with
 * shepherds that it forks itself, once with those of a forker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shepherd_fixture.h"
#include "needs.h"

/* --- the program's end is the shepherd's ------------------------------------------- */

static void scenario_statuses(void)
{
	char script[32];

	for (int status = 0; status < 256; status++) {
		snprintf(script, sizeof(script), "exit %d", status);
		CHECK(end_of(script) == status << 8);
		CHECK(ended_itself());
	}
}

static void every_exit_status_is_passed_on(void **state UNUSED)
{
	run_forked(scenario_statuses);
}

/* libc keeps those below SIGRTMIN for itself, and posix_spawn (make's, for one)
 * leaves them ignored in what it starts. */
static bool is_libcs(int sig)
{
	return sig > SIGSYS && sig < SIGRTMIN;
}

static bool is_fatal(int sig)
{
	static const int harmless[] = { SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
		                        SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };

	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (harmless[i] == sig)
			return false;
	return true;
}

static void scenario_signals(void)
{
	char dir[64], script[64];

	CHECK(chdir(make_dir(dir)) == 0);
	CHECK(setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0 || true);
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		int status;

		if (!is_fatal(sig) || is_libcs(sig))
			continue;
		snprintf(script, sizeof(script), "ulimit -c 0; kill -%d $$", sig);
		status = end_of(script);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != sig || WCOREDUMP(status)) {
			dprintf(test_stderr, "signal %d became wait status %#x\n", sig, status);
			_exit(1);
		}
		CHECK(ended_itself());
	}
	CHECK(rmdir(dir) == 0); /* empty: no core of the shepherd */
}

static void every_fatal_signal_is_passed_on_without_a_core(void **state UNUSED)
{
	if (under_valgrind())
		NEEDS("to run without valgrind");
	run_forked(scenario_signals);
}

static void scenario_ignored(void)
{
	signal(SIGINT, SIG_IGN);
	child_remember_ignored();
	CHECK(WTERMSIG(end_of("exec env --default-signal=INT sh -c 'kill -INT $$'")) == SIGINT);
}

/* Its wait status is that of a program killed by the same signal. */
static void scenario_killed_shepherd(void)
{
	pid_t shepherd = start(SH("echo up; while :; do sleep 0.02; done"), GRACE_MS);
	struct shepherd_account account;

	heard();
	CHECK(kill(shepherd, SIGKILL) == 0);
	CHECK(WTERMSIG(wait_for(shepherd)) == SIGKILL);
	account = shepherd_account(report);
	CHECK(!account.complete && !account.ended_itself);
	CHECK(WTERMSIG(end_of("kill -KILL $$")) == SIGKILL);
	CHECK(ended_itself());
}

static void the_account_of_a_killed_shepherd_is_incomplete(void **state UNUSED)
{
	run_forked(scenario_killed_shepherd);
}

static void a_signal_that_our_caller_ignores_is_passed_on_all_the_same(void **state UNUSED)
{
	run_forked(scenario_ignored);
}

/* --- starting ------------------------------------------------------------------------ */

static void check_refused(struct child_spec spec)
{
	struct child_error plain, own;
	int fd = 77;

	spec.fd[0] = spec.fd[1] = spec.fd[2] = -1;
	CHECK(child_spawn(&spec, &plain) == -1);
	prepare();
	CHECK(shepherd_spawn(&spec, GRACE_MS, -1, &fd, &own) == -1);
	dismiss();
	CHECK(own.step == plain.step && own.err == plain.err);
	CHECK(fd == -1);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void scenario_refused(void)
{
	check_refused((struct child_spec){ .argv = ARGV("/no/such/program") });
	check_refused((struct child_spec){ .argv = ARGV("/etc/passwd") });
	check_refused((struct child_spec){ .argv = ARGV("") });
	check_refused((struct child_spec){ .argv = ARGV("true"), .cwd = "/no/such/dir" });
}

static void a_start_error_reads_as_that_of_any_child(void **state UNUSED)
{
	run_forked(scenario_refused);
}

static void scenario_no_descriptors(void)
{
	struct child_spec spec = { .argv = ARGV("true"), .fd = { -1, -1, -1 } };
	struct child_error error;
	int fd;

	prepare();
	limit_descriptors(10);
	while (dup(0) >= 0)
		;
	CHECK(shepherd_spawn(&spec, GRACE_MS, -1, &fd, &error) == -1);
	CHECK(error.step == CHILD_PIPE && error.err == EMFILE);
}

static void without_a_descriptor_the_start_fails_with_the_reason(void **state UNUSED)
{
	run_forked(scenario_no_descriptors);
}

static void ignore_it(int sig UNUSED)
{
}

#define SIGNAL_STATE "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status | tr -d '\\n\\t'; echo"

static void scenario_signal_state(void)
{
	unsigned long long ignored;
	const char *plain;
	sigset_t some;

	signal(SIGTERM, ignore_it);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_BLOCK, &some, NULL);
	plain = output_of((struct child_spec){ .argv = SH(SIGNAL_STATE) });
	CHECK(sscanf(plain, "SigBlk:0000000000000000SigIgn:%16llx", &ignored) == 1);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		CHECK(is_libcs(sig) || !(ignored >> (sig - 1) & 1));
	start(SH(SIGNAL_STATE), GRACE_MS);
	CHECK(strncmp(heard(), plain, strlen(plain) - 1) == 0);
}

static void its_program_has_default_signals_and_an_empty_mask(void **state UNUSED)
{
	run_forked(scenario_signal_state);
}

static void scenario_group(void)
{
	pid_t shepherd = start(SH("cut -d' ' -f4,5 /proc/$$/stat; echo $$; exec ls /proc/self/fd"), GRACE_MS);
	int parent, group;

	CHECK(sscanf(heard(), "%d %d", &parent, &group) == 2);
	CHECK(parent == shepherd);
	CHECK(heard_pid() == group && group != getpgrp());
	for (int fd = 0; fd <= 3; fd++) /* 3 is what ls reads */
		CHECK(heard()[0] == '0' + fd);
	CHECK(at_end());
}

static void its_program_leads_a_group_and_holds_three_descriptors(void **state UNUSED)
{
	run_forked(scenario_group);
}

/* --- the tree ---------------------------------------------------------------------- */

static void scenario_holds_nothing(void)
{
	char script[64];
	pid_t shepherd;

	for (int fd = 3; fd < 60; fd++)
		CHECK(dup2(0, fd) == fd);
	shepherd = start(SH("echo; exec sleep 60"), GRACE_MS);
	heard();
	snprintf(script, sizeof(script), "ls /proc/%d/fd | wc -l", (int)shepherd);
	if (!under_valgrind()) /* where its last report goes */
		CHECK(strcmp(output_of((struct child_spec){ .argv = SH(script) }), "1\n") == 0);
	CHECK(shepherd_stop(shepherd, GRACE_MS) == 0);
	CHECK(WTERMSIG(wait_for(shepherd)) == SIGTERM);
}

static void it_holds_no_descriptor_of_ours(void **state UNUSED)
{
	run_forked(scenario_holds_nothing);
}

static void scenario_holds_one(void)
{
	struct child_spec spec = { .argv = SH("sleep 0.3; ! test -e /proc/self/fd/3"), .fd = { -1, -1, -1 } };
	struct child_error error;
	mono_t began = mono_now();
	int held[2], word_of_it = -1;
	pid_t shepherd;
	char byte;

	prepare();
	CHECK(xpipe(held) == 0);
	shepherd = shepherd_spawn(&spec, GRACE_MS, held[1], &word_of_it, &error);
	CHECK(shepherd > 0);
	xclose(&held[1]);
	CHECK(xread(held[0], &byte, 1) == 0); /* closed with the shepherd's end */
	CHECK(mono_elapsed_ms(began, mono_now()) >= 300);
	CHECK(wait_for(shepherd) == 0);
}

static void what_it_is_given_to_hold_it_holds_to_its_end(void **state UNUSED)
{
	run_forked(scenario_holds_one);
}

static void scenario_closes_all(void)
{
	mono_t began = mono_now();
	pid_t shepherd = start(SH("exec <&- >&- 2>&-; sleep 0.3; exit 5"), GRACE_MS);

	CHECK(at_end());
	CHECK(wait_for(shepherd) == 5 << 8);
	CHECK(mono_elapsed_ms(began, mono_now()) >= 300);
}

static void a_program_that_closes_everything_is_waited_for(void **state UNUSED)
{
	run_forked(scenario_closes_all);
}

/* --- being asked to stop --------------------------------------------------------------- */

static void scenario_grace(void)
{
	mono_t began = mono_now();
	pid_t shepherd = start(SH("trap '' TERM; echo up; while :; do sleep 0.02; done"), GRACE_MS);

	heard();
	CHECK(kill(shepherd, SIGTERM) == 0);
	CHECK(shepherd_stop(shepherd, 200) == 0);
	CHECK(shepherd_stop(shepherd, GRACE_MS) == 0); /* no reprieve */
	CHECK(WTERMSIG(wait_for(shepherd)) == SIGKILL);
	CHECK(!ended_itself());
	CHECK(mono_elapsed_ms(began, mono_now()) >= 200);
	CHECK(mono_elapsed_ms(began, mono_now()) < SOON_MS);
	CHECK(shepherd_stop(shepherd, 0) == -1 && errno == ESRCH);
}

static void a_shorter_grace_applies_as_soon_as_it_is_requested(void **state UNUSED)
{
	run_forked(scenario_grace);
}

/* TERM at every moment of a start: never a program without its shepherd. */
static void scenario_during_start(void)
{
	prepare();
	for (int i = 0; i < 100; i++) {
		struct child_spec spec = { .argv = ARGV("sleep", "60"), .fd = { -1, -1, -1 } };
		struct child_error error;
		pid_t self = getpid(), other, shepherd;
		int status;

		if ((other = fork()) == 0) {
			pid_t pids[8];

			/* to whatever child of ours there is by now */
			for (int k = 0; k < 200000; k++) {
				int n = os_children(self, pids, 8);

				for (int c = 0; c < n; c++)
					if (pids[c] != getpid() && pids[c] != forker && kill(pids[c], SIGTERM) == 0)
						_exit(0);
			}
			_exit(1);
		}
		shepherd = shepherd_spawn(&spec, GRACE_MS, -1, &report, &error);
		CHECK(shepherd > 0);
		CHECK(wait_for(other) == 0);
		status = wait_for(shepherd);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		CHECK(!ended_itself());
		xclose(&report);
	}
}

static void a_term_during_the_start_ends_what_has_started(void **state UNUSED)
{
#ifdef FULL_SYSTEM
	run_forked(scenario_during_start);
#else
	(void)scenario_during_start;
	NEEDS("the full system of another build");
#endif
}

static void scenario_passes_on(void)
{
	pid_t shepherd = start(SH("trap 'echo usr1' USR1; echo up; while :; do sleep 0.02; done"), GRACE_MS);

	heard();
	CHECK(kill(shepherd, SIGUSR1) == 0);
	CHECK(strcmp(heard(), "usr1") == 0);
	CHECK(shepherd_stop(shepherd, GRACE_MS) == 0);
	wait_for(shepherd);
}

static void other_signals_are_forwarded_to_the_program(void **state UNUSED)
{
	run_forked(scenario_passes_on);
}

static void scenario_stopped_shepherd(void)
{
	pid_t shepherd = start(SH("echo up; exec sleep 60"), GRACE_MS);

	heard();
	kill(shepherd, SIGSTOP);
	CHECK(shepherd_stop(shepherd, GRACE_MS) == 0);
	CHECK(WTERMSIG(wait_for(shepherd)) == SIGTERM);
}

static void a_suspended_shepherd_can_be_asked_to_stop(void **state UNUSED)
{
	run_forked(scenario_stopped_shepherd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exit_status_is_passed_on),
		cmocka_unit_test(every_fatal_signal_is_passed_on_without_a_core),
		cmocka_unit_test(the_account_of_a_killed_shepherd_is_incomplete),
		cmocka_unit_test(a_signal_that_our_caller_ignores_is_passed_on_all_the_same),
		cmocka_unit_test(a_start_error_reads_as_that_of_any_child),
		cmocka_unit_test(without_a_descriptor_the_start_fails_with_the_reason),
		cmocka_unit_test(its_program_has_default_signals_and_an_empty_mask),
		cmocka_unit_test(its_program_leads_a_group_and_holds_three_descriptors),
		cmocka_unit_test(it_holds_no_descriptor_of_ours),
		cmocka_unit_test(what_it_is_given_to_hold_it_holds_to_its_end),
		cmocka_unit_test(a_program_that_closes_everything_is_waited_for),
		cmocka_unit_test(a_shorter_grace_applies_as_soon_as_it_is_requested),
		cmocka_unit_test(a_term_during_the_start_ends_what_has_started),
		cmocka_unit_test(other_signals_are_forwarded_to_the_program),
		cmocka_unit_test(a_suspended_shepherd_can_be_asked_to_stop),
	};
	int failed = cmocka_run_group_tests_name("shepherds", tests, NULL, NULL);

#ifdef FULL_SYSTEM
	by_forker = true;
	failed += cmocka_run_group_tests_name("shepherds of a forker", tests, NULL, NULL);
#endif
	return failed;
}
