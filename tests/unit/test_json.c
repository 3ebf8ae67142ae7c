/*
 * test_json.c: the writer puts commas where they belong and numbers that read
 * back, whatever the locale.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/decimal.h"
#include "../../src/common/json.h"
#include "needs.h"

static void commas_stand_between_values_and_nowhere_else(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&b);
	json_begin_object(&w);
	json_key(&w, "empty");
	json_begin_object(&w);
	json_end_object(&w);
	json_key(&w, "list");
	json_begin_array(&w);
	json_begin_array(&w);
	json_end_array(&w);
	json_int(&w, 1);
	json_bool(&w, true);
	json_bool(&w, false);
	json_write_null(&w);
	json_begin_object(&w);
	json_key(&w, "k");
	json_str(&w, "v\0x", 2);
	json_end_object(&w);
	json_double(&w, 0.5);
	json_raw(&w, "[7]", 3);
	json_end_array(&w);
	json_key(&w, "a\"b");
	json_cstr(&w, "text");
	json_key(&w, "none");
	json_cstr(&w, NULL);
	json_end_object(&w);
	assert_string_equal(buf_cstr(&b),
		"{\"empty\":{},\"list\":[[],1,true,false,null,{\"k\":\"v\xef\xbf\xbd\"},0.5,[7]],"
		"\"a\\\"b\":\"text\",\"none\":null}");
	assert_int_equal(json_check(b.data, b.len), JSON_OBJECT);
	buf_release(&b);
}

static void integers_keep_all_their_64_bits(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&b);
	json_begin_array(&w);
	json_int(&w, INT64_MIN);
	json_int(&w, 0);
	json_int(&w, INT64_MAX);
	json_end_array(&w);
	assert_string_equal(b.data, "[-9223372036854775808,0,9223372036854775807]");
	buf_release(&b);
}

/* --- doubles ------------------------------------------------------------------------ */

static void write_double(struct buf *b, double v)
{
	struct json_writer w = JSON_WRITER_INIT(b);
	buf_clear(b);
	json_double(&w, v);
}

static const struct {
	double v;
	const char *text;
} doubles[] = {
	{ 0.0, "0.0" }, { -0.0, "-0.0" }, { 1.0, "1.0" }, { -1.0, "-1.0" }, { 100000.0, "100000.0" },
	{ 0.1, "0.1" }, { 0.5, "0.5" }, { 1.5, "1.5" }, { -2.25, "-2.25" }, { 0.1 + 0.2, "0.30000000000000004" },
	{ 1.0 / 3.0, "0.3333333333333333" }, { 1e15, "1e+15" }, { 1e21, "1e+21" }, { 1.5e300, "1.5e+300" },
	{ 1e-7, "1e-07" }, { 9007199254740992.0, "9007199254740992.0" },
	{ DBL_MAX, "1.7976931348623157e+308" }, { DBL_MIN, "2.2250738585072014e-308" },
	{ 5e-324, "5e-324" }, { -1e-320, "-1e-320" },
};

static void check_doubles(void)
{
	struct buf b = BUF_INIT;
	const char *end;
	for (size_t i = 0; i < ARRAY_LEN(doubles); i++) {
		write_double(&b, doubles[i].v);
		assert_string_equal(b.data, doubles[i].text);
		double back = decimal_read(b.data, &end);
		assert_memory_equal(&back, &doubles[i].v, sizeof(back));
		assert_ptr_equal(end, b.data + b.len);
	}
	buf_release(&b);
}

static void doubles_are_written_short_and_never_look_like_integers(void **state UNUSED)
{
	check_doubles();
}

static void nan_and_infinity_are_null(void **state UNUSED)
{
	static const double values[] = { NAN, INFINITY, -INFINITY };
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		write_double(&b, values[i]);
		assert_string_equal(b.data, "null");
	}
	buf_release(&b);
}

static void every_double_reads_back_bit_for_bit(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	uint64_t bits = 88172645463325252u;
	for (int i = 0; i < 20000; i++) {
		double v, back;
		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		write_double(&b, v);
		assert_int_equal(json_check(b.data, b.len), JSON_SCALAR);
		assert_non_null(strpbrk(b.data, ".e"));
		back = strtod(b.data, NULL);
		assert_memory_equal(&back, &v, sizeof(v));
	}
	buf_release(&b);
}

/* --- a locale of our own -------------------------------------------------------------- */

/* glibc's compiled LC_NUMERIC: magic, count, offsets of six items, their data.
 * Written here because no installed locale can be relied upon. */
struct numeric_locale {
	uint32_t magic, count, offset[6];
	char point[4], thousands[4], grouping[4];
	uint32_t wide[2];
	char codeset[8];
};

static void write_locale(const char *path, const char *separator)
{
	struct numeric_locale l = {
		.magic = 0x20031115 ^ LC_NUMERIC,
		.count = 6,
		.offset = {
			offsetof(struct numeric_locale, point), offsetof(struct numeric_locale, thousands),
			offsetof(struct numeric_locale, grouping), offsetof(struct numeric_locale, wide),
			offsetof(struct numeric_locale, wide) + 4, offsetof(struct numeric_locale, codeset),
		},
		.grouping = { 127 },
		.wide = { ',', 0 },
		.codeset = "UTF-8",
	};
	snprintf(l.point, sizeof(l.point), "%s", separator);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(&l, sizeof(l), 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

/* Make, use and remove the locale; false when this C library reads no such file. */
static bool doubles_hold_in(const char *name, const char *separator)
{
	char dir[] = P_tmpdir "/json-locale-XXXXXX";
	char sub[64], file[96], half[8];
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/%s", dir, name);
	snprintf(file, sizeof(file), "%s/LC_NUMERIC", sub);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_locale(file, separator);
	assert_int_equal(setenv("LOCPATH", dir, 1), 0);
	bool loaded = setlocale(LC_NUMERIC, name) != NULL;
	unlink(file);
	rmdir(sub);
	rmdir(dir);
	if (!loaded)
		return false;
	snprintf(half, sizeof(half), "%.1f", 0.5);
	if (half[1] == '.')
		return false; /* musl takes any name for a locale, and has one point */
	assert_memory_equal(half + 1, separator, strlen(separator));
	check_doubles();
	return true;
}

static int back_to_the_c_locale(void **state UNUSED)
{
	setlocale(LC_NUMERIC, "C");
	return 0;
}

static void a_locale_with_a_comma_changes_nothing(void **state UNUSED)
{
	if (!doubles_hold_in("xx_XX", ","))
		NEEDS("a C library that loads locales");
}

static void a_locale_with_a_separator_of_two_bytes_changes_nothing(void **state UNUSED)
{
	if (!doubles_hold_in("yy_YY", "\xd9\xab"))
		NEEDS("a C library that loads locales");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values_and_nowhere_else),
		cmocka_unit_test(integers_keep_all_their_64_bits),
		cmocka_unit_test(doubles_are_written_short_and_never_look_like_integers),
		cmocka_unit_test(nan_and_infinity_are_null),
		cmocka_unit_test(every_double_reads_back_bit_for_bit),
		cmocka_unit_test_teardown(a_locale_with_a_comma_changes_nothing, back_to_the_c_locale),
		cmocka_unit_test_teardown(a_locale_with_a_separator_of_two_bytes_changes_nothing, back_to_the_c_locale),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
