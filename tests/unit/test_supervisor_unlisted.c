/*
 * test_supervisor_unlisted.c: whole runs where processes can't be listed, as without /proc: what is
 * known is the worker's session, and its number is the worker's no longer once it is empty. And where a
 * look at them finds only dead ones, which nobody has had the time to reap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/child.h"
#include "supervisor_fixture.h"
#include "needs.h"

/* --- what the supervisor sends: ld --wrap ------------------------------------------------------ */

struct sent {
	pid_t to;
	int sig, result;
};

static struct {
	volatile pid_t worker;
	volatile int count;
	struct sent list[4096];
} *sent; /* shared with the supervisor */
static pid_t supervisor;
static int found; /* alive, by a look at the tree; -1: it can't be listed */

int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
int __wrap_child_kill_all(const struct spared *spare);
int __wrap_child_signal_tree(pid_t root, int sig, const struct spared *spare);

int __wrap_kill(pid_t pid, int sig)
{
	int result = __real_kill(pid, sig);

	if (getpid() == supervisor && sent->count < (int)ARRAY_LEN(sent->list))
		sent->list[sent->count++] = (struct sent){ pid, sig, result };
	return result;
}

int __wrap_child_kill_all(const struct spared *spare UNUSED)
{
	return found;
}

int __wrap_child_signal_tree(pid_t root UNUSED, int sig UNUSED, const struct spared *spare UNUSED)
{
	return -1;
}

static void note_supervisor(void)
{
	supervisor = getpid();
	sent->count = 0;
}

/* The first that a worker does. */
static void lead_session(void)
{
	sent->worker = setsid();
}

/* How often the signal (0: any) was sent to the worker's group or to the worker, with this result. */
static int times(int sig, bool to_group, int result)
{
	pid_t to = to_group ? -sent->worker : sent->worker;
	int n = 0;

	for (int i = 0; i < sent->count; i++)
		n += (sig == 0 || sent->list[i].sig == sig) && sent->list[i].to == to && sent->list[i].result == result;
	return n;
}

static int set_up(void **state)
{
	found = -1;
	sent = mmap(NULL, sizeof(*sent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return sent == MAP_FAILED ? -1 : reset_fixture(state);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void leave_deaf_child(void)
{
	if (fork() == 0)
		ignore_term(), hang();
}

static int is_deaf_with_a_child(const struct launch *launch)
{
	lead_session();
	ignore_term();
	leave_deaf_child();
	BEGIN_RUN(launch, INT(timeout_ms, 200));
	hang();
	return 0;
}

static void a_worker_and_its_group_are_killed_at_the_end_of_the_grace(void **state UNUSED)
{
	setup.before = note_supervisor;
	assert_answer(is_deaf_with_a_child, 10, "TIMEOUT");
	assert_true(times(SIGKILL, true, 0) > 0);
	assert_true(times(SIGKILL, false, 0) > 0);
}

static int crashes_beside_a_child(const struct launch *launch)
{
	lead_session();
	BEGIN_RUN(launch, INT(timeout_ms, 10000));
	ignore_term();
	leave_deaf_child();
	raise(SIGKILL);
	return 0;
}

static void the_group_of_a_crashed_worker_is_asked_to_end_and_then_killed(void **state UNUSED)
{
	setup.before = note_supervisor;
	assert_answer(crashes_beside_a_child, 1, "COMMAND_CRASHED");
	assert_int_equal(times(SIGTERM, true, 0), 1);
	assert_int_equal(times(SIGCONT, true, 0), 1);
	assert_true(times(SIGKILL, true, 0) > 0);
	assert_int_equal(times(0, false, -1), 0); /* the worker's number may be another's */
	assert_int_equal(times(SIGKILL, false, 0), 0);
}

/* Out of reach: it ends by itself, long after the grace. */
static int leaves_what_no_one_finds(const struct launch *launch)
{
	lead_session();
	if (fork() == 0) {
		ignore_term();
		setsid();
		poll(NULL, 0, 3 * GRACE_MS);
		_exit(0);
	}
	return replies_ok(launch);
}

static void an_empty_group_is_sent_nothing_more(void **state UNUSED)
{
	if (under_valgrind())
		NEEDS("to run without valgrind"); /* it takes longer than the child lives */
	setup.before = note_supervisor;
	assert_contains(assert_answer(leaves_what_no_one_finds, 0, NULL), "\"PROCESS_LEFT\"");
	assert_true(times(0, true, -1) <= 1);
	assert_int_equal(times(0, false, -1), 0);
}

/* It stands for the dead: when it has gone, the last of them is reaped. */
static int leaves_one_for_long(const struct launch *launch)
{
	lead_session();
	if (fork() == 0) {
		ignore_term();
		setsid();
		poll(NULL, 0, 15 * GRACE_MS);
		_exit(0);
	}
	BEGIN_RUN(launch, INT(timeout_ms, GRACE_MS));
	hang();
	return 0;
}

static void the_dead_are_no_survivors_however_long_it_takes_to_reap_them(void **state UNUSED)
{
	const char *text;

	found = 0;
	text = assert_answer(leaves_one_for_long, 10, "TIMEOUT");
	assert_null(strstr(text, "SURVIVORS"));
	assert_ended_between(10 * GRACE_MS, SCENARIO_LIMIT_MS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, reset_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_worker_and_its_group_are_killed_at_the_end_of_the_grace),
		TEST(the_group_of_a_crashed_worker_is_asked_to_end_and_then_killed),
		TEST(an_empty_group_is_sent_nothing_more),
		TEST(the_dead_are_no_survivors_however_long_it_takes_to_reap_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
