/*
 * test_decimal.c: doubles as text and back, against printf and strtod, which are exact
 * in glibc.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/decimal.h"
#include "needs.h"


/* Of random numbers; main has fewer where each takes 50 times as long: these reach the same code. */
static int rounds = 300000;
static uint64_t state = 88172645463325252u;

/* xorshift64: the same numbers in each run */
static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double of_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* What decimal.h promises, by the definition. */
static void expected(double v, char *text)
{
	int digits = fabs(v) < DBL_MIN ? 1 : 15;

	do
		snprintf(text, DECIMAL_TEXT, "%.*g", digits, v);
	while (digits++ < 17 && strtod(text, NULL) != v);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
}

static void check(double v)
{
	char text[DECIMAL_TEXT], wanted[DECIMAL_TEXT];
	const char *end;

	size_t n = decimal_write(v, text);

	assert_int_equal(n, strlen(text));
	expected(v, wanted);
	assert_string_equal(text, wanted);
	assert_int_equal(bits_of(decimal_read(text, &end)), bits_of(v));
	assert_ptr_equal(end, text + strlen(text));
}

static void check_read(const char *text)
{
	const char *end;
	char *end_of_libc;
	double wanted = strtod(text, &end_of_libc);

	if (bits_of(decimal_read(text, &end)) != bits_of(wanted) || end != end_of_libc)
		fail_msg("%s: %a, not %a", text, decimal_read(text, &end), wanted);
}

static void test_known(void **unused)
{
	static const double values[] = { 0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1e-4, 1e-5, 123456.789, 5e-324, DBL_MIN, DBL_MAX,
		1e15, 1e16, 1e17, 1e21, 1e22, 1e23, 9007199254740993.0, 4.35, 0.000035, 99999999999999.9, 2.5e-9, 1e-9,
		9.999999999999999e22, 1.0 / 3, 2.0 / 3e8, 0.5, 0.25, 1024.0, 65536.5 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		check(values[i]);
}

static void test_any_double(void **unused)
{
	(void)unused;
	for (int i = 0; i < rounds; i++) {
		double v = of_bits(any());

		if (isfinite(v))
			check(v);
	}
}

/* The range that is computed in integers, and its edges. */
static void test_usual_doubles(void **unused)
{
	(void)unused;
	for (int i = 0; i < rounds; i++) {
		double v = ldexp((double)(any() >> 11), (int)(any() % 90) - 53 - 38);

		check(v);
		check((double)(any() % 100000000) / 100);
		check((double)(int64_t)(any() % 2000001 - 1000000) / 1000);
		check(ldexp(1, (int)(any() % 90) - 40));
		check(nextafter(ldexp(1, (int)(any() % 90) - 40), any() & 1 ? 0 : 1e300));
	}
}

static void test_any_digits(void **unused)
{
	char text[64];

	(void)unused;
	for (int i = 0; i < rounds; i++) {
		uint64_t m = any() >> any() % 64, rest = any() % 1000000000;
		int e = (int)(any() % 80) - 40;

		snprintf(text, sizeof(text), "%llue%d", (unsigned long long)m, e);
		check_read(text);
		snprintf(text, sizeof(text), "-%llu.%09llu", (unsigned long long)(m % 10000000000), (unsigned long long)rest);
		check_read(text);
		snprintf(text, sizeof(text), "0.%0*llu%lluE%+d", (int)(any() % 12), (unsigned long long)rest % 100,
		         (unsigned long long)m, e);
		check_read(text);
	}
}

/* Half-way between two doubles, and next to it. */
static void test_ties(void **unused)
{
	char text[64];

	(void)unused;
	for (int i = 0; i < rounds; i++) {
		uint64_t f = (UINT64_C(1) << 53) | (any() >> 11);
		int shift = (int)(any() % 9) + 1;

		/* (2f + 1) / 2^(shift + 1) has a few decimal digits more than an integer */
		snprintf(text, sizeof(text), "%llu", (unsigned long long)(2 * f + 1));
		check_read(text);
		snprintf(text, sizeof(text), "%llu.0", (unsigned long long)(2 * f + 1) >> shift);
		check_read(text);
		snprintf(text, sizeof(text), "%llue%d", (unsigned long long)(f >> shift) * 5, -(shift + 1));
		check_read(text);
	}
}

static void test_long(void **unused)
{
	char text[900];

	(void)unused;
	check_read("0.000000000000000000000000000000000000000000000000000000000000001");
	check_read("123456789012345678901234567890.5");
	check_read("1e400");
	check_read("-1e400");
	check_read("1e-400");
	check_read("0e999999999999");
	check_read("1e99999999999999999999");
	check_read("18446744073709551615e1");
	check_read("18446744073709551616e1");
	check_read("9999999999999999999.0");
	memset(text, '0', sizeof(text));
	strcpy(text + 890, "1e880");
	memcpy(text, "0.", 2);
	check_read(text);
	memset(text, '9', 890);
	memcpy(text + 400, ".", 1);
	strcpy(text + 890, "e-3");
	check_read(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),        cmocka_unit_test(test_any_double),
		cmocka_unit_test(test_usual_doubles), cmocka_unit_test(test_any_digits),
		cmocka_unit_test(test_ties),         cmocka_unit_test(test_long),
	};

	if (under_valgrind())
		rounds = 3000;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
