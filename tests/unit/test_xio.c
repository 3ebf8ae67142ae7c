/*
 * test_xio.c: signals don't break reads and writes, descriptors are not
 * inherited by accident, and the three standard ones are always open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/xio.h"

#define MOST_ALARMS 100 /* a slow machine that does nothing but take alarms would never read */

static volatile sig_atomic_t alarms;

static void on_alarm(int sig UNUSED)
{
	struct itimerval none = { { 0, 0 }, { 0, 0 } };

	if (++alarms == MOST_ALARMS)
		setitimer(ITIMER_REAL, &none, NULL);
}

/* SIGALRM every 2 ms, without SA_RESTART: blocking calls fail with EINTR. */
static void interrupt_often(void)
{
	const int every_us = 2000;
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { { 0, every_us }, { 0, every_us } };

	alarms = 0;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static int quiet(void **state UNUSED)
{
	struct itimerval timer = { { 0, 0 }, { 0, 0 } };
	return setitimer(ITIMER_REAL, &timer, NULL);
}

static void wait_for_child(pid_t pid, int expected)
{
	int status = 0;
	pid_t got;
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	assert_int_equal(got, pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void nap(void)
{
	struct timespec ts = { 0, 50000000 };
	while (nanosleep(&ts, &ts) != 0)
		;
}

static bool closes_on_exec(int fd)
{
	return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static void a_read_survives_signals(void **state UNUSED)
{
	int fd[2];
	char c = 0;
	assert_int_equal(xpipe(fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		nap();
		_exit(write(fd[1], "x", 1) == 1 ? 0 : 1);
	}
	assert_true(pid > 0);
	interrupt_often();
	assert_int_equal(xread(fd[0], &c, 1), 1);
	quiet(NULL);
	assert_int_equal(c, 'x');
	assert_true(alarms > 0);
	wait_for_child(pid, 0);
	xclose(&fd[0]);
	xclose(&fd[1]);
}

/* In a child: read slowly until the end; 0 when all bytes of the pattern came. */
static int drain_pattern(int fd, size_t total)
{
	static unsigned char chunk[65536];
	size_t at = 0;
	ssize_t got;
	nap();
	while ((got = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < got; i++, at++) {
			if (chunk[i] != (unsigned char)(at % 251))
				return 1;
		}
	}
	return at == total ? 0 : 2;
}

static void write_all_writes_all_through_signals_and_short_writes(void **state UNUSED)
{
	static unsigned char data[2 << 20];
	const size_t total = sizeof(data);
	int fd[2];
	for (size_t i = 0; i < total; i++)
		data[i] = (unsigned char)(i % 251);
	assert_int_equal(xpipe(fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[1]);
		_exit(drain_pattern(fd[0], total));
	}
	assert_true(pid > 0);
	xclose(&fd[0]);
	interrupt_often();
	assert_int_equal(xwrite_all(fd[1], data, total), 0);
	quiet(NULL);
	assert_true(alarms > 0);
	xclose(&fd[1]);
	wait_for_child(pid, 0);
}

static void a_failed_write_says_why(void **state UNUSED)
{
	int fd[2];
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(xpipe(fd), 0);
	xclose(&fd[0]);
	errno = 0;
	assert_int_equal(xwrite_all(fd[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(xwrite(fd[1], "x", 1), -1);
	assert_int_equal(xwrite_all(fd[1], "", 0), 0);
	xclose(&fd[1]);
	int full = xopen("/dev/full", O_WRONLY, 0);
	assert_true(full >= 0);
	assert_int_equal(xwrite_all(full, "x", 1), -1);
	assert_int_equal(errno, ENOSPC);
	xclose(&full);
	errno = 0;
	assert_int_equal(xread(-1, &fd, 1), -1);
	assert_int_equal(errno, EBADF);
}

static void every_descriptor_is_born_close_on_exec(void **state UNUSED)
{
	int pair[2], ends[2];
	int null = xopen("/dev/null", O_RDONLY, 0);
	assert_true(null >= 0);
	assert_int_equal(xpipe(pair), 0);
	assert_int_equal(xsocketpair(ends), 0);
	int copy = xdup_above(null, 50);
	assert_true(copy >= 50);
	const int all[] = { null, pair[0], pair[1], ends[0], ends[1], copy };
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		int fd = all[i];
		assert_true(closes_on_exec(fd));
		xclose(&fd);
	}
}

static void the_socket_pair_speaks_both_ways(void **state UNUSED)
{
	int ends[2];
	char c = 0;
	assert_int_equal(xsocketpair(ends), 0);
	assert_int_equal(xwrite_all(ends[0], "a", 1), 0);
	assert_int_equal(xread(ends[1], &c, 1), 1);
	assert_int_equal(c, 'a');
	assert_int_equal(xwrite_all(ends[1], "b", 1), 0);
	assert_int_equal(xread(ends[0], &c, 1), 1);
	assert_int_equal(c, 'b');
	xclose(&ends[0]);
	assert_int_equal(xread(ends[1], &c, 1), 0);
	xclose(&ends[1]);
}

static void opening_what_is_not_there_fails_with_errno(void **state UNUSED)
{
	assert_int_equal(xopen("/nonexistent/file", O_RDONLY, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(xdup_above(-1, 10), -1);
	assert_int_equal(xnonblock(-1), -1);
}

static void close_forgets_the_descriptor_and_keeps_errno(void **state UNUSED)
{
	int fd = xopen("/dev/null", O_RDONLY, 0), was = fd;
	errno = EXDEV;
	xclose(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(fcntl(was, F_GETFD), -1);
	errno = EXDEV;
	xclose(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, EXDEV);
	fd = was; /* closed already: the failure stays inside */
	xclose(&fd);
	assert_int_equal(errno, EXDEV);
}

static void nonblock_adds_its_flag_and_keeps_the_others(void **state UNUSED)
{
	int fd[2];
	char c;
	assert_int_equal(xpipe(fd), 0);
	int before = fcntl(fd[0], F_GETFL);
	assert_int_equal(xnonblock(fd[0]), 0);
	assert_int_equal(fcntl(fd[0], F_GETFL), before | O_NONBLOCK);
	assert_int_equal(xread(fd[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	xclose(&fd[0]);
	xclose(&fd[1]);
	int append = xopen("/dev/null", O_WRONLY | O_APPEND, 0);
	assert_int_equal(xnonblock(append), 0);
	assert_true((fcntl(append, F_GETFL) & (O_APPEND | O_NONBLOCK)) == (O_APPEND | O_NONBLOCK));
	xclose(&append);
}

/* --- 0, 1 and 2 ---------------------------------------------------------------------- */

static bool is_dev_null(int fd)
{
	struct stat null, st;
	return stat("/dev/null", &null) == 0 && fstat(fd, &st) == 0 && st.st_rdev == null.st_rdev;
}

/* In a child: close those of the mask, ask, look; 0 when all is as it should be. */
static int try_mask(int mask)
{
	struct stat before[3], after;
	for (int fd = 0; fd <= 2; fd++) {
		fstat(fd, &before[fd]);
		if (mask & 1 << fd)
			close(fd);
	}
	if (xopen_standard() != mask)
		return 1;
	for (int fd = 0; fd <= 2; fd++) {
		bool was_closed = (mask & 1 << fd) != 0;
		if (fstat(fd, &after) != 0)
			return 2;
		if (was_closed ? !is_dev_null(fd) || closes_on_exec(fd) : after.st_ino != before[fd].st_ino)
			return 3;
	}
	return xopen_standard() == 0 ? 0 : 4;
}

static void each_combination_of_closed_standard_descriptors_is_reopened(void **state UNUSED)
{
	for (int mask = 0; mask < 8; mask++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(try_mask(mask));
		assert_true(pid > 0);
		wait_for_child(pid, 0);
	}
}

static void a_standard_descriptor_that_can_not_be_opened_is_an_error(void **state UNUSED)
{
	pid_t pid = fork();
	if (pid == 0) {
		struct rlimit limit;
		close(1);
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = 0;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
			_exit(9);
		_exit(xopen_standard() == -1 ? 0 : 1);
	}
	assert_true(pid > 0);
	wait_for_child(pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_read_survives_signals, quiet),
		cmocka_unit_test_teardown(write_all_writes_all_through_signals_and_short_writes, quiet),
		cmocka_unit_test(a_failed_write_says_why),
		cmocka_unit_test(every_descriptor_is_born_close_on_exec),
		cmocka_unit_test(the_socket_pair_speaks_both_ways),
		cmocka_unit_test(opening_what_is_not_there_fails_with_errno),
		cmocka_unit_test(close_forgets_the_descriptor_and_keeps_errno),
		cmocka_unit_test(nonblock_adds_its_flag_and_keeps_the_others),
		cmocka_unit_test(each_combination_of_closed_standard_descriptors_is_reopened),
		cmocka_unit_test(a_standard_descriptor_that_can_not_be_opened_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
