/*
 * test_os_proc.c: whose child a process is, where threads fork and daemons leave
 * their session. What another namespace's /proc does is tests/fault/hostile_namespaces.py's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/engine/child.h"
#include "../../src/engine/os.h"
#include "fork_fixture.h"

#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)

#define THREADS 40 /* their names fill more than one read of the list */

static pid_t made[THREADS];
static int said[2], go[2];

static void *fork_one(void *at)
{
	*(pid_t *)at = fork_idle();
	CHECK(write(said[1], "", 1) == 1);
	CHECK(read(go[0], &(char){ 0 }, 1) == 0);
	return NULL;
}

static void scenario_threads(void)
{
	pid_t listed[THREADS + 1];
	pthread_t thread[THREADS];
	int next_fd;

	CHECK(pipe(said) == 0 && pipe(go) == 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&thread[i], NULL, fork_one, &made[i]) == 0);
		CHECK(read(said[0], &(char){ 0 }, 1) == 1);
	}
	CHECK((next_fd = dup(0)) >= 0 && close(next_fd) == 0);
	CHECK(os_children(getpid(), listed, THREADS + 1) == THREADS);
	CHECK(dup(0) == next_fd); /* every list is closed again */
	close(next_fd);
	for (int i = 0; i < THREADS; i++) {
		int found = 0;

		for (int k = 0; k < THREADS; k++)
			found += listed[k] == made[i];
		CHECK(found == 1);
		kill(made[i], SIGKILL);
	}
	CHECK(os_children(getpid(), listed, 3) == 3);
	close(go[1]);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
}

static void the_children_of_every_thread_are_listed(void **state UNUSED)
{
	run_forked(scenario_threads);
}

/* Forked twice, in a session of its own, without anything it was given. */
static pid_t start_daemon(uint64_t mark)
{
	pid_t middle, daemon_pid;

	CHECK(pipe(said) == 0);
	if ((middle = fork()) == 0) {
		CHECK(os_mark(mark) == 0);
		setsid();
		if ((daemon_pid = fork()) == 0) {
			setsid();
			poll(NULL, 0, 3 * WAIT_LIMIT_MS);
			_exit(99);
		}
		CHECK(write(said[1], &daemon_pid, sizeof(daemon_pid)) == sizeof(daemon_pid));
		_exit(0);
	}
	CHECK(read(said[0], &daemon_pid, sizeof(daemon_pid)) == sizeof(daemon_pid));
	wait_for(middle);
	return daemon_pid;
}

static void scenario_mark(void)
{
	struct spared spare = { .session = { 1 << 30 }, .count = 1, .mark = 4711 };
	struct spared other = { .session = { 1 << 30 }, .count = 1, .mark = 4712 };
	pid_t pid, plain;

	CHECK(os_become_subreaper() == 0);
	pid = start_daemon(4711);
	plain = fork_idle();
	CHECK(os_mark_of(pid) == 4711);
	CHECK(os_mark_of(plain) != 4711 && os_mark_of(getpid()) != 4711);
	CHECK(os_is_marked(pid) && !os_is_marked(plain) && os_is_marked(1 << 30));
	CHECK(spared_has(&spare, pid) && !spared_has(&spare, plain));
	CHECK(!spared_has(&other, pid)); /* of another run */
	CHECK(child_kill_all(&spare) == 1);
	CHECK(EVENTUALLY(child_reap(&spare, NULL, NULL)));
	CHECK(kill(pid, 0) == 0 && kill(plain, 0) < 0);
	CHECK(child_kill_all(&other) == 1);
	CHECK(EVENTUALLY(child_reap(&other, NULL, NULL)));
	CHECK(kill(pid, 0) < 0);
}

static void a_mark_stays_with_a_daemon_and_spares_it(void **state UNUSED)
{
	run_forked(scenario_mark);
}

static void scenario_run_mark(void)
{
	const uint64_t mark = child_run_mark(1), refused[] = { 0, 4711, CHILD_JOB_MARK, UINT64_MAX };
	struct spared none = { .count = 0 };
	pid_t daemon_pid, of_another, job;

	CHECK(os_become_subreaper() == 0);
	CHECK(mark != child_run_mark(2) && !child_signal_marked(mark, SIGKILL, getsid(0)));
	daemon_pid = start_daemon(mark);
	of_another = start_daemon(4711);
	job = start_daemon(CHILD_JOB_MARK);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		CHECK(!child_signal_marked(refused[i], 0, getsid(0))); /* (every process of this machine would have some of them) */
	CHECK(child_signal_marked(mark, 0, getsid(0)));
	CHECK(kill(daemon_pid, 0) == 0);
	(void)child_signal_marked(mark, SIGKILL, getsid(0)); /* it may be dead at once */
	wait_for(daemon_pid);
	CHECK(!child_signal_marked(mark, SIGKILL, getsid(0)));
	CHECK(os_process_lives(of_another) && kill(job, SIGKILL) == 0);
	wait_for(job);
	CHECK(child_kill_all(&none) == 1);
	CHECK(EVENTUALLY(child_reap(&none, NULL, NULL)));
}

static void what_has_the_mark_of_a_run_is_found_wherever_it_is_and_nothing_else(void **state UNUSED)
{
	run_forked(scenario_run_mark);
}

/* --- memory ----------------------------------------------------------------------- */

/* Does the kernel call this address a part of the heap? Under valgrind nothing is. */
static bool is_in_heap(const char *address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps) != NULL) {
		char *end;
		uintptr_t from = strtoul(line, &end, 16), to = strtoul(end + 1, NULL, 16);

		found |= strstr(line, " [heap]") != NULL && (uintptr_t)address >= from && (uintptr_t)address < to;
	}
	fclose(maps);
	return found;
}

static void scenario_drop_heap(void)
{
	static char kept[] = "static data stays";
	char *first = sbrk(8192), local[] = "and so does the stack";
	bool heap = is_in_heap(first) && is_in_heap(first + 8191);

	if (first == (char *)-1)
		return; /* musl gives none */
	memset(first, 'x', 8192);
	os_drop_heap();
	CHECK(!heap || (first[0] == '\0' && first[8191] == '\0'));
	CHECK(strcmp(kept, "static data stays") == 0 && strcmp(local, "and so does the stack") == 0);
}

static void a_heap_that_is_dropped_reads_as_zeros(void **state UNUSED)
{
	run_forked(scenario_drop_heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heap_that_is_dropped_reads_as_zeros),
		cmocka_unit_test(the_children_of_every_thread_are_listed),
		cmocka_unit_test(a_mark_stays_with_a_daemon_and_spares_it),
		cmocka_unit_test(what_has_the_mark_of_a_run_is_found_wherever_it_is_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void no_mark_is_claimed(void **state UNUSED)
{
	assert_int_equal(os_mark(4711), -1);
	assert_true(os_mark_of(getpid()) != 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_mark_is_claimed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
