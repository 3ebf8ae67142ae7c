/*
 * test_child_end.c: trees of real processes end whole, and no other process does.
 * Every scenario runs in a process of its own (fork_fixture.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "../../src/engine/child.h"
#include "../../src/engine/os.h"
#include "fork_fixture.h"
#include "needs.h"

#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)
#define FULL_SYSTEM
#include <sched.h>
#include <sys/mount.h>
#endif

struct exits {
	int count;
	int by_signal[NSIG];
};

static void note_exit(pid_t pid, int status, void *data)
{
	struct exits *e = data;

	CHECK(pid > 0);
	e->count++;
	if (WIFSIGNALED(status))
		e->by_signal[WTERMSIG(status)]++;
}

static void scenario_reap(void)
{
	struct exits e = { 0 };
	pid_t pid;

	CHECK(child_reap(NULL, note_exit, &e));
	pid = fork_idle();
	CHECK(!child_reap(NULL, note_exit, &e));
	CHECK(e.count == 0);
	kill(pid, SIGTERM);
	CHECK(EVENTUALLY(child_reap(NULL, note_exit, &e)));
	CHECK(e.count == 1 && e.by_signal[SIGTERM] == 1);
}

static void reaping_reports_each_child_once_and_proves_when_none_is_left(void **state UNUSED)
{
	run_forked(scenario_reap);
}

/* In a session of our own: the one we were started in has no number where its
 * leader lives outside our pid namespace. */
static void scenario_spared_list(void)
{
	struct spared s = { .count = 0 };

	CHECK(setsid() == getpid());
	for (int i = 1; i <= CHILD_MAX_SPARED; i++)
		CHECK(spared_add(&s, 1000000 + i) == 0);
	CHECK(spared_add(&s, 1000001) == 0);
	CHECK(s.count == CHILD_MAX_SPARED);
	CHECK(spared_add(&s, 1) == -1);
	CHECK(!spared_has(&s, getpid()));
	CHECK(!spared_has(NULL, getpid()));
	s.session[7] = getsid(0);
	CHECK(spared_has(&s, getpid()));
}

static void the_spared_list_takes_each_session_once_and_is_bounded(void **state UNUSED)
{
	run_forked(scenario_spared_list);
}

static void scenario_no_session(void)
{
	struct spared s = { .count = 1, .session = { 0 } };

	CHECK(getsid(0) != 0 || !spared_has(&s, getpid()));
	CHECK(!spared_has(&s, 1 << 30));
}

static void a_session_without_a_number_is_never_spared(void **state UNUSED)
{
	run_forked(scenario_no_session);
}

#ifdef FULL_SYSTEM

/* Signal and reap in turn, as the supervisor does, until nothing is left. */
static bool end_all(int sig, const struct spared *spare, struct exits *e)
{
	mono_t end = mono_add_ms(mono_now(), WAIT_LIMIT_MS);

	while (mono_now() < end) {
		CHECK(child_signal_direct(sig, spare) >= 0);
		if (child_reap(spare, note_exit, e))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* In a child: report our pid to the scenario, be idle, and never outlive it by much. */
static NO_RETURN void report_and_idle(int fd)
{
	pid_t self = getpid();

	CHECK(write(fd, &self, sizeof(self)) == sizeof(self));
	poll(NULL, 0, 3 * WAIT_LIMIT_MS);
	_exit(99);
}

static pid_t read_pid(int fd)
{
	pid_t pid = -1;

	CHECK(read(fd, &pid, sizeof(pid)) == sizeof(pid));
	return pid;
}

/* A daemon as they are made: forked twice, in a session of its own. */
static pid_t start_daemon(void)
{
	int said[2];
	pid_t middle, daemon_pid;

	CHECK(pipe(said) == 0);
	if ((middle = fork()) == 0) {
		setsid();
		if (fork() == 0) {
			setsid();
			report_and_idle(said[1]);
		}
		_exit(0);
	}
	daemon_pid = read_pid(said[0]);
	wait_for(middle);
	close(said[0]);
	close(said[1]);
	return daemon_pid;
}

static void scenario_daemon(void)
{
	struct exits e = { 0 };
	pid_t daemon_pid;

	CHECK(os_become_subreaper() == 0);
	daemon_pid = start_daemon();
	CHECK(getsid(daemon_pid) == daemon_pid);
	CHECK(!child_reap(NULL, note_exit, &e)); /* it is ours now */
	CHECK(end_all(SIGTERM, NULL, &e));
	CHECK(e.count == 1 && e.by_signal[SIGTERM] == 1);
	CHECK(kill(daemon_pid, 0) == -1 && errno == ESRCH);
}

static void a_daemon_comes_back_to_us_and_ends_with_the_rest(void **state UNUSED)
{
	run_forked(scenario_daemon);
}

static void scenario_deaf(void)
{
	struct exits e = { 0 };
	int said[2];
	pid_t pid;

	CHECK(pipe(said) == 0);
	if ((pid = fork()) == 0) {
		signal(SIGTERM, SIG_IGN);
		report_and_idle(said[1]);
	}
	CHECK(read_pid(said[0]) == pid);
	for (int i = 0; i < 50; i++) {
		CHECK(child_signal_direct(SIGTERM, NULL) == 1);
		CHECK(!child_reap(NULL, note_exit, &e));
		poll(NULL, 0, 2);
	}
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 1 && e.by_signal[SIGKILL] == 1);
}

static void a_child_deaf_to_term_is_not_gone_until_killed(void **state UNUSED)
{
	run_forked(scenario_deaf);
}

#define HEADS 25

/* On TERM it leaves a daemon behind that does the same, HEADS times over. */
static int heads_left = HEADS;

static void grow_another(int sig UNUSED)
{
	if (heads_left-- == 0)
		_exit(0);
	if (fork() == 0) {
		setsid();
		return;
	}
	_exit(0);
}

static void scenario_hydra(void)
{
	struct exits e = { 0 };
	int said[2];

	CHECK(os_become_subreaper() == 0);
	CHECK(pipe(said) == 0);
	if (fork() == 0) {
		signal(SIGTERM, grow_another);
		CHECK(write(said[1], "", 1) == 1);
		for (int i = 0; i < 3 * WAIT_LIMIT_MS / 10; i++)
			poll(NULL, 0, 10);
		_exit(99);
	}
	CHECK(read(said[0], &(char){ 0 }, 1) == 1);
	CHECK(end_all(SIGTERM, NULL, &e));
	CHECK(e.count == HEADS + 1);
}

static void a_tree_that_grows_while_it_ends_ends_all_the_same(void **state UNUSED)
{
	run_forked(scenario_hydra);
}

static void scenario_spared(void)
{
	struct spared s = { .count = 0 };
	struct exits e = { 0 };
	pid_t kept, other;

	CHECK(os_become_subreaper() == 0);
	kept = start_daemon();
	other = start_daemon();
	fork_idle();
	CHECK(spared_add(&s, kept) == 0);
	CHECK(!child_reap(&s, note_exit, &e)); /* the others are no spared ones */
	CHECK(end_all(SIGKILL, &s, &e));
	CHECK(e.count == 2 && e.by_signal[SIGKILL] == 2);
	CHECK(kill(kept, 0) == 0);
	CHECK(kill(other, 0) == -1 && errno == ESRCH);
	CHECK(child_signal_direct(SIGKILL, &s) == 0);
	CHECK(child_reap(&s, note_exit, &e));
	CHECK(child_signal_tree(kept, SIGKILL, &s) == 0);
	CHECK(!child_reap(NULL, note_exit, &e)); /* without the list it counts */
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 3);
}

static void a_spared_session_survives_and_does_not_spoil_the_proof(void **state UNUSED)
{
	run_forked(scenario_spared);
}

/* What a job's supervisor is: it leads a session, and bears the mark. */
static void scenario_job(void)
{
	struct exits e = { 0 };
	siginfo_t info;
	int said[2];
	pid_t job;

	CHECK(os_become_subreaper() == 0);
	CHECK(pipe(said) == 0);
	if ((job = fork()) == 0) {
		setsid();
		os_mark(CHILD_JOB_MARK);
		if (fork() == 0)
			poll(NULL, 0, 3 * WAIT_LIMIT_MS), _exit(99); /* marked, but it leads no session */
		report_and_idle(said[1]);
	}
	CHECK(read_pid(said[0]) == job);
	fork_idle();
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 1 && kill(job, 0) == 0);
	CHECK(child_reap(NULL, note_exit, &e));
	kill(job, SIGKILL); /* its child becomes ours, and is nobody that is spared */
	CHECK(waitid(P_PID, (id_t)job, &info, WEXITED | WNOWAIT) == 0);
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 3);
}

static void a_job_is_spared_by_everybody_but_not_what_it_started(void **state UNUSED)
{
	if (os_mark_of(getpid()) == 0)
		NEEDS("a kernel with marks"); /* this system has no marks */
	run_forked(scenario_job);
}

/* root → middle → leaf, the leaf in a session of its own. Returns root. */
static pid_t start_tree(pid_t *leaf)
{
	int said[2];
	pid_t root;

	CHECK(pipe(said) == 0);
	if ((root = fork()) == 0) {
		if (fork() == 0) {
			if (fork() == 0) {
				setsid();
				report_and_idle(said[1]);
			}
			poll(NULL, 0, 3 * WAIT_LIMIT_MS);
		}
		poll(NULL, 0, 3 * WAIT_LIMIT_MS);
		_exit(99);
	}
	*leaf = read_pid(said[0]);
	close(said[0]);
	close(said[1]);
	return root;
}

static void scenario_tree(void)
{
	struct spared s = { .count = 0 };
	struct exits e = { 0 };
	pid_t root, leaf, bystander;

	CHECK(os_become_subreaper() == 0);
	bystander = fork_idle();
	root = start_tree(&leaf);
	CHECK(child_signal_tree(root, SIGUSR1, NULL) == 3);
	CHECK(EVENTUALLY((child_reap(NULL, note_exit, &e), e.count == 3)));
	CHECK(e.by_signal[SIGUSR1] == 3);
	CHECK(kill(bystander, 0) == 0);
	root = start_tree(&leaf);
	CHECK(spared_add(&s, leaf) == 0);
	CHECK(child_signal_tree(root, SIGUSR1, &s) == 2);
	CHECK(EVENTUALLY((child_reap(NULL, note_exit, &e), e.count == 5)));
	CHECK(kill(leaf, 0) == 0);
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 7);
}

static void a_whole_tree_is_signalled_and_nobody_beside_it(void **state UNUSED)
{
	run_forked(scenario_tree);
}

#define CHAINS 20

/* Each process forks its heir and dies, all in one group of a session of its own. */
static NO_RETURN void be_a_chain(void)
{
	mono_t end = mono_add_ms(mono_now(), WAIT_LIMIT_MS);

	setsid();
	while (mono_now() < end)
		if (fork() != 0)
			_exit(0);
	_exit(99);
}

static void scenario_storm(void)
{
	mono_t until = mono_add_ms(mono_now(), WAIT_LIMIT_MS / 2);

	CHECK(os_become_subreaper() == 0);
	for (int i = 0; i < CHAINS; i++)
		if (fork() == 0)
			be_a_chain();
	poll(NULL, 0, 50);
	while (!child_reap(NULL, NULL, NULL))
		CHECK(child_kill_all(NULL) >= 0 && mono_now() < until);
}

static void chains_of_processes_that_fork_and_exit_end(void **state UNUSED)
{
	run_forked(scenario_storm);
}

static void what_is_dead_is_reaped_for_longer_than_a_look_at_it_takes(void **state UNUSED)
{
	mono_t now = mono_now(), long_ago = mono_add_ms(now, -60000);

	assert_true(child_kill_again(long_ago, 0) >= mono_add_ms(now, 4 * 60000));
	assert_true(child_kill_again(now, 0) >= mono_add_ms(now, 20));
	assert_true(child_kill_again(long_ago, 1) < mono_add_ms(now, 60000)); /* who forks is killed at once */
	assert_true(child_kill_again(long_ago, -1) < mono_add_ms(now, 60000));
}

static void scenario_of_another_user(void)
{
	struct exits e = { 0 };

	CHECK(fork_idle() > 0);
	CHECK(setresuid(65534, 65534, 0) == 0);
	CHECK(child_kill_all(NULL) == 1); /* the dead alone may take 30 s */
	CHECK(!child_reap(NULL, note_exit, &e));
	CHECK(setresuid(0, 0, 0) == 0);
	CHECK(EVENTUALLY((child_kill_all(NULL), child_reap(NULL, note_exit, &e))));
	CHECK(e.count == 1);
}

static void who_can_not_be_killed_is_counted_as_alive(void **state UNUSED)
{
	if (geteuid() != 0)
		NEEDS("root: a process of another user");
	run_forked(scenario_of_another_user);
}

/* In a mount namespace of its own, where that is allowed. */
static void scenario_no_proc(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) < 0)
		return;
	CHECK(child_kill_all(NULL) == -1);
	CHECK(child_signal_tree(getpid(), SIGTERM, NULL) == -1);
}

static void without_a_proc_to_read_a_kill_claims_nothing(void **state UNUSED)
{
	run_forked(scenario_no_proc);
}

static void scenario_no_root(void)
{
	/* kill(2) reads these as "everybody": none may reach it */
	CHECK(child_signal_tree(0, SIGKILL, NULL) == 0);
	CHECK(child_signal_tree(-1, SIGKILL, NULL) == 0);
	CHECK(child_signal_tree(1, 0, NULL) == 0);
	CHECK(child_signal_direct(SIGKILL, NULL) == 0);
}

static void a_root_that_is_not_a_process_signals_nobody(void **state UNUSED)
{
	run_forked(scenario_no_root);
}

#else

static void scenario_no_list(void)
{
	struct spared s = { .count = 0 };
	pid_t pid = fork_idle();

	CHECK(child_signal_direct(SIGTERM, NULL) == -1);
	CHECK(child_kill_all(NULL) == -1);
	CHECK(spared_add(&s, getsid(0)) == 0);
	CHECK(!child_reap(&s, NULL, NULL)); /* it can't be proven */
	CHECK(child_signal_tree(pid, SIGKILL, NULL) == -1); /* of it alone, nobody below it */
	CHECK(EVENTUALLY(child_reap(&s, NULL, NULL)));
}

static void without_a_list_of_children_nothing_is_claimed(void **state UNUSED)
{
	run_forked(scenario_no_list);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reaping_reports_each_child_once_and_proves_when_none_is_left),
		cmocka_unit_test(the_spared_list_takes_each_session_once_and_is_bounded),
		cmocka_unit_test(a_session_without_a_number_is_never_spared),
#ifdef FULL_SYSTEM
		cmocka_unit_test(a_daemon_comes_back_to_us_and_ends_with_the_rest),
		cmocka_unit_test(a_child_deaf_to_term_is_not_gone_until_killed),
		cmocka_unit_test(a_tree_that_grows_while_it_ends_ends_all_the_same),
		cmocka_unit_test(a_spared_session_survives_and_does_not_spoil_the_proof),
		cmocka_unit_test(a_job_is_spared_by_everybody_but_not_what_it_started),
		cmocka_unit_test(a_whole_tree_is_signalled_and_nobody_beside_it),
		cmocka_unit_test(chains_of_processes_that_fork_and_exit_end),
		cmocka_unit_test(who_can_not_be_killed_is_counted_as_alive),
		cmocka_unit_test(what_is_dead_is_reaped_for_longer_than_a_look_at_it_takes),
		cmocka_unit_test(without_a_proc_to_read_a_kill_claims_nothing),
		cmocka_unit_test(a_root_that_is_not_a_process_signals_nobody),
#else
		cmocka_unit_test(without_a_list_of_children_nothing_is_claimed),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
