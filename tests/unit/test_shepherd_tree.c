/*
 * test_shepherd_tree.c: a shepherd ends with all that its program has left behind, and its
 * tree with the worker. Every scenario runs in a process of its own, once with shepherds that
 * it forks itself, once with those of a forker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shepherd_fixture.h"

#ifdef FULL_SYSTEM

/* --- what a program leaves behind ------------------------------------------------------ */

/* Forked twice, in a session of its own: the shell only says its number. */
#define DAEMON(body) "setsid sh -c '" body "' </dev/null & "

static void scenario_daemon(void)
{
	mono_t began = mono_now();
	pid_t shepherd = start(SH("(" DAEMON("echo $$; exec sleep 60") "); sleep 0.2; exit 3"), GRACE_MS);
	pid_t daemon_pid = heard_pid();

	CHECK(daemon_pid > 0 && !gone(daemon_pid));
	CHECK(at_end()); /* as soon as the tree is gone */
	CHECK(wait_for(shepherd) == 3 << 8);
	CHECK(ended_itself());
	CHECK(gone(daemon_pid));
	CHECK(mono_elapsed_ms(began, mono_now()) < SOON_MS);
}

static void a_daemon_ends_when_its_program_has_ended(void **state UNUSED)
{
	run_forked(scenario_daemon);
}

static void scenario_deaf(void)
{
	mono_t began = mono_now();
	pid_t shepherd = start(SH(DAEMON("trap \"\" TERM; echo $$; exec sleep 60") "sleep 0.2"), 300);
	pid_t deaf = heard_pid();

	CHECK(at_end());
	CHECK(wait_for(shepherd) == 0);
	CHECK(gone(deaf));
	CHECK(mono_elapsed_ms(began, mono_now()) >= 500);
	CHECK(mono_elapsed_ms(began, mono_now()) < SOON_MS);
}

static void what_ignores_term_is_killed_after_the_grace(void **state UNUSED)
{
	run_forked(scenario_deaf);
}

static void scenario_stopped(void)
{
	mono_t began = mono_now();
	pid_t shepherd = start(SH(DAEMON("echo $$; kill -STOP $$") "sleep 0.2"), GRACE_MS);
	pid_t stopped = heard_pid();

	CHECK(wait_for(shepherd) == 0);
	CHECK(gone(stopped));
	CHECK(mono_elapsed_ms(began, mono_now()) < SOON_MS);
}

static void a_stopped_process_wakes_up_to_its_term(void **state UNUSED)
{
	run_forked(scenario_stopped);
}

/* Reports each TERM, and survives it. */
#define COUNTING "trap \"echo term\" TERM; echo up; while :; do sleep 0.02; done"

static void scenario_once(void)
{
	pid_t shepherd = start(SH(DAEMON(COUNTING) "trap 'echo term; exit 6' TERM; echo up;"
	                                           " while :; do sleep 0.02; done"), 400);

	CHECK(strcmp(heard(), "up") == 0);
	CHECK(strcmp(heard(), "up") == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(kill(shepherd, SIGTERM) == 0);
		poll(NULL, 0, 20);
	}
	CHECK(strcmp(heard(), "term") == 0);
	CHECK(strcmp(heard(), "term") == 0);
	CHECK(at_end());
	CHECK(wait_for(shepherd) == 6 << 8);
	CHECK(!ended_itself());
}

static void each_process_gets_one_term_however_often_stop_is_requested(void **state UNUSED)
{
	run_forked(scenario_once);
}

static void scenario_cleaning_up(void)
{
	pid_t shepherd = start(SH("trap 'sleep 0.2; echo clean; exit 9' TERM; echo up; while :; do sleep 0.02; done"),
	                       GRACE_MS);

	heard();
	CHECK(shepherd_stop(shepherd, GRACE_MS) == 0);
	CHECK(strcmp(heard(), "clean") == 0);
	CHECK(wait_for(shepherd) == 9 << 8);
	CHECK(!ended_itself());
}

static void what_a_program_starts_to_clean_up_gets_no_term(void **state UNUSED)
{
	run_forked(scenario_cleaning_up);
}

static void scenario_hydra(void)
{
	mono_t began = mono_now();
	pid_t shepherd = start(SH("export H='trap \"setsid sh -c \\\"\\$H\\\" & exit\" TERM; echo up;"
	                          " while :; do sleep 0.02; done'; exec sh -c \"$H\""), 400);

	heard();
	kill(shepherd, SIGTERM);
	while (strcmp(heard(), "up") == 0)
		;
	CHECK(at_end());
	wait_for(shepherd);
	CHECK(mono_elapsed_ms(began, mono_now()) < SOON_MS);
}

static void a_tree_that_grows_while_it_ends_is_killed(void **state UNUSED)
{
	run_forked(scenario_hydra);
}

/* --- without the worker ---------------------------------------------------------------- */

/* The parent of who asks for KILL at its parent's death dies before it can, unless that is
 * the worker. */
static bool parent_dies_first;
static pid_t spared;

int __real_os_parent_death_signal(int sig);
int __wrap_os_parent_death_signal(int sig);
int __wrap_os_parent_death_signal(int sig)
{
	pid_t parent = getppid();

	if (parent_dies_first && sig == SIGKILL && parent != spared) {
		kill(parent, SIGKILL);
		while (getppid() == parent)
			poll(NULL, 0, 1);
	}
	return __real_os_parent_death_signal(sig);
}

/* A worker with a tree that loses the worker; we are the nearest subreaper. */
static void lose_worker(int worker_stops)
{
	pid_t worker, tree[2];
	int p[2];

	CHECK(os_become_subreaper() == 0);
	CHECK(pipe(p) == 0);
	if ((worker = fork()) == 0) {
		pid_t shepherd = start(SH("sleep 60 & echo $!; wait"), GRACE_MS);

		tree[0] = heard_pid();
		tree[1] = shepherd;
		if (worker_stops)
			kill(shepherd, SIGSTOP);
		CHECK(write(p[1], tree, sizeof(tree)) == sizeof(tree));
		poll(NULL, 0, 3 * WAIT_LIMIT_MS);
		_exit(99);
	}
	CHECK(read(p[0], tree, sizeof(tree)) == sizeof(tree));
	kill(worker, SIGKILL);
	wait_for(worker);
	CHECK(EVENTUALLY(waitpid(tree[1], NULL, WNOHANG) == tree[1]));
	CHECK(gone(tree[0]));
}

static void scenario_lost_worker(void)
{
	lose_worker(0);
}

static void the_tree_ends_when_the_worker_is_killed(void **state UNUSED)
{
	run_forked(scenario_lost_worker);
}

static void scenario_lost_at_start(void)
{
	CHECK(os_become_subreaper() == 0);
	parent_dies_first = true;
	spared = getpid();
	CHECK(WTERMSIG(wait_for(start(SH("echo started"), GRACE_MS))) == SIGKILL);
	CHECK(at_end());
}

static void a_shepherd_that_is_killed_at_its_start_starts_no_program(void **state UNUSED)
{
	run_forked(scenario_lost_at_start);
}

static void scenario_lost_while_stopped(void)
{
	lose_worker(1);
}

static void a_suspended_shepherd_learns_of_the_workers_death(void **state UNUSED)
{
	run_forked(scenario_lost_while_stopped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_ends_when_its_program_has_ended),
		cmocka_unit_test(what_ignores_term_is_killed_after_the_grace),
		cmocka_unit_test(a_stopped_process_wakes_up_to_its_term),
		cmocka_unit_test(each_process_gets_one_term_however_often_stop_is_requested),
		cmocka_unit_test(what_a_program_starts_to_clean_up_gets_no_term),
		cmocka_unit_test(a_tree_that_grows_while_it_ends_is_killed),
		cmocka_unit_test(the_tree_ends_when_the_worker_is_killed),
		cmocka_unit_test(a_suspended_shepherd_learns_of_the_workers_death),
		cmocka_unit_test(a_shepherd_that_is_killed_at_its_start_starts_no_program),
	};
	int failed = cmocka_run_group_tests_name("trees", tests, NULL, NULL);

	by_forker = true;
	failed += cmocka_run_group_tests_name("trees of a forker", tests, NULL, NULL);
	return failed;
}

#else

int main(void)
{
	return 0; /* without a subreaper, only the program's group ends */
}

#endif
