/*
 * test_outlet.c: writing to any descriptor of a caller: nothing blocks, nothing
 * that can be written is lost, and what can't be is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/common/xio.h"
#include "../../src/engine/os.h"
#include "../../src/supervisor/outlet.h"
#include "../../src/supervisor/signals.h"
#include "fork_fixture.h"

#define BIG ((size_t)4 << 20)

static struct outlet o;
static struct buf taken; /* what the reader has */

static int release_all(void **state UNUSED)
{
	outlet_release(&o);
	buf_release(&taken);
	return 0;
}

/* Bytes of which no two stretches are alike. */
static const char *pattern(void)
{
	static uint32_t words[BIG / 4];

	for (uint32_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = i * 2654435761u;
	return (const char *)words;
}

static void read_some(int fd, size_t n)
{
	static char bytes[64 << 10];
	ssize_t got = xread(fd, bytes, MIN_OF(n, sizeof(bytes)));

	if (got > 0)
		buf_add(&taken, bytes, (size_t)got);
}

/* Let both sides go on until everything has arrived. */
static void pump(int fd, size_t total, size_t piece)
{
	for (int i = 0; taken.len < total && i < 1000000; i++) {
		outlet_flush(&o);
		read_some(fd, piece);
	}
	assert_int_equal(taken.len, total);
	assert_false(outlet_waiting(&o));
	assert_int_equal(o.error, 0);
}

static void assert_arrived(const char *bytes, size_t n)
{
	assert_int_equal(taken.len, n);
	assert_true(memcmp(taken.data, bytes, n) == 0);
}

/* --- every kind of descriptor --------------------------------------------------------------- */

static void a_full_pipe_keeps_the_rest_and_gets_it_in_order(void **state UNUSED)
{
	int p[2], flags;

	assert_int_equal(xpipe(p), 0);
	flags = fcntl(p[1], F_GETFL);
	outlet_init(&o, p[1]);
	for (size_t at = 0; at < BIG; at += BIG / 64)
		outlet_write(&o, pattern() + at, BIG / 64, false);
	assert_true(outlet_waiting(&o));
	assert_true(outlet_crowded(&o));
	assert_int_equal(fcntl(p[1], F_GETFL), flags); /* the caller's flags are the caller's */
	pump(p[0], BIG, 50000);
	assert_arrived(pattern(), BIG);
	xclose(&p[0]);
	xclose(&p[1]);
}

static void a_rationed_one_drops_what_is_beyond_it(void **state UNUSED)
{
	int p[2];

	assert_int_equal(xpipe(p), 0);
	outlet_init(&o, p[1]);
	o.most = 10;
	outlet_write(&o, "1234567", 7, true);
	outlet_write(&o, "89abc", 5, false);
	outlet_write(&o, "more", 4, true);
	read_some(p[0], 100);
	assert_arrived("123456789a", 10);
	xclose(&p[0]);
	xclose(&p[1]);
}

/* What is left where the kernel can't be asked not to block at each write. */
static void a_full_pipe_that_had_to_be_opened_anew_gets_the_rest_too(void **state UNUSED)
{
	int p[2];

	assert_int_equal(xpipe(p), 0);
	o = (struct outlet){ .to = { os_reopen_nonblocking(p[1], O_WRONLY), NOWAIT_PRIVATE } };
	assert_true(o.to.fd >= 0);
	outlet_write(&o, pattern(), BIG, false);
	assert_true(outlet_waiting(&o));
	pump(p[0], BIG, 65536);
	assert_arrived(pattern(), BIG);
	xclose(&p[0]);
	xclose(&p[1]);
}

/* Where a descriptor can't be opened anew: small writes, and each only when it
 * is ready. 4 MiB of them must not move the rest 8192 times. */
static void a_descriptor_that_is_not_ours_to_open_is_written_carefully_and_in_linear_time(void **state UNUSED)
{
	clock_t began = clock();
	int p[2];

	assert_int_equal(xpipe(p), 0);
	o = (struct outlet){ .to = { p[1], NOWAIT_CAREFUL } };
	outlet_write(&o, pattern(), BIG, false);
	pump(p[0], BIG, 4096);
	assert_arrived(pattern(), BIG);
	assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
	xclose(&p[0]);
	xclose(&p[1]);
}

static void a_large_text_is_moved_in_and_written_whole(void **state UNUSED)
{
	struct buf text = BUF_INIT;
	int p[2];

	assert_int_equal(xpipe(p), 0);
	outlet_init(&o, p[1]);
	buf_add(&text, pattern(), BIG);
	outlet_give(&o, &text);
	assert_null(text.data);
	pump(p[0], BIG, 65536);
	assert_arrived(pattern(), BIG);
	xclose(&p[0]);
	xclose(&p[1]);
}

static void a_socket_is_written_without_blocking(void **state UNUSED)
{
	int s[2];

	assert_int_equal(xsocketpair(s), 0);
	outlet_init(&o, s[1]);
	assert_int_equal(o.to.kind, NOWAIT_SOCKET);
	outlet_write(&o, pattern(), BIG, false);
	assert_true(outlet_waiting(&o));
	pump(s[0], BIG, 65536);
	assert_arrived(pattern(), BIG);
	assert_false(fcntl(s[1], F_GETFL) & O_NONBLOCK);
	xclose(&s[0]);
	xclose(&s[1]);
}

static void a_regular_file_is_written_where_its_offset_is(void **state UNUSED)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	assert_int_equal(write(fileno(f), "before ", 7), 7);
	outlet_init(&o, fileno(f));
	assert_int_equal(o.to.kind, NOWAIT_PLAIN);
	outlet_write(&o, "after", 5, false);
	assert_int_equal(lseek(fileno(f), 0, SEEK_SET), 0);
	read_some(fileno(f), 100);
	assert_arrived("before after", 12);
	fclose(f);
}

static void a_terminal_is_written_without_touching_its_flags(void **state UNUSED)
{
	int master, slave, flags;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	flags = fcntl(slave, F_GETFL);
	outlet_init(&o, slave);
	outlet_write(&o, "hello\n", 6, false);
	assert_int_not_equal(o.to.kind, NOWAIT_PLAIN);
	outlet_drain(&o, mono_add_ms(mono_now(), 5000));
	read_some(master, 100);
	assert_arrived("hello\r\n", 7);
	assert_int_equal(fcntl(slave, F_GETFL), flags);
	close(master);
	close(slave);
}

/* --- what fails -------------------------------------------------------------------------------- */

static void assert_fails(int fd, int error)
{
	outlet_init(&o, fd);
	outlet_write(&o, "x", 1, false);
	assert_int_equal(o.error, error);
	assert_false(outlet_waiting(&o));
	assert_false(outlet_crowded(&o));
	outlet_write(&o, "y", 1, true);
	assert_int_equal(o.backlog.len, 0);
	assert_int_equal(outlet_drain(&o, MONO_NEVER), -1);
	outlet_release(&o);
}

static void every_failed_write_is_remembered_and_reported_again(void **state UNUSED)
{
	int full = xopen("/dev/full", O_WRONLY, 0), readonly = xopen("/proc/self/exe", O_RDONLY, 0);
	int p[2], s[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(xpipe(p), 0);
	assert_int_equal(xsocketpair(s), 0);
	xclose(&p[0]);
	xclose(&s[0]);
	assert_fails(-1, EBADF);
	assert_fails(9999, EBADF);
	assert_fails(full, ENOSPC);
	assert_fails(p[1], EPIPE);
	assert_fails(s[1], EPIPE);
	assert_fails(readonly, EBADF);
	xclose(&full);
	xclose(&readonly);
	xclose(&p[1]);
	xclose(&s[1]);
}

static void a_reader_that_leaves_in_the_middle_ends_it(void **state UNUSED)
{
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(xpipe(p), 0);
	outlet_init(&o, p[1]);
	outlet_write(&o, pattern(), BIG, false);
	assert_true(outlet_waiting(&o));
	xclose(&p[0]);
	assert_int_equal(outlet_drain(&o, MONO_NEVER), -1);
	assert_int_equal(o.error, EPIPE);
	xclose(&p[1]);
}

/* --- bounds ------------------------------------------------------------------------------------ */

static void a_limited_backlog_drops_what_is_too_much_and_stays_a_prefix(void **state UNUSED)
{
	size_t kept;
	int p[2];

	assert_int_equal(xpipe(p), 0);
	outlet_init(&o, p[1]);
	for (size_t at = 0; at < BIG; at += 65536)
		outlet_write(&o, pattern() + at, 65536, true);
	kept = o.backlog.len - o.sent;
	assert_true(kept <= OUTLET_BACKLOG_MAX);
	assert_true(o.backlog.cap <= 4 * OUTLET_BACKLOG_MAX);
	for (int i = 0; outlet_waiting(&o) && i < 1000; i++) {
		read_some(p[0], 65536);
		outlet_flush(&o);
	}
	xnonblock(p[0]);
	for (int i = 0; i < 64; i++)
		read_some(p[0], 65536);
	assert_true(taken.len >= kept);
	assert_true(memcmp(taken.data, pattern(), taken.len) == 0);
	xclose(&p[0]);
	xclose(&p[1]);
}

static void draining_ends_at_its_deadline(void **state UNUSED)
{
	mono_t began = mono_now();
	int p[2];

	assert_int_equal(xpipe(p), 0);
	outlet_init(&o, p[1]);
	outlet_write(&o, pattern(), BIG, false);
	assert_int_equal(outlet_drain(&o, mono_add_ms(began, 50)), -1);
	assert_in_range(mono_elapsed_ms(began, mono_now()), 50, 20000);
	assert_int_equal(o.error, 0);
	xclose(&p[0]);
	xclose(&p[1]);
}

/* An earlier signal does not concern this write; a new one ends it. */
static void drain_between_signals(void)
{
	pid_t reader;
	int p[2];

	CHECK(xpipe(p) == 0);
	signal(SIGINT, SIG_DFL);
	signals_init();
	raise(SIGINT);
	poll(NULL, 0, 350);
	raise(SIGINT);
	ppoll(NULL, 0, &(struct timespec){ 0, 0 }, signals_open_mask());
	CHECK(signals_cancelled() == SIGINT);
	reader = fork();
	if (reader == 0) {
		poll(NULL, 0, 50);
		for (size_t n = 0; n < BIG && taken.len < BIG; n = taken.len)
			read_some(p[0], 65536);
		_exit(taken.len == BIG ? 0 : 1);
	}
	outlet_init(&o, p[1]);
	outlet_write(&o, pattern(), BIG, false);
	CHECK(outlet_drain(&o, MONO_NEVER) == 0);
	CHECK(wait_for(reader) == 0);
	outlet_write(&o, pattern(), BIG, false);
	raise(SIGTERM);
	poll(NULL, 0, 350);
	CHECK(outlet_drain(&o, mono_add_ms(mono_now(), WAIT_LIMIT_MS)) == -1);
	CHECK(o.error == 0);
	outlet_release(&o);
}

static void only_a_signal_that_is_newer_ends_draining(void **state UNUSED)
{
	run_forked(drain_between_signals);
}

#define TEST(f) cmocka_unit_test_teardown(f, release_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_pipe_keeps_the_rest_and_gets_it_in_order),
		TEST(a_rationed_one_drops_what_is_beyond_it),
		TEST(a_full_pipe_that_had_to_be_opened_anew_gets_the_rest_too),
		TEST(a_descriptor_that_is_not_ours_to_open_is_written_carefully_and_in_linear_time),
		TEST(a_large_text_is_moved_in_and_written_whole),
		TEST(a_socket_is_written_without_blocking),
		TEST(a_regular_file_is_written_where_its_offset_is),
		TEST(a_terminal_is_written_without_touching_its_flags),
		TEST(every_failed_write_is_remembered_and_reported_again),
		TEST(a_reader_that_leaves_in_the_middle_ends_it),
		TEST(a_limited_backlog_drops_what_is_too_much_and_stays_a_prefix),
		TEST(draining_ends_at_its_deadline),
		TEST(only_a_signal_that_is_newer_ends_draining),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
