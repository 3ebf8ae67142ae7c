/*
 * test_nowait.c: reads and writes that never block, on every kind of descriptor, and what each
 * says where there is nothing to read or no room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/xio.h"
#include "../../src/engine/nowait.h"
#include "fork_fixture.h"

static struct nowait f;
static char bytes[64 << 10];

static enum nowait_kind opened(int fd)
{
	nowait_release(&f);
	assert_int_equal(nowait_init(&f, fd), 0);
	return f.kind;
}

static void assert_fails(ssize_t moved, int error)
{
	assert_int_equal(errno, error);
	assert_int_equal(moved, -1);
}

/* Nothing is moved and nothing blocks where there is nothing to read, then what is there is read, to its end. */
static void check_reads(int from, int to)
{
	errno = 0;
	assert_fails(nowait_read(&f, bytes, sizeof(bytes)), EAGAIN);
	assert_int_equal(xwrite(to, "abc", 3), 3);
	assert_int_equal(nowait_read(&f, bytes, 2), 2);
	assert_memory_equal(bytes, "ab", 2);
	assert_int_equal(nowait_read(&f, bytes, sizeof(bytes)), 1);
	assert_int_equal(bytes[0], 'c');
	assert_int_equal(fcntl(from, F_GETFL) & O_NONBLOCK, 0); /* the description is others', too */
	close(to);
	assert_int_equal(nowait_read(&f, bytes, sizeof(bytes)), 0);
}

/* Until there is no room, which is no error and blocks nobody. */
static void check_writes(int from, int to)
{
	ssize_t n;
	int rounds = 0, waiting = 0;

	assert_int_equal(nowait_write(&f, "abc", 3), 3);
	assert_int_equal(ioctl(from, FIONREAD, &waiting), 0);
	assert_int_equal(waiting, 3); /* once */
	errno = 0;
	while ((n = nowait_write(&f, bytes, sizeof(bytes))) > 0)
		assert_true(++rounds < 10000);
	assert_fails(n, EAGAIN);
	assert_int_equal(fcntl(to, F_GETFL) & O_NONBLOCK, 0);
}

static void without_a_descriptor_each_call_says_so(void **state UNUSED)
{
	int closed = dup(2);

	close(closed);
	assert_fails(nowait_init(&f, closed), EBADF);
	errno = 0;
	assert_fails(nowait_init(&f, -1), EBADF);
	errno = 0;
	assert_fails(nowait_read(&f, bytes, 1), EBADF);
	errno = 0;
	assert_fails(nowait_write(&f, bytes, 1), EBADF);
	nowait_release(&f);
}

static void a_pipe_is_read_and_written(void **state UNUSED)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(opened(p[0]), NOWAIT_SHARED);
	check_reads(p[0], p[1]);
	close(p[0]);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(opened(p[1]), NOWAIT_SHARED);
	check_writes(p[0], p[1]);
	close(p[0]), close(p[1]);
}

static void a_socket_is_read_and_written_without_a_signal(void **state UNUSED)
{
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(opened(s[1]), NOWAIT_SOCKET);
	check_writes(s[0], s[1]);
	close(s[0]);
	assert_fails(nowait_write(&f, bytes, 1), EPIPE);
	close(s[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(opened(s[0]), NOWAIT_SOCKET);
	check_reads(s[0], s[1]);
	close(s[0]);
}

static void a_file_is_read_and_written(void **state UNUSED)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(opened(fd), NOWAIT_PLAIN);
	assert_int_equal(nowait_write(&f, "abc", 3), 3);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(nowait_read(&f, bytes, sizeof(bytes)), 3);
	assert_int_equal(nowait_read(&f, bytes, sizeof(bytes)), 0);
	close(fd);
}

/* As where a pipe can't be opened once more: it is looked at first, and little is moved at once. */
static void carefully_a_pipe_is_read_and_written_too(void **state UNUSED)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	opened(p[0]), f.kind = NOWAIT_CAREFUL;
	check_reads(p[0], p[1]);
	close(p[0]);
	assert_int_equal(pipe(p), 0);
	opened(p[1]), f.kind = NOWAIT_CAREFUL;
	assert_int_equal(nowait_write(&f, bytes, sizeof(bytes)), 512);
	assert_int_equal(xread(p[0], bytes, sizeof(bytes)), 512);
	check_writes(p[0], p[1]);
	close(p[0]), close(p[1]);
}

/* 0 is a descriptor like any other. */
static void scenario_zero(void)
{
	int p[2];

	CHECK(pipe(p) == 0 && dup2(p[0], 0) == 0);
	CHECK(nowait_init(&f, 0) == 0 && f.kind == NOWAIT_SHARED);
	CHECK(xwrite(p[1], "x", 1) == 1 && nowait_read(&f, bytes, sizeof(bytes)) == 1);
	nowait_release(&f);
	CHECK(dup2(p[1], 0) == 0 && nowait_init(&f, 0) == 0);
	CHECK(nowait_write(&f, "y", 1) == 1 && xread(p[0], bytes, 1) == 1 && bytes[0] == 'y');
}

static void descriptor_0_is_read_and_written(void **state UNUSED)
{
	run_forked(scenario_zero);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void what_it_opened_it_closes_and_nothing_else(void **state UNUSED)
{
	int p[2], before;

	nowait_release(&f);
	assert_int_equal(pipe(p), 0);
	before = count_descriptors();
	assert_int_equal(opened(p[0]), NOWAIT_SHARED);
	errno = 0;
	assert_fails(nowait_read(&f, bytes, 1), EAGAIN);
	assert_true(f.kind == NOWAIT_CAREFUL || count_descriptors() == before + 1);
	nowait_release(&f);
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(xwrite(p[1], "x", 1), 1);
	close(p[0]), close(p[1]);
	f = (struct nowait){ .fd = -1 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_descriptor_each_call_says_so),
		cmocka_unit_test(a_pipe_is_read_and_written),
		cmocka_unit_test(a_socket_is_read_and_written_without_a_signal),
		cmocka_unit_test(a_file_is_read_and_written),
		cmocka_unit_test(carefully_a_pipe_is_read_and_written_too),
		cmocka_unit_test(descriptor_0_is_read_and_written),
		cmocka_unit_test(what_it_opened_it_closes_and_nothing_else),
	};

	signal(SIGPIPE, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
