/*
 * decimal.c: what decimal.h promises. Numbers of a usual size are computed in integers
 * of 128 bits, where nothing is rounded: d digits with an exponent e of ten are the
 * double f * 2^x if they lie between its neighbours, and 5^27 < 2^63. The C library does
 * the rest.
 */
#include "decimal.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

#define FRACTION 53  /* bits of a double */
#define TEN_MAX 27   /* 5^27 < 2^63 < 10^19 */
#define EXACT_TEN 22 /* 10^22 is a double */

static const uint64_t fives[TEN_MAX + 1] = {
	1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u,
	1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u,
	19073486328125u, 95367431640625u, 476837158203125u, 2384185791015625u, 11920928955078125u,
	59604644775390625u, 298023223876953125u, 1490116119384765625u, 7450580596923828125u,
};

static const double tens[EXACT_TEN + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22,
};

/* --- by the C library ---------------------------------------------------------------- */

static bool number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/* What the locale puts between the digits becomes a point, or is added for ".0". */
static size_t with_point(char *text, const char *printed)
{
	size_t whole = strspn(printed, "+-0123456789e");
	const char *rest = printed + whole;
	char *at = text + whole;

	memcpy(text, printed, whole);
	while (*rest != '\0' && !number_byte(*rest))
		rest++;
	if (*rest != '\0')
		*at++ = '.';
	else if (memchr(printed, 'e', whole) == NULL)
		rest = ".0";
	return (size_t)(stpcpy(at, rest) - text);
}

static size_t write_slowly(double v, char text[DECIMAL_TEXT])
{
	int digits = fabs(v) < DBL_MIN ? 1 : 15;
	char printed[DECIMAL_TEXT];

	do
		snprintf(printed, sizeof(printed) - 2, "%.*g", digits, v);
	while (digits++ < 17 && strtod(printed, NULL) != v);
	return with_point(text, printed);
}

/* A copy with the locale's separator, as strtod() wants it. */
static double read_slowly(const char *s, const char *point, const char *end)
{
	const char *separator = localeconv()->decimal_point;
	size_t before = point ? (size_t)(point - s) : (size_t)(end - s);
	char small[128], *text = small, *at;
	size_t room = (size_t)(end - s) + strlen(separator) + 1;
	double v;

	if (strcmp(separator, ".") == 0)
		return strtod(s, NULL);
	if (room > sizeof(small) && (text = malloc(room)) == NULL)
		return HUGE_VAL;
	at = mempcpy(text, s, before);
	if (point) {
		at = stpcpy(at, separator);
		at = mempcpy(at, point + 1, (size_t)(end - point) - 1);
	}
	*at = '\0';
	v = strtod(text, NULL);
	if (text != small)
		free(text);
	return v;
}

/* --- writing -------------------------------------------------------------------------- */

/* v = f * 2^-x, f of 53 bits, and what it is to be written with. */
struct binary {
	uint64_t f;
	int x;
};

/* |v| * 10^k as an integer, ties to even: f * 5^k * 2^(k - x). */
static uint64_t scaled(const struct binary *b, int k)
{
	u128 product = (u128)b->f * fives[k];
	int shift = b->x - k;
	u128 rest = product & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
	uint64_t m = (uint64_t)(product >> shift);

	return m + (rest > half || (rest == half && (m & 1)));
}

/* Is the double the nearest to m / 10^k? (f is no power of two: both gaps are the same.) */
static bool reads_back(const struct binary *b, uint64_t m, int k)
{
	u128 exact = (u128)b->f * fives[k], shown = (u128)m << (b->x - k);
	u128 twice = 2 * (exact > shown ? exact - shown : shown - exact);

	return twice < fives[k] || (twice == fives[k] && (b->f & 1) == 0);
}

static int count_digits(uint64_t m)
{
	int n = 1;

	while (m >= 10) {
		m /= 10;
		n++;
	}
	return n;
}

/* The digits of m / 10^k as %g shows them. */
static size_t show(uint64_t m, int k, char *text)
{
	char digits[24] = "", *at = text;
	int n, point;

	while (m % 10 == 0 && k > -64) {
		m /= 10;
		k--;
	}
	n = count_digits(m);
	for (int i = n - 1; i >= 0; i--, m /= 10)
		digits[i] = (char)('0' + m % 10);
	point = n - k; /* digits before the point */
	if (point <= -4) {
		*at++ = digits[0];
		if (n > 1)
			*at++ = '.';
		at = mempcpy(at, digits + 1, (size_t)n - 1);
		return (size_t)(at - text) + (size_t)sprintf(at, "e-%02d", 1 - point);
	}
	if (point <= 0) {
		at = stpcpy(at, "0.");
		at = memset(at, '0', (size_t)-point), at += -point;
		at = mempcpy(at, digits, (size_t)n);
	} else if (point >= n) {
		at = mempcpy(at, digits, (size_t)n);
		memset(at, '0', (size_t)(point - n));
		at = stpcpy(at + (point - n), ".0");
	} else {
		at = mempcpy(at, digits, (size_t)point);
		*at++ = '.';
		at = mempcpy(at, digits + point, (size_t)(n - point));
	}
	*at = '\0';
	return (size_t)(at - text);
}

/* floor(log10(2^e)), for the exponents of usual doubles. */
static int log10_of_two_to(int e)
{
	return (e * 315653) >> 20;
}

/* 1e-9 <= v < 1e14. 0: not this way. */
static size_t write_usual(double v, char *text)
{
	struct binary b;
	int exponent, k, n;
	uint64_t m;

	b.f = (uint64_t)ldexp(frexp(v, &exponent), FRACTION);
	b.x = FRACTION - exponent;
	if ((b.f & (b.f - 1)) == 0) /* the gaps beside it differ */
		return 0;
	k = 14 - log10_of_two_to(exponent - 1);
	m = scaled(&b, k);
	if (count_digits(m) == 16) /* of two numbers of digits, the larger one */
		k--;
	for (n = 15; n <= 17; n++, k++) {
		if (k < 1 || k > TEN_MAX || b.x - k < 1)
			return 0;
		m = scaled(&b, k);
		if (count_digits(m) != n) /* 999… became 1000… */
			return 0;
		if (n == 17 || reads_back(&b, m, k))
			return show(m, k, text);
	}
	return 0;
}

size_t decimal_write(double v, char text[DECIMAL_TEXT])
{
	double size = fabs(v);
	size_t sign = signbit(v) ? 1 : 0, n = 0;

	if (size >= 1e-9 && size < 1e14) {
		text[0] = '-';
		n = write_usual(size, text + sign);
	}
	return n > 0 ? n + sign : write_slowly(v, text);
}

/* --- reading --------------------------------------------------------------------------- */

/* The highest 64 bits of a value and whether anything is below them → the double. */
static double rounded(u128 value, bool rest, int x)
{
	int high = (int)(value >> 64 ? 127 - __builtin_clzll((uint64_t)(value >> 64))
	                             : 63 - __builtin_clzll((uint64_t)value));
	int drop = high - FRACTION + 1;
	uint64_t f;

	if (drop <= 0)
		return ldexp((double)(uint64_t)value, x);
	u128 left = value & (((u128)1 << drop) - 1), half = (u128)1 << (drop - 1);
	f = (uint64_t)(value >> drop);
	if (left > half || (left == half && (rest || (f & 1))))
		f++;
	return ldexp((double)f, x + drop);
}

/* m * 10^e for 0 < m < 10^19 and |e| <= TEN_MAX; no double of these is subnormal. */
static double combine(uint64_t m, int e)
{
	if (m <= (UINT64_C(1) << FRACTION) && e >= -EXACT_TEN && e <= EXACT_TEN)
		return e < 0 ? (double)m / tens[-e] : (double)m * tens[e];
	if (e >= 0)
		return rounded((u128)m * fives[e], false, e);
	/* divide 127 bits by 64: at least 62 significant ones of the quotient */
	int up = __builtin_clzll(m), by = __builtin_clzll(fives[-e]);
	u128 dividend = (u128)(m << up) << 63;
	uint64_t divisor = fives[-e] << by, quotient = (uint64_t)(dividend / divisor);

	return rounded(quotient, (u128)quotient * divisor != dividend, e - up - 63 + by);
}

struct digits {
	uint64_t m; /* right up to 19 of them */
	int n, e;   /* significant ones, and the exponent of ten that m needs */
	const char *point;
};

static const char *take_digits(const char *s, struct digits *d)
{
	const char *start;

	while (d->m == 0 && *s == '0')
		s++;
	for (start = s; *s >= '0' && *s <= '9'; s++)
		d->m = d->m * 10 + (uint64_t)(*s - '0');
	d->n += (int)MIN_OF(s - start, (ptrdiff_t)1000);
	return s;
}

static const char *take_exponent(const char *s, struct digits *d)
{
	bool negative = s[1] == '-';
	int e = 0;

	s += 1 + (s[1] == '-' || s[1] == '+');
	for (; *s >= '0' && *s <= '9'; s++)
		if (e < 100000)
			e = e * 10 + (*s - '0');
	d->e += negative ? -e : e;
	return s;
}

double decimal_read(const char *s, const char **end)
{
	struct digits d = { 0 };
	const char *start = s;
	bool negative = *s == '-';
	double v;

	s = take_digits(s + negative, &d);
	if (*s == '.') {
		d.point = s;
		s = take_digits(s + 1, &d);
		d.e = -(int)MIN_OF(s - d.point - 1, (ptrdiff_t)1000);
	}
	if (*s == 'e' || *s == 'E')
		s = take_exponent(s, &d);
	*end = s;
	if (d.n > 19 || d.e < -TEN_MAX || d.e > TEN_MAX)
		return read_slowly(start, d.point, s);
	v = d.m ? combine(d.m, d.e) : 0.0;
	return negative ? -v : v;
}
