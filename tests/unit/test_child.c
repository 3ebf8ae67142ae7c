/*
 * test_child.c: a child gets the program, arguments and descriptors it was
 * meant to get, or reports why not. Every scenario runs in a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "child_fixture.h"

static void scenario_runs(void)
{
	CHECK(run(ARGV("sh", "-c", "exit 7"), -1) == 7 << 8);
	CHECK(run(ARGV("/bin/sh", "-c", "test \"$1\" = 'a b  $c'", "sh", "a b  $c"), -1) == 0);
	CHECK(WTERMSIG(run(ARGV("sh", "-c", "kill -9 $$"), -1)) == SIGKILL);
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("echo", "hello") }), "hello\n") == 0);
	CHECK(child_reap(NULL, NULL, NULL));
}

static void a_program_runs_with_its_arguments_as_they_are(void **state UNUSED)
{
	run_forked(scenario_runs);
}

/* The shell finds the file that stands behind each descriptor, and no more. */
#define WHO_IS_WHO \
	"for i in 0 1 2; do [ /proc/self/fd/$i -ef \"$1\" ] || exit 1$i; shift; done;" \
	"i=3; while [ $i -lt 60 ]; do [ ! -e /proc/self/fd/$i ] || exit $i; i=$((i+1)); done"

#define FILES 5
static char file_path[FILES][32];

static void make_files(void)
{
	for (int i = 0; i < FILES; i++) {
		int fd;

		strcpy(file_path[i], "/tmp/test_child.XXXXXX");
		CHECK((fd = mkstemp(file_path[i])) >= 0);
		close(fd);
	}
}

static void remove_files(void)
{
	for (int i = 0; i < FILES; i++)
		unlink(file_path[i]);
}

/* Descriptors 0, 1, 2, 10, 11 are the five files; those in `closed` are not open. */
static void open_files(unsigned closed)
{
	static const int at[FILES] = { 0, 1, 2, 10, 11 };

	for (int i = 0; i < FILES; i++) {
		int fd = open(file_path[i], O_RDWR);

		CHECK(fd >= 0);
		if (fd != at[i]) {
			CHECK(dup2(fd, at[i]) == at[i]);
			close(fd);
		}
	}
	for (int i = 0; i < 3; i++)
		if (closed & (1U << i))
			close(i);
}

static const char *path_behind(int fd)
{
	return fd < 0 ? "/dev/null" : file_path[fd < 10 ? fd : fd - 7];
}

static void check_permutation(int a, int b, int c)
{
	struct child_spec spec = {
		.argv = ARGV("/bin/sh", "-c", WHO_IS_WHO, "sh", path_behind(a), path_behind(b),
		             path_behind(c)),
		.fd = { a, b, c },
	};
	struct child_error error;
	pid_t pid = child_spawn(&spec, &error);

	if (pid <= 0 || wait_for(pid) != 0) {
		dprintf(test_stderr, "fds %d %d %d: not what they should be\n", a, b, c);
		_exit(1);
	}
}

static bool usable(int fd, unsigned closed)
{
	return fd < 0 || fd > 2 || !(closed & (1U << fd));
}

static void each_permutation(unsigned closed)
{
	static const int source[] = { -1, 0, 1, 2, 10, 11 };
	const int n = (int)ARRAY_LEN(source);

	open_files(closed);
	for (int k = 0; k < n * n * n; k++) {
		int a = source[k % n], b = source[k / n % n], c = source[k / n / n];

		if (usable(a, closed) && usable(b, closed) && usable(c, closed))
			check_permutation(a, b, c);
	}
}

static void scenario_permutations(void)
{
	CHECK((test_stderr = fcntl(2, F_DUPFD_CLOEXEC, 100)) >= 100);
	make_files();
	for (unsigned closed = 0; closed < 8; closed++)
		each_permutation(closed);
	remove_files();
}

static void standard_fds_are_right_in_every_permutation_of_sources(void **state UNUSED)
{
	run_forked(scenario_permutations);
}

static void scenario_exec_error_with_closed(void)
{
	struct child_spec spec = { .argv = ARGV("/no/such/program"), .fd = { -1, -1, -1 } };
	struct child_error error;

	CHECK((test_stderr = fcntl(2, F_DUPFD_CLOEXEC, 100)) >= 100);
	make_files();
	for (unsigned closed = 0; closed < 8; closed++) {
		open_files(closed);
		CHECK(child_spawn(&spec, &error) == -1);
		CHECK(error.step == CHILD_EXEC && error.err == ENOENT);
	}
	remove_files();
}

static void a_failure_is_reported_even_where_standard_fds_are_closed(void **state UNUSED)
{
	run_forked(scenario_exec_error_with_closed);
}

static void scenario_no_leak(void)
{
	/* inheritable on purpose: what a library forgot to mark */
	for (int fd = 3; fd < 60; fd++)
		CHECK(dup2(0, fd) == fd);
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("ls", "/proc/self/fd") }),
	             "0\n1\n2\n3\n") == 0); /* 3 is ls reading the directory */
}

static void no_descriptor_above_2_reaches_a_child(void **state UNUSED)
{
	run_forked(scenario_no_leak);
}

/* --- errors ---------------------------------------------------------------------- */

static void scenario_errors(void)
{
	char dir[64], path[128];
	int lowest = dup(2);

	make_dir(dir);
	make_program(dir, "plain", "text\n", 0644);
	make_program(dir, "binary", "\1\2\3\4", 0755);
	snprintf(path, sizeof(path), "%s/plain", dir);
	check_error((struct child_spec){ .argv = ARGV("/no/such/program") }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = ARGV("no-such-program-anywhere") }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = ARGV("") }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = (const char *const[]){ NULL } }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = ARGV(path) }, CHILD_EXEC, EACCES);
	check_error((struct child_spec){ .argv = ARGV(dir) }, CHILD_EXEC, EACCES);
	check_error((struct child_spec){ .argv = ARGV("./binary"), .cwd = dir }, CHILD_EXEC, ENOEXEC);
	check_error((struct child_spec){ .argv = ARGV("sh"), .cwd = "/no/such/dir" }, CHILD_CHDIR, ENOENT);
	check_error((struct child_spec){ .argv = ARGV("sh"), .cwd = path }, CHILD_CHDIR, ENOTDIR);
	close(lowest);
	CHECK(dup(2) == lowest); /* no descriptor was left open */
	remove_dir(dir);
}

static void a_child_that_cannot_start_says_which_step_and_why(void **state UNUSED)
{
	run_forked(scenario_errors);
}

static void scenario_bad_fd(void)
{
	struct child_spec spec = { .argv = ARGV("true"), .fd = { -1, 77, -1 } };
	struct child_error error;
	int last = 0;

	limit_descriptors(64);
	CHECK(child_spawn(&spec, &error) == -1);
	CHECK(error.step == CHILD_DUP && error.err == EBADF);
	spec.fd[1] = -1;
	for (int fd = 0; fd >= 0; fd = dup(2))
		last = fd; /* the limit ends it */
	close(last); /* enough for the pipe, not for /dev/null */
	close(last - 1);
	CHECK(child_spawn(&spec, &error) == -1);
	CHECK(error.step == CHILD_DUP && error.err == EMFILE);
	while (dup(2) >= 0)
		;
	CHECK(child_spawn(&spec, &error) == -1);
	CHECK(error.step == CHILD_PIPE && error.err == EMFILE);
}

static void a_bad_descriptor_and_a_lack_of_descriptors_are_different_errors(void **state UNUSED)
{
	run_forked(scenario_bad_fd);
}

static void steps_have_names_for_messages(void **state UNUSED)
{
	assert_string_equal(child_step_name(CHILD_FORK), "fork");
	assert_string_equal(child_step_name(CHILD_EXEC), "exec");
	for (int s = CHILD_OK; s <= CHILD_EXEC; s++)
		assert_true(strlen(child_step_name((enum child_step)s)) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_runs_with_its_arguments_as_they_are),
		cmocka_unit_test(standard_fds_are_right_in_every_permutation_of_sources),
		cmocka_unit_test(a_failure_is_reported_even_where_standard_fds_are_closed),
		cmocka_unit_test(no_descriptor_above_2_reaches_a_child),
		cmocka_unit_test(a_child_that_cannot_start_says_which_step_and_why),
		cmocka_unit_test(a_bad_descriptor_and_a_lack_of_descriptors_are_different_errors),
		cmocka_unit_test(steps_have_names_for_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
