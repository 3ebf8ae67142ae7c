/*
 * test_limits.c: declared limits become resource limits of a process, are never
 * raised, and what can't be enforced is not claimed. Each case runs in a fork.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/engine/limits.h"
#include "needs.h"

#define NOBODY 65534

/* What a process finds after limits_apply(), as its exit status: the number of
 * the first thing that is wrong, 0 when all is well. */
static void assert_in_fork(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct rlimit limit_now(int which)
{
	struct rlimit now = { 0, 0 };

	getrlimit((__typeof__(RLIMIT_CPU))which, &now);
	return now;
}

/* It answers for the memory and the descriptors of its client by itself. */
static void skip_under_valgrind(void)
{
	if (under_valgrind())
		NEEDS("to run without valgrind");
}

static int none_declared(void)
{
	const struct limits none = { { 0 } };
	struct rlimit data = limit_now(RLIMIT_DATA), files = limit_now(RLIMIT_NOFILE);
	struct mechanisms m = { { MECHANISM_NONE } };

	limits_apply(&none, &m);
	return limits_declared(&none) ? 1
	       : limit_now(RLIMIT_DATA).rlim_cur != data.rlim_cur ? 2
	       : limit_now(RLIMIT_NOFILE).rlim_cur != files.rlim_cur ? 3
	       : m.by[RESOURCE_MEMORY] != MECHANISM_NONE ? 4 : 0;
}

static void nothing_is_set_where_nothing_is_declared(void **state)
{
	(void)state;
	assert_in_fork(none_declared);
}

static int each_declared(void)
{
	const struct limits l = { .of = { [RESOURCE_MEMORY] = 64000000, [RESOURCE_CPU] = 1500,
	                                  [RESOURCE_OPEN_FILES] = 64 } };
	struct mechanisms m = { { MECHANISM_NONE } };

	limits_apply(&l, &m);
	return !limits_declared(&l) ? 1
	       : limit_now(RLIMIT_DATA).rlim_cur != 64000000 + LIMITS_MEMORY_ROOM ? 2
	       : limit_now(RLIMIT_CPU).rlim_cur != 2 || limit_now(RLIMIT_CPU).rlim_max != 3 ? 3
	       : limit_now(RLIMIT_NOFILE).rlim_max != 64 ? 4
	       : m.by[RESOURCE_MEMORY] != MECHANISM_RLIMIT || m.by[RESOURCE_CPU] != MECHANISM_RLIMIT ? 5
	       : m.by[RESOURCE_PROCESSES] != MECHANISM_NONE ? 6 : 0;
}

static void each_declared_limit_is_set_and_named(void **state)
{
	(void)state;
	skip_under_valgrind();
	assert_in_fork(each_declared);
}

static int already_lower(void)
{
	const struct rlimit low = { 32, 48 };
	const struct limits l = { .of = { [RESOURCE_OPEN_FILES] = 1000 } };
	struct mechanisms m = { { MECHANISM_NONE } };

	if (setrlimit(RLIMIT_NOFILE, &low) < 0)
		return 1;
	limits_apply(&l, &m);
	return limit_now(RLIMIT_NOFILE).rlim_cur != 32 || limit_now(RLIMIT_NOFILE).rlim_max != 48;
}

static void a_limit_is_never_raised(void **state)
{
	(void)state;
	skip_under_valgrind();
	assert_in_fork(already_lower);
}

static int held_by_a_group(void)
{
	const struct limits l = { .of = { [RESOURCE_MEMORY] = 64000000, [RESOURCE_CPU] = 1000 } };
	struct mechanisms m = { .by = { [RESOURCE_MEMORY] = MECHANISM_CGROUP,
	                                [RESOURCE_CPU] = MECHANISM_CGROUP } };
	struct rlimit data = limit_now(RLIMIT_DATA);

	limits_apply(&l, &m);
	return limit_now(RLIMIT_DATA).rlim_cur != data.rlim_cur ? 1
	       : limit_now(RLIMIT_CPU).rlim_cur != 2 ? 2 /* the second net, 1 s above */
	       : m.by[RESOURCE_CPU] != MECHANISM_CGROUP ? 3 : 0;
}

static void what_a_group_holds_is_left_to_it(void **state)
{
	(void)state;
	assert_in_fork(held_by_a_group);
}

static int after_a_second_of_work(void)
{
	const struct limits l = { .of = { [RESOURCE_CPU] = 5000 } };
	struct mechanisms m = { { MECHANISM_NONE } };
	struct rusage used;

	do
		getrusage(RUSAGE_SELF, &used);
	while (used.ru_utime.tv_sec < 1);
	limits_apply(&l, &m);
	return limit_now(RLIMIT_CPU).rlim_cur < 6 ? 1 : 0;
}

static void what_loading_used_does_not_count_for_the_cpu_limit(void **state)
{
	(void)state;
	assert_in_fork(after_a_second_of_work);
}

static int as_root(void)
{
	const struct limits l = { .of = { [RESOURCE_PROCESSES] = 4 } };
	struct mechanisms m = { { MECHANISM_NONE } };

	limits_apply(&l, &m);
	return m.by[RESOURCE_PROCESSES] != MECHANISM_NONE;
}

/* Can this user start `count` processes that live at the same time? */
static bool can_start(int count)
{
	int held[2], started = 0;

	if (pipe(held) < 0)
		return false;
	for (; started < count; started++) {
		char byte;
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			close(held[1]);
			_exit(read(held[0], &byte, 1) == 0 ? 0 : 1);
		}
	}
	close(held[1]);
	close(held[0]);
	while (wait(NULL) > 0)
		;
	return started == count;
}

static int as_somebody(void)
{
	const struct limits l = { .of = { [RESOURCE_PROCESSES] = 4 } };
	struct mechanisms m = { { MECHANISM_NONE } };

	if (getuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	limits_apply(&l, &m);
	return m.by[RESOURCE_PROCESSES] != MECHANISM_RLIMIT ? 2 : !can_start(2) ? 3 : can_start(40) ? 4 : 0;
}

static void processes_are_bounded_for_a_user_and_not_claimed_for_root(void **state)
{
	(void)state;
	if (getuid() == 0)
		assert_in_fork(as_root);
	assert_in_fork(as_somebody);
}

static void names_are_those_of_a_declaration(void **state)
{
	(void)state;
	assert_string_equal(resource_name(RESOURCE_MEMORY), "memory");
	assert_string_equal(resource_name(RESOURCE_CPU), "cpu");
	assert_string_equal(resource_name(RESOURCE_PROCESSES), "processes");
	assert_string_equal(resource_name(RESOURCE_OPEN_FILES), "open_files");
	assert_string_equal(mechanism_name(MECHANISM_NONE), "none");
	assert_string_equal(mechanism_name(MECHANISM_RLIMIT), "rlimit");
	assert_string_equal(mechanism_name(MECHANISM_CGROUP), "cgroup");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_set_where_nothing_is_declared),
		cmocka_unit_test(each_declared_limit_is_set_and_named),
		cmocka_unit_test(a_limit_is_never_raised),
		cmocka_unit_test(what_a_group_holds_is_left_to_it),
		cmocka_unit_test(what_loading_used_does_not_count_for_the_cpu_limit),
		cmocka_unit_test(processes_are_bounded_for_a_user_and_not_claimed_for_root),
		cmocka_unit_test(names_are_those_of_a_declaration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
