/* test_libc_copy.c: memcpy, memmove and memcmp of the static build (src/libc), against loops of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __x86_64__
void *own_memcpy(void *restrict to, const void *restrict from, size_t n);
void *own_memmove(void *to, const void *from, size_t n);
int own_memcmp(const void *left, const void *right, size_t n);
#define memcpy own_memcpy
#define memmove own_memmove
#define memcmp own_memcmp
#include "../../src/libc/copy.c"
#undef memcpy
#undef memmove
#undef memcmp

#define ALIGNMENTS 32
#define SMALL 300
#define LARGE ((1 << 20) + 256)
#define MARGIN 64

static const size_t large[] = { 301, 1023, 1024, 1025, 4095, 4096, 4097, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1 };

/* `n` bytes, rounded up to pages, between two pages that nobody may touch. */
static unsigned char *guarded(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n + page - 1) & ~(page - 1);
	unsigned char *at = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + page, room, PROT_READ | PROT_WRITE), 0);
	return at + page;
}

static size_t guarded_bytes(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) & ~(page - 1);
}

/* Bytes that tell where they come from. */
static void fill(unsigned char *at, size_t n, unsigned seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		at[i] = (unsigned char)(x >> 24);
	}
}

/* As memmove(3), a byte at a time. */
static void slowly(unsigned char *to, const unsigned char *from, size_t n)
{
	volatile unsigned char *out = to;

	if (to < from)
		for (size_t i = 0; i < n; i++)
			out[i] = from[i];
	else
		for (size_t i = n; i > 0; i--)
			out[i - 1] = from[i - 1];
}

static unsigned char *from_page, *to_page, *expected;
static size_t room;

static int set_up(void **unused)
{
	(void)unused;
	room = guarded_bytes(LARGE);
	from_page = guarded(LARGE);
	to_page = guarded(LARGE);
	expected = guarded(LARGE);
	return 0;
}

/* memcpy from one place to another; MARGIN bytes at both sides stay what they were, where there are any. */
static void check_copy(size_t to_at, size_t from_at, size_t n)
{
	size_t begin = to_at < MARGIN ? 0 : to_at - MARGIN, end = to_at + n + MARGIN > room ? room : to_at + n + MARGIN;

	fill(to_page + begin, end - begin, 7);
	memcpy(expected + begin, to_page + begin, end - begin);
	slowly(expected + to_at, from_page + from_at, n);
	assert_ptr_equal(own_memcpy(to_page + to_at, from_page + from_at, n), to_page + to_at);
	if (memcmp(expected + begin, to_page + begin, end - begin) != 0)
		fail_msg("memcpy of %zu bytes from %zu to %zu", n, from_at, to_at);
}

static void test_copies(void **unused)
{
	(void)unused;
	fill(from_page, room, 1);
	for (size_t n = 0; n <= SMALL; n++)
		for (size_t to = 0; to < ALIGNMENTS; to++)
			for (size_t from = 0; from < ALIGNMENTS; from += n % 3 + 1)
				check_copy(MARGIN + to, from, n);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		for (size_t to = 0; to < ALIGNMENTS; to += large[i] > 65536 ? 7 : 1)
			for (size_t from = 0; from < ALIGNMENTS; from += large[i] > 4097 ? 9 : 1)
				check_copy(MARGIN + to, from, large[i]);
}

/* The guard pages end a test that reads or writes one byte too many. */
static void test_at_the_edges(void **unused)
{
	(void)unused;
	fill(from_page, room, 2);
	for (size_t n = 0; n <= SMALL; n++) {
		check_copy(0, 0, n);
		check_copy(room - n, room - n, n);
		check_copy(0, room - n, n);
		check_copy(room - n, 0, n);
		slowly(to_page + room - n, from_page + room - n, n);
		assert_int_equal(own_memcmp(to_page + room - n, from_page + room - n, n), 0);
		slowly(to_page, from_page, n);
		assert_int_equal(own_memcmp(to_page, from_page, n), 0);
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
		check_copy(room - large[i], 0, large[i]);
		check_copy(0, room - large[i], large[i]);
	}
}

/* memmove within one place: `by` bytes up or down. */
static void check_move(size_t at, size_t n, long by)
{
	size_t to = (size_t)((long)at + by), low = to < at ? to : at, all = n + (size_t)(by < 0 ? -by : by);

	fill(to_page + low - MARGIN, all + 2 * MARGIN, 3);
	memcpy(expected + low - MARGIN, to_page + low - MARGIN, all + 2 * MARGIN);
	slowly(expected + to, expected + at, n);
	assert_ptr_equal(own_memmove(to_page + to, to_page + at, n), to_page + to);
	if (memcmp(expected + low - MARGIN, to_page + low - MARGIN, all + 2 * MARGIN) != 0)
		fail_msg("memmove of %zu bytes from %zu by %ld", n, at, by);
}

static void test_overlaps(void **unused)
{
	(void)unused;
	for (size_t n = 0; n <= SMALL; n++)
		for (long by = -(long)n - 2; by <= (long)n + 2; by += n > 100 ? 3 : 1)
			for (size_t at = 0; at < ALIGNMENTS; at += n > 100 ? 5 : 3)
				check_move(512 + at, n, by);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		for (long by = -67; by <= 67; by += large[i] > 65536 ? 22 : 1)
			check_move(512 + i, large[i] > 65536 ? large[i] - 2048 : large[i], by);
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

static void test_comparisons(void **unused)
{
	unsigned char *a = from_page + 64, *b = to_page + 64;

	(void)unused;
	for (size_t n = 1; n <= SMALL; n++)
		for (size_t at = 0; at < 8; at++) {
			fill(a, n, 5);
			slowly(b + at, a, n);
			b[at + n] = (unsigned char)(a[n] + 1); /* behind the end: it doesn't count */
			assert_int_equal(own_memcmp(a, b + at, n), 0);
			for (size_t i = 0; i < n; i++) {
				unsigned char was = a[i];

				/* the first difference decides, as unsigned bytes; a later one doesn't */
				a[n - 1] ^= 0x80;
				a[i] = (unsigned char)(was + 0x81);
				assert_int_equal(sign(own_memcmp(a, b + at, n)), a[i] > b[at + i] ? 1 : -1);
				assert_int_equal(sign(own_memcmp(b + at, a, n)), a[i] > b[at + i] ? -1 : 1);
				a[i] = was;
				a[n - 1] = b[at + n - 1];
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_at_the_edges),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_comparisons),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
#else
int main(void)
{
	return puts("1..0 # SKIP other processors have musl's own") < 0;
}
#endif
