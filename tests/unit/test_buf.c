/*
 * test_buf.c: the buffer keeps its invariants however it grows, shrinks or
 * runs out of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/buf.h"

/* Let a sanitizer build answer an absurd size as malloc does: with NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

#define TOO_MUCH (SIZE_MAX / 4)

static void check_invariants(const struct buf *b)
{
	if (b->data == NULL) {
		assert_int_equal(b->len, 0);
		assert_int_equal(b->cap, 0);
		return;
	}
	assert_true(b->len < b->cap);
	assert_int_equal(b->data[b->len], '\0');
}

static void an_unused_buf_is_an_empty_string_and_may_be_released(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add(&b, NULL, 0);
	buf_add_str(&b, "");
	buf_add_fmt(&b, "%s", "");
	buf_consume(&b, 0);
	buf_clear(&b);
	assert_string_equal(buf_cstr(&b), "");
	assert_null(b.data);
	buf_release(&b);
	buf_release(&b);
}

static void every_way_of_adding_appends_at_the_end(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_str(&b, "one");
	buf_add_char(&b, ' ');
	buf_add(&b, "t\0o", 3);
	buf_add_fmt(&b, " %d%s", 3, "!");
	check_invariants(&b);
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "one t\0o 3!", 11);
	assert_false(b.failed);
	buf_release(&b);
}

static void growing_byte_by_byte_loses_nothing(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	for (int i = 0; i < 5000; i++) {
		buf_add_char(&b, (char)i);
		check_invariants(&b);
	}
	assert_int_equal(b.len, 5000);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(b.data[i], (char)i);
	buf_release(&b);
}

static void a_format_longer_than_the_buffer_comes_whole(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_fmt(&b, "<%*s>", 10000, "x");
	check_invariants(&b);
	assert_int_equal(b.len, 10002);
	assert_string_equal(b.data + 9999, " x>");
	buf_release(&b);
}

static void reserve_makes_room_for_what_was_asked(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_str(&b, "abc");
	assert_int_equal(buf_reserve(&b, 1000), 0);
	char *before = b.data;
	assert_true(b.cap > 1003);
	memset(b.data + b.len, 'x', 1000);
	b.data[b.len] = '\0';
	for (int i = 0; i < 1000; i++)
		buf_add_char(&b, 'y');
	assert_ptr_equal(b.data, before);
	check_invariants(&b);
	buf_release(&b);
}

static void consume_keeps_the_rest_in_order(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_str(&b, "abcdef");
	buf_consume(&b, 0);
	assert_string_equal(b.data, "abcdef");
	buf_consume(&b, 2);
	assert_string_equal(b.data, "cdef");
	check_invariants(&b);
	buf_consume(&b, 4);
	assert_string_equal(b.data, "");
	check_invariants(&b);
	buf_add_str(&b, "again");
	assert_string_equal(b.data, "again");
	buf_release(&b);
}

static void clear_keeps_the_memory_and_release_gives_it_back(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_fmt(&b, "%0500d", 1);
	size_t cap = b.cap;
	buf_clear(&b);
	assert_int_equal(b.len, 0);
	assert_int_equal(b.cap, cap);
	check_invariants(&b);
	buf_release(&b);
	assert_null(b.data);
	buf_add_str(&b, "reused");
	assert_string_equal(buf_cstr(&b), "reused");
	buf_release(&b);
}

static void a_lost_append_is_dropped_whole_and_sticks_until_clear(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_str(&b, "kept");
	buf_add(&b, "x", TOO_MUCH);
	assert_true(b.failed);
	assert_string_equal(b.data, "kept");
	buf_add_str(&b, "later");
	buf_add_fmt(&b, "%d", 1);
	assert_string_equal(b.data, "kept");
	check_invariants(&b);
	buf_clear(&b);
	buf_add_str(&b, "new");
	assert_false(b.failed);
	assert_string_equal(b.data, "new");
	buf_release(&b);
}

/* What the two hold, behind each other, in whichever memory. */
static void check_given(size_t n, size_t given)
{
	struct buf b = BUF_INIT, from = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_add_char(&b, (char)('a' + i % 26));
	for (size_t i = 0; i < given; i++)
		buf_add_char(&from, (char)('A' + i % 26));
	buf_give(&b, &from);
	check_invariants(&b);
	assert_int_equal(b.len, n + given);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(b.data[i], i < n ? 'a' + i % 26 : 'A' + (i - n) % 26);
	assert_true(from.data == NULL && from.len == 0 && from.cap == 0 && !from.failed);
	buf_release(&b);
}

static void bytes_that_are_given_follow_those_that_are_there(void **state UNUSED)
{
	static const size_t sizes[] = { 0, 1, 5, 63, 64, 1000, 1001 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
			check_given(sizes[i], sizes[k]);
}

static void what_was_lost_before_it_was_given_stays_lost(void **state UNUSED)
{
	for (int to = 0; to <= 1; to++)
		for (size_t n = 0; n < 10; n += 9) {
			struct buf b = BUF_INIT, from = BUF_INIT;

			buf_add(&b, "abc", 3);
			buf_add(&from, "123456789", n);
			(to ? &b : &from)->failed = true;
			buf_give(&b, &from);
			assert_true(b.failed && !from.failed && from.data == NULL);
			assert_memory_equal(b.data, "abc", 3);
			buf_release(&b);
		}
}

static void sizes_that_would_overflow_are_out_of_memory(void **state UNUSED)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 4, SIZE_MAX / 2, TOO_MUCH };
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		assert_int_equal(buf_reserve(&b, sizes[i]), -1);
		buf_add_str(&b, "ab");
		check_invariants(&b);
		assert_false(b.failed);
	}
	assert_string_equal(b.data, "ababababab");
	buf_release(&b);
}

static void the_text_of_a_whole_number_is_printfs(void **state UNUSED)
{
	const int64_t numbers[] = { 0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN };
	char out[INT_TEXT], expected[INT_TEXT];

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		snprintf(expected, sizeof(expected), "%lld", (long long)numbers[i]);
		assert_string_equal(int_text(numbers[i], out), expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unused_buf_is_an_empty_string_and_may_be_released),
		cmocka_unit_test(every_way_of_adding_appends_at_the_end),
		cmocka_unit_test(growing_byte_by_byte_loses_nothing),
		cmocka_unit_test(a_format_longer_than_the_buffer_comes_whole),
		cmocka_unit_test(reserve_makes_room_for_what_was_asked),
		cmocka_unit_test(consume_keeps_the_rest_in_order),
		cmocka_unit_test(clear_keeps_the_memory_and_release_gives_it_back),
		cmocka_unit_test(a_lost_append_is_dropped_whole_and_sticks_until_clear),
		cmocka_unit_test(bytes_that_are_given_follow_those_that_are_there),
		cmocka_unit_test(what_was_lost_before_it_was_given_stays_lost),
		cmocka_unit_test(sizes_that_would_overflow_are_out_of_memory),
		cmocka_unit_test(the_text_of_a_whole_number_is_printfs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
