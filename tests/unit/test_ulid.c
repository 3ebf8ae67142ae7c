/*
 * test_ulid.c: the names of runs: sortable, unambiguous, and exact to the bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/ulid.h"

static const uint8_t zeros[10];
static const uint8_t ones[10] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };

static void the_first_and_the_last_name_are_those_of_the_spec(void **state UNUSED)
{
	char out[ULID_LENGTH + 1];

	ulid_format(0, zeros, out);
	assert_string_equal(out, "00000000000000000000000000");
	ulid_format((UINT64_C(1) << 48) - 1, ones, out);
	assert_string_equal(out, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
}

static void time_and_randomness_are_where_the_spec_puts_them(void **state UNUSED)
{
	static const uint8_t random[10] = { 0xd6, 0x76, 0x4c, 0x61, 0xef, 0xb9, 0x93, 0x02, 0xbd, 0x5b };
	char out[ULID_LENGTH + 1];

	ulid_format(1469918176385, zeros, out);
	assert_memory_equal(out, "01ARYZ6S41", 10);
	ulid_format(1469922850259, random, out);
	assert_string_equal(out, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
}

static void every_bit_changes_the_name(void **state UNUSED)
{
	char base[ULID_LENGTH + 1], out[ULID_LENGTH + 1];

	ulid_format(0, zeros, base);
	for (int bit = 0; bit < 80; bit++) {
		uint8_t random[10] = { 0 };

		random[bit / 8] = (uint8_t)(1 << bit % 8);
		ulid_format(0, random, out);
		assert_string_not_equal(out, base);
		assert_memory_equal(out, base, 10);
	}
	for (int bit = 0; bit < 48; bit++) {
		ulid_format(UINT64_C(1) << bit, zeros, out);
		assert_string_not_equal(out, base);
		assert_memory_equal(out + 10, base + 10, 16);
	}
}

static void a_later_run_sorts_after_an_earlier_one(void **state UNUSED)
{
	char before[ULID_LENGTH + 1], after[ULID_LENGTH + 1];

	for (uint64_t ms = 1; ms < UINT64_C(1) << 47; ms = ms * 3 + 1) {
		ulid_format(ms, ones, before);
		ulid_format(ms + 1, zeros, after);
		assert_true(strcmp(before, after) < 0);
		assert_int_equal(strspn(after, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), ULID_LENGTH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_and_the_last_name_are_those_of_the_spec),
		cmocka_unit_test(time_and_randomness_are_where_the_spec_puts_them),
		cmocka_unit_test(every_bit_changes_the_name),
		cmocka_unit_test(a_later_run_sorts_after_an_earlier_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
