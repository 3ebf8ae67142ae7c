/*
 * test_os.c: what the system promises, with real processes and descriptors.
 * Built with -DRUNNER_POSIX_ONLY it tests the plain POSIX half instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../src/engine/os.h"
#include "../../src/engine/os_close.h"
#include "fork_fixture.h"
#include "needs.h"

#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)
#define FULL_SYSTEM
#include <sched.h>
#include <sys/prctl.h>
#endif

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* --- closing --------------------------------------------------------------------- */

typedef void close_fn(int lowest, const int *keep, size_t keep_count);

/* Open 10 … 40, close from `lowest`, and compare each with the keep list. */
static void check_close(close_fn *close_from, int lowest, const int *keep, size_t count)
{
	int null = open("/dev/null", O_RDONLY);

	for (int fd = 10; fd <= 40; fd++)
		CHECK(dup2(null, fd) == fd);
	close_from(lowest, keep, count);
	for (int fd = 10; fd <= 40; fd++) {
		bool kept = fd < lowest;

		for (size_t i = 0; i < count; i++)
			kept = kept || keep[i] == fd;
		CHECK(is_open(fd) == kept);
	}
}

static void close_scenario(close_fn *close_from)
{
	static const int keep[] = { 3, 10, 11, 20, 22, 40, 500 };

	limit_descriptors(64);
	test_stderr = 9;
	CHECK(dup2(2, 9) == 9);
	for (size_t from = 0; from <= ARRAY_LEN(keep); from++)
		for (size_t to = from; to <= ARRAY_LEN(keep); to++)
			for (int lowest = 10; lowest <= 41; lowest++)
				check_close(close_from, lowest, keep + from, to - from);
	check_close(close_from, 10, NULL, 0);
}

static void scenario_close_range(void)
{
	close_scenario(os_close_from);
}

static void scenario_close_each(void)
{
	close_scenario(os_close_each);
}

static void closing_spares_the_keep_list_and_what_is_below(void **state UNUSED)
{
	run_forked(scenario_close_range);
}

static void closing_one_by_one_does_the_same(void **state UNUSED)
{
	run_forked(scenario_close_each);
}

/* --- random ---------------------------------------------------------------------- */

static void random_bytes_fill_what_was_asked_and_no_more(void **state UNUSED)
{
	unsigned char a[300], b[300];
	int same = 0;

	memset(a, 0xaa, sizeof(a));
	memset(b, 0xaa, sizeof(b));
	assert_int_equal(os_random(a, 0), 0);
	assert_int_equal(a[0], 0xaa);
	assert_int_equal(os_random(a, 299), 0);
	assert_int_equal(os_random(b, 299), 0);
	assert_int_equal(a[299], 0xaa);
	for (int i = 0; i < 299; i++)
		same += a[i] == b[i];
	assert_true(same < 30);
}

/* --- children -------------------------------------------------------------------- */

static void scenario_has_children(void)
{
	pid_t pid;

	CHECK(!os_has_children());
	pid = fork_idle();
	CHECK(os_has_children());
	kill(pid, SIGSTOP);
	CHECK(os_has_children());
	kill(pid, SIGKILL);
	CHECK(EVENTUALLY(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0));
	CHECK(os_has_children()); /* dead, but not reaped */
	waitpid(pid, NULL, 0);
	CHECK(!os_has_children());
}

static void children_alive_stopped_or_dead_are_noticed_until_reaped(void **state UNUSED)
{
	run_forked(scenario_has_children);
}

#ifdef FULL_SYSTEM

#define MANY 1200 /* their pids fill more than one read of the list */

static bool contains(const pid_t *pids, int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static void scenario_children(void)
{
	static pid_t made[MANY], listed[MANY + 1];

	CHECK(os_children(getpid(), listed, MANY) == 0);
	for (int i = 0; i < MANY; i++)
		CHECK((made[i] = fork_idle()) > 0);
	CHECK(os_children(getpid(), listed, MANY + 1) == MANY);
	for (int i = 0; i < MANY; i++)
		CHECK(contains(listed, MANY, made[i]));
	CHECK(os_children(getpid(), listed, 7) == 7);
	CHECK(os_children(getpid(), listed, 0) == 0);
	CHECK(os_children_ends(getpid(), listed, MANY) == MANY);
	CHECK(memcmp(listed, made, sizeof(made)) == 0);
	CHECK(os_children_ends(getpid(), listed, 7) == 7);
	CHECK(memcmp(listed, made, 4 * sizeof(pid_t)) == 0);
	CHECK(memcmp(listed + 4, made + MANY - 3, 3 * sizeof(pid_t)) == 0);
	CHECK(os_children(made[0], listed, MANY) == 0);
	for (int i = 0; i < MANY; i++)
		end_child(made[i]);
	CHECK(os_children(made[0], listed, MANY) == -1);
}

static void the_children_of_a_process_are_listed_however_many(void **state UNUSED)
{
	run_forked(scenario_children);
}

static void scenario_process_info(void)
{
	static const char *const names[] = { "plain", "a) R 1 2 3 4", "(((", ")))", "two words" };
	pid_t parent, grand;
	uint64_t start, own_start, now;

	CHECK(os_process_info(getpid(), &grand, &own_start) == 0);
	CHECK(grand == getppid() && own_start > 0);
	CHECK(os_ticks_now(&now) == 0 && now >= own_start && now < own_start + 100 * 3600);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int ready[2];
		pid_t pid;

		CHECK(pipe(ready) == 0);
		if ((pid = fork()) == 0) {
			prctl(PR_SET_NAME, names[i]);
			CHECK(write(ready[1], "", 1) == 1);
			poll(NULL, 0, WAIT_LIMIT_MS);
			_exit(0);
		}
		CHECK(read(ready[0], &(char){ 0 }, 1) == 1);
		CHECK(os_process_info(pid, &parent, &start) == 0);
		CHECK(parent == getpid());
		CHECK(start >= now && start < own_start + 100 * 3600);
		end_child(pid);
		CHECK(os_process_info(pid, &parent, &start) == -1);
		close(ready[0]);
		close(ready[1]);
	}
}

static void a_process_names_its_parent_whatever_it_calls_itself(void **state UNUSED)
{
	run_forked(scenario_process_info);
}

static void scenario_lives(void)
{
	pid_t pid = fork_idle();
	siginfo_t info;

	CHECK(os_process_lives(pid) && os_process_lives(getpid()));
	kill(pid, SIGKILL);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(!os_process_lives(pid));
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(!os_process_lives(pid));
}

static void what_waits_to_be_reaped_does_not_live(void **state UNUSED)
{
	run_forked(scenario_lives);
}

static void scenario_watch(void)
{
	pid_t pid = fork_idle();
	struct pollfd death = { .fd = os_watch_process(pid), .events = POLLIN };

	CHECK(death.fd >= 0 && (fcntl(death.fd, F_GETFD) & FD_CLOEXEC));
	CHECK(poll(&death, 1, 0) == 0);
	kill(pid, SIGKILL);
	CHECK(poll(&death, 1, WAIT_LIMIT_MS) == 1);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(os_watch_process(pid) == -1);
}

static void a_death_is_seen_from_outside(void **state UNUSED)
{
	int fd = os_watch_process(getpid());

	if (fd < 0 && errno == ENOSYS)
		NEEDS("a kernel with pidfd_open, without valgrind"); /* an old kernel, or valgrind */
	close(fd);
	run_forked(scenario_watch);
}

static void scenario_unnoticed(void)
{
	pid_t pid = os_fork_unnoticed();

	if (pid == 0) {
		poll(NULL, 0, WAIT_LIMIT_MS);
		_exit(0);
	}
	CHECK(pid > 0 && os_process_lives(pid));
	CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
	kill(pid, SIGKILL);
	os_reap_unnoticed(pid);
	CHECK(kill(pid, 0) == -1 && errno == ESRCH);
}

static void an_unnoticed_child_is_nobody_to_wait_for(void **state UNUSED)
{
	run_forked(scenario_unnoticed);
}

static void scenario_subreaper(void)
{
	int report[2];
	pid_t middle, orphan;

	CHECK(os_become_subreaper() == 0);
	CHECK(pipe(report) == 0);
	if ((middle = fork()) == 0) {
		orphan = fork_idle();
		CHECK(write(report[1], &orphan, sizeof(orphan)) == sizeof(orphan));
		_exit(0);
	}
	CHECK(read(report[0], &orphan, sizeof(orphan)) == sizeof(orphan));
	CHECK(waitpid(middle, NULL, 0) == middle);
	kill(orphan, SIGKILL);
	CHECK(waitpid(orphan, NULL, 0) == orphan);
}

static void orphans_of_our_tree_become_our_children(void **state UNUSED)
{
	run_forked(scenario_subreaper);
}

static void scenario_parent_death(void)
{
	int report[2], status;
	pid_t middle, pid;

	CHECK(os_become_subreaper() == 0);
	CHECK(pipe(report) == 0);
	if ((middle = fork()) == 0) {
		if (fork() == 0) {
			CHECK(os_parent_death_signal(SIGUSR2) == 0);
			pid = getpid();
			CHECK(write(report[1], &pid, sizeof(pid)) == sizeof(pid));
			poll(NULL, 0, WAIT_LIMIT_MS);
			_exit(0);
		}
		poll(NULL, 0, WAIT_LIMIT_MS);
		_exit(0);
	}
	CHECK(read(report[0], &pid, sizeof(pid)) == sizeof(pid));
	end_child(middle);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2);
}

static void a_parents_death_is_signalled(void **state UNUSED)
{
	run_forked(scenario_parent_death);
}

/* --- reopening ------------------------------------------------------------------- */

static void a_pipe_reopened_is_nonblocking_and_the_old_one_stays_as_it_was(void **state UNUSED)
{
	static char chunk[4096];
	int p[2], fd, writes = 0;

	assert_int_equal(pipe(p), 0);
	fd = os_reopen_nonblocking(p[1], O_WRONLY);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_false(fcntl(p[1], F_GETFL) & O_NONBLOCK);
	while (write(fd, chunk, sizeof(chunk)) > 0 && writes < 100000)
		writes++;
	assert_int_equal(errno, EAGAIN);
	assert_true(writes > 0);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void what_cannot_block_or_be_reopened_is_refused(void **state UNUSED)
{
	char path[] = "/tmp/test_os.XXXXXX";
	int file = mkstemp(path), s[2];

	assert_true(file >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(os_reopen_nonblocking(file, O_WRONLY), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(os_reopen_nonblocking(s[0], O_WRONLY), -1);
	close(file);
	close(s[0]);
	close(s[1]);
	assert_int_equal(os_reopen_nonblocking(s[0], O_WRONLY), -1);
	assert_int_equal(errno, EBADF);
}

/* sched_setscheduler(2): musl has no working function for it */
static int schedule(int policy, int priority)
{
	return (int)syscall(SYS_sched_setscheduler, 0L, (long)policy, &(struct sched_param){ .sched_priority = priority });
}

/* Where the system doesn't allow it, there is nothing to see; and an ordinary user can't clear
 * the flag again. */
static void scenario_hurry(void)
{
	bool allowed = geteuid() == 0 && schedule(SCHED_RR, 1) == 0;

	CHECK(!allowed || schedule(SCHED_OTHER, 0) == 0);
	for (int i = 0; i < 2 && allowed; i++) {
		os_hurry();
		os_hurry();
		CHECK(syscall(SYS_sched_getscheduler, 0L) == (SCHED_RR | SCHED_RESET_ON_FORK));
		os_rest();
		CHECK(syscall(SYS_sched_getscheduler, 0L) == SCHED_OTHER);
	}
	CHECK(schedule(SCHED_BATCH, 0) == 0);
	os_hurry();
	CHECK(syscall(SYS_sched_getscheduler, 0L) == SCHED_BATCH);
	os_rest();
	CHECK(syscall(SYS_sched_getscheduler, 0L) == SCHED_BATCH);
}

static void a_hurry_is_over_with_the_rest_and_spares_a_policy_that_somebody_chose(void **state UNUSED)
{
	run_forked(scenario_hurry);
}

static void a_timer_signals_again_and_again_until_it_is_stopped(void **state UNUSED)
{
	struct timespec soon = { 20, 0 }, none = { 0, 0 };
	sigset_t set;
	int timer;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	timer = os_timer(SIGUSR1);
	assert_true(timer >= 0);
	os_timer_every(timer, 1000000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sigtimedwait(&set, NULL, &soon), SIGUSR1);
	os_timer_every(timer, 0);
	(void)sigtimedwait(&set, NULL, &none); /* one that came before */
	assert_int_equal(sigtimedwait(&set, NULL, &(struct timespec){ 0, 20000000 }), -1);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	assert_int_equal(os_timer(-1), -1);
}

#else

static void what_posix_lacks_is_refused_and_not_pretended(void **state UNUSED)
{
	pid_t pid = 0;
	uint64_t start;

	assert_int_equal(os_become_subreaper(), -1);
	assert_int_equal(os_parent_death_signal(SIGTERM), -1);
	assert_int_equal(os_children(getpid(), &pid, 1), -1);
	assert_int_equal(os_process_info(getpid(), &pid, &start), -1);
	assert_false(os_process_lives(getpid()));
	assert_int_equal(os_watch_process(getpid()), -1);
	assert_int_equal(os_fork_unnoticed(), -1);
	assert_int_equal(os_ticks_now(&start), -1);
	assert_int_equal(os_timer(SIGUSR1), -1);
	assert_int_equal(os_reopen_nonblocking(1, O_WRONLY), -1);
	assert_int_equal(errno, ENOSYS);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing_spares_the_keep_list_and_what_is_below),
		cmocka_unit_test(closing_one_by_one_does_the_same),
		cmocka_unit_test(random_bytes_fill_what_was_asked_and_no_more),
		cmocka_unit_test(children_alive_stopped_or_dead_are_noticed_until_reaped),
#ifdef FULL_SYSTEM
		cmocka_unit_test(the_children_of_a_process_are_listed_however_many),
		cmocka_unit_test(a_process_names_its_parent_whatever_it_calls_itself),
		cmocka_unit_test(what_waits_to_be_reaped_does_not_live),
		cmocka_unit_test(a_death_is_seen_from_outside),
		cmocka_unit_test(an_unnoticed_child_is_nobody_to_wait_for),
		cmocka_unit_test(orphans_of_our_tree_become_our_children),
		cmocka_unit_test(a_parents_death_is_signalled),
		cmocka_unit_test(a_pipe_reopened_is_nonblocking_and_the_old_one_stays_as_it_was),
		cmocka_unit_test(what_cannot_block_or_be_reopened_is_refused),
		cmocka_unit_test(a_timer_signals_again_and_again_until_it_is_stopped),
		cmocka_unit_test(a_hurry_is_over_with_the_rest_and_spares_a_policy_that_somebody_chose),
#else
		cmocka_unit_test(what_posix_lacks_is_refused_and_not_pretended),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
