/*
 * test_tap.c: head-and-tail capture against the plain way of doing it: keep
 * everything, cut at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../../src/engine/tap.h"
#include "needs.h"

/* Let a sanitizer build answer an absurd size as malloc does: with NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static char *text_of(const struct tap *t)
{
	struct buf out = BUF_INIT;

	buf_add_str(&out, "");
	tap_text(t, &out);
	assert_false(out.failed);
	return out.data != NULL ? out.data : calloc(1, 1);
}

static void check_text(const struct tap *t, const char *want)
{
	char *got = text_of(t);

	assert_string_equal(got, want);
	free(got);
}

static void feed(struct tap *t, const char *s)
{
	tap_feed(t, s, strlen(s));
}

/* --- the model ------------------------------------------------------------------- */

static char *model_text(const char *all, size_t n, size_t cap)
{
	size_t head = cap - cap / 2, tail = cap / 2;
	char *out = malloc(n + 64);
	int at;

	assert_non_null(out);
	if (n <= cap) {
		memcpy(out, all, n);
		out[n] = '\0';
		return out;
	}
	memcpy(out, all, head);
	at = sprintf(out + head, "\n[… %zu bytes omitted …]\n", n - cap);
	memcpy(out + head + at, all + n - tail, tail);
	out[head + (size_t)at + tail] = '\0';
	return out;
}

static void check_against_model(size_t cap, size_t n, unsigned *seed)
{
	struct tap t;
	char *all = malloc(n + 1), *want, *got;

	assert_non_null(all);
	for (size_t i = 0; i < n; i++)
		all[i] = (char)('a' + rand_r(seed) % 26);
	tap_init(&t, cap);
	for (size_t at = 0, step; at < n; at += step) {
		step = (size_t)rand_r(seed) % (at % 4 ? 5 : 60);
		step = MIN_OF(step, n - at);
		tap_feed(&t, all + at, step);
	}
	want = model_text(all, n, cap);
	got = text_of(&t);
	assert_string_equal(got, want);
	assert_int_equal(t.total, n);
	assert_int_equal(tap_dropped(&t), n > cap ? n - cap : 0);
	assert_false(t.failed);
	tap_release(&t);
	free(all);
	free(want);
	free(got);
}

static void any_stream_in_any_pieces_keeps_its_head_and_its_tail(void **state UNUSED)
{
	unsigned seed = 1;

	for (size_t cap = 0; cap <= 34; cap++)
		for (size_t n = 0; n <= 120; n++)
			check_against_model(cap, n, &seed);
}

/* --- spelled out ----------------------------------------------------------------- */

static void what_fits_comes_back_whole_and_without_a_mark(void **state UNUSED)
{
	struct tap t;

	tap_init(&t, 10);
	check_text(&t, "");
	feed(&t, "12345");
	feed(&t, "67890");
	check_text(&t, "1234567890");
	assert_int_equal(tap_dropped(&t), 0);
	tap_release(&t);
}

static void the_gap_says_how_many_bytes_are_missing(void **state UNUSED)
{
	struct tap t;

	tap_init(&t, 10);
	feed(&t, "head.");
	for (int i = 0; i < 1000; i++)
		feed(&t, "noise");
	feed(&t, ".tail");
	check_text(&t, "head.\n[… 5000 bytes omitted …]\n.tail");
	tap_release(&t);
}

static void cap_zero_keeps_nothing_and_counts_all(void **state UNUSED)
{
	struct tap t;

	tap_init(&t, 0);
	check_text(&t, "");
	feed(&t, "anything");
	assert_int_equal(t.total, 8);
	check_text(&t, "\n[… 8 bytes omitted …]\n");
	tap_release(&t);
}

static void bytes_are_bytes_and_nul_is_one_of_them(void **state UNUSED)
{
	struct tap t;
	struct buf out = BUF_INIT;

	tap_init(&t, 8);
	tap_feed(&t, "\0\1\2\3\4\5\6\7", 8);
	tap_text(&t, &out);
	assert_int_equal(out.len, 8);
	assert_memory_equal(out.data, "\0\1\2\3\4\5\6\7", 8);
	buf_release(&out);
	tap_release(&t);
}

static void memory_stays_bounded_whatever_comes(void **state UNUSED)
{
	static char chunk[65536];
	struct tap t;

	memset(chunk, 'x', sizeof(chunk));
	tap_init(&t, 4096);
	for (int i = 0; i < 500; i++)
		tap_feed(&t, chunk, sizeof(chunk));
	assert_int_equal(t.head.len, 2048);
	assert_int_equal(t.ring.len, 2048);
	assert_true(t.head.cap <= 4096 + 64 && t.ring.cap <= 4096 + 64);
	assert_int_equal(tap_dropped(&t), 500 * sizeof(chunk) - 4096);
	tap_release(&t);
}

static void a_released_tap_may_be_fed_and_released_again(void **state UNUSED)
{
	struct tap t;

	tap_init(&t, 4);
	feed(&t, "abcdef");
	tap_release(&t);
	assert_int_equal(t.total, 0);
	feed(&t, "x");
	assert_int_equal(tap_dropped(&t), 1);
	tap_release(&t);
}

/* --- out of memory --------------------------------------------------------------- */

/* More readable bytes than can be allocated beside them: half of what a
 * process can address, backed by nothing. NULL where there is less room. */
static char *endless_zeros(size_t *size)
{
	char *at = MAP_FAILED;

	for (*size = (size_t)3 << 45; at == MAP_FAILED && *size >= (size_t)2 << 40; *size /= 2)
		at = mmap(NULL, *size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*size *= 2;
	return at == MAP_FAILED ? NULL : at;
}

static void out_of_memory_keeps_a_true_head_and_a_true_tail(void **state UNUSED)
{
	size_t size;
	char *zeros = endless_zeros(&size);
	struct tap t;
	struct buf out = BUF_INIT;

	if (zeros == NULL)
		NEEDS("to run without a sanitizer, valgrind or qemu");
	tap_init(&t, SIZE_MAX / 2);
	t.head_cap = 4;
	feed(&t, "headring");
	tap_feed(&t, zeros, size);
	assert_true(t.failed);
	assert_int_equal(tap_dropped(&t), size); /* "ring" went, four zeros stay */
	feed(&t, "ab");
	tap_text(&t, &out);
	assert_memory_equal(out.data, "head\n[…", 9);
	assert_memory_equal(out.data + out.len - 5, "\n\0\0ab", 5);
	buf_release(&out);
	tap_release(&t);
	munmap(zeros, size);
}

static void out_of_memory_at_the_head_continues_with_the_tail(void **state UNUSED)
{
	size_t size;
	char *zeros = endless_zeros(&size);
	struct tap t;

	if (zeros == NULL)
		NEEDS("to run without a sanitizer, valgrind or qemu");
	tap_init(&t, SIZE_MAX / 2);
	t.tail_cap = 4;
	feed(&t, "abc");
	tap_feed(&t, zeros, size);
	feed(&t, "the end");
	assert_true(t.failed);
	assert_int_equal(t.head.len, 3);
	assert_int_equal(t.ring.len, 4);
	assert_int_equal(tap_dropped(&t), size + 3);
	tap_release(&t);
	munmap(zeros, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_stream_in_any_pieces_keeps_its_head_and_its_tail),
		cmocka_unit_test(what_fits_comes_back_whole_and_without_a_mark),
		cmocka_unit_test(the_gap_says_how_many_bytes_are_missing),
		cmocka_unit_test(cap_zero_keeps_nothing_and_counts_all),
		cmocka_unit_test(bytes_are_bytes_and_nul_is_one_of_them),
		cmocka_unit_test(memory_stays_bounded_whatever_comes),
		cmocka_unit_test(a_released_tap_may_be_fed_and_released_again),
		cmocka_unit_test(out_of_memory_keeps_a_true_head_and_a_true_tail),
		cmocka_unit_test(out_of_memory_at_the_head_continues_with_the_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
