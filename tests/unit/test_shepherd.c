/*
 * test_shepherd.c: a program under a shepherd starts as any child does, ends
 * with all that it has left behind, and what is reported is its own end. Every
 * scenario runs in a process of its own (fork_fixture.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>

#include "../../src/common/xio.h"
#include "../../src/engine/os.h"
#include "../../src/engine/shepherd.h"
#include "child_fixture.h"

#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)
#define FULL_SYSTEM
#endif

#define GRACE_MS 20000 /* what ends sooner did not wait for it */
#define SOON_MS 30000 /* what waits for another's end does so for longer */
#define SH(script) ARGV("sh", "-c", script)

/* Which has descriptors of its own, dumps the core itself and keeps some signals. */
static bool under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

/* The parent of who asks for KILL at its parent's death dies before it can. */
static bool parent_dies_first;

int __real_os_parent_death_signal(int sig);
int __wrap_os_parent_death_signal(int sig);
int __wrap_os_parent_death_signal(int sig)
{
	pid_t parent = getppid();

	if (parent_dies_first && sig == SIGKILL) {
		kill(parent, SIGKILL);
		while (getppid() == parent)
			poll(NULL, 0, 1);
	}
	return __real_os_parent_death_signal(sig);
}

static int output[2];
static int report = -1;

/* A program whose stdout is the pipe `output`. */
static pid_t start(const char *const *argv, int64_t grace_ms)
{
	struct child_spec spec = { .argv = argv, .fd = { -1, -1, test_stderr } };
	struct child_error error;
	pid_t pid;

	xclose(&report);
	CHECK(xpipe(output) == 0);
	spec.fd[1] = output[1];
	pid = shepherd_spawn(&spec, grace_ms, -1, &report, &error);
	xclose(&output[1]);
	CHECK(pid > 0 && error.step == CHILD_OK && report >= 0);
	return pid;
}

/* One line that it has written. */
static const char *heard(void)
{
	static char line[256];
	size_t n = 0;

	while (n < sizeof(line) - 1 && xread(output[0], line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return line;
}

static pid_t heard_pid(void)
{
	return (pid_t)strtol(heard(), NULL, 10);
}

/* The pipe's other end is closed: nobody who could write is left. */
static bool at_end(void)
{
	char byte;

	return xread(output[0], &byte, 1) == 0;
}

static int end_of(const char *script)
{
	int status = wait_for(start(SH(script), GRACE_MS));

	xclose(&output[0]);
	return status;
}

/* --- the program's end is the shepherd's ------------------------------------------- */

static void scenario_statuses(void)
{
	char script[32];

	for (int status = 0; status < 256; status++) {
		snprintf(script, sizeof(script), "exit %d", status);
		CHECK(end_of(script) == status << 8);
		CHECK(shepherd_program_ended(report));
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
		CHECK(shepherd_program_ended(report));
	}
	CHECK(rmdir(dir) == 0); /* empty: no core of the shepherd */
}

static void every_fatal_signal_is_passed_on_without_a_core(void **state UNUSED)
{
	if (under_valgrind())
		skip();
	run_forked(scenario_signals);
}

static void scenario_ignored(void)
{
	signal(SIGINT, SIG_IGN);
	child_remember_ignored();
	CHECK(WTERMSIG(end_of("exec env --default-signal=INT sh -c 'kill -INT $$'")) == SIGINT);
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
	CHECK(shepherd_spawn(&spec, GRACE_MS, -1, &fd, &own) == -1);
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

#ifdef FULL_SYSTEM

static bool gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

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
	CHECK(shepherd_program_ended(report));
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
	CHECK(!shepherd_program_ended(report));
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
	CHECK(!shepherd_program_ended(report));
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

#endif

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
	CHECK(!shepherd_program_ended(report));
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
					if (pids[c] != getpid() && kill(pids[c], SIGTERM) == 0)
						_exit(0);
			}
			_exit(1);
		}
		shepherd = shepherd_spawn(&spec, GRACE_MS, -1, &report, &error);
		CHECK(shepherd > 0);
		CHECK(wait_for(other) == 0);
		status = wait_for(shepherd);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		CHECK(!shepherd_program_ended(report));
		xclose(&report);
	}
}

static void a_term_during_the_start_ends_what_has_started(void **state UNUSED)
{
#ifdef FULL_SYSTEM
	run_forked(scenario_during_start);
#else
	(void)scenario_during_start;
	skip();
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

#ifdef FULL_SYSTEM

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

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exit_status_is_passed_on),
		cmocka_unit_test(every_fatal_signal_is_passed_on_without_a_core),
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
#ifdef FULL_SYSTEM
		cmocka_unit_test(a_daemon_ends_when_its_program_has_ended),
		cmocka_unit_test(what_ignores_term_is_killed_after_the_grace),
		cmocka_unit_test(a_stopped_process_wakes_up_to_its_term),
		cmocka_unit_test(each_process_gets_one_term_however_often_stop_is_requested),
		cmocka_unit_test(what_a_program_starts_to_clean_up_gets_no_term),
		cmocka_unit_test(a_tree_that_grows_while_it_ends_is_killed),
		cmocka_unit_test(the_tree_ends_when_the_worker_is_killed),
		cmocka_unit_test(a_suspended_shepherd_learns_of_the_workers_death),
		cmocka_unit_test(a_shepherd_that_is_killed_at_its_start_starts_no_program),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
