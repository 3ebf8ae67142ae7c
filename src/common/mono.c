/*
 * mono.c: instants, deadlines and durations (mono.h). Both processes use it.
 *
 * Only mono_now() and wall_now() read a clock; the rest is saturating arithmetic. It
 * must not wait. Durations are read without strtod(3), which would also accept hex,
 * "inf", exponents and the locale's decimal separator.
 */
#include "mono.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
/* 10^11 times the 8.64e7 ms of a day still fits into 64 bits */
#define FRACTION_DIGITS 11

struct unit {
	const char *name;
	uint64_t ms;
};

/* Largest first: the first unit that divides gives the shortest spelling. */
static const struct unit units[] = {
	{ "d", 86400000 },
	{ "h", 3600000 },
	{ "m", 60000 },
	{ "s", 1000 },
	{ "ms", 1 },
};

/* The value of the digits: whole + fraction / scale. */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale;
	bool positive;
};

static const volatile int64_t *moved; /* NULL: no test moves the clock on */

void mono_follow(const volatile int64_t *later)
{
	moved = later;
}

mono_t mono_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (mono_t)ts.tv_sec * NS_PER_S + ts.tv_nsec + (moved ? *moved : 0);
}

void wall_now(struct timespec *ts)
{
	clock_gettime(CLOCK_REALTIME, ts);
	if (moved) {
		int64_t ns = ts->tv_nsec + *moved;
		ts->tv_sec += (time_t)(ns / NS_PER_S);
		ts->tv_nsec = (long)(ns % NS_PER_S);
	}
}

mono_t mono_add_ms(mono_t t, int64_t ms)
{
	int64_t ns, sum;
	if (t == MONO_NEVER)
		return MONO_NEVER;
	if (__builtin_mul_overflow(ms, NS_PER_MS, &ns) || __builtin_add_overflow(t, ns, &sum))
		return ms > 0 ? MONO_NEVER : INT64_MIN;
	return sum;
}

mono_t mono_deadline(mono_t start, int64_t limit_ms)
{
	return limit_ms == 0 ? MONO_NEVER : mono_add_ms(start, limit_ms);
}

int64_t mono_elapsed_ms(mono_t from, mono_t to)
{
	int64_t ns;
	if (to <= from)
		return 0;
	if (__builtin_sub_overflow(to, from, &ns))
		ns = INT64_MAX;
	return ns / NS_PER_MS;
}

struct timespec *mono_left(mono_t deadline, mono_t now, struct timespec *ts)
{
	int64_t ns = 0;
	if (deadline == MONO_NEVER)
		return NULL;
	if (deadline > now && __builtin_sub_overflow(deadline, now, &ns))
		ns = INT64_MAX;
	ts->tv_sec = (time_t)(ns / NS_PER_S);
	ts->tv_nsec = (long)(ns % NS_PER_S);
	return ts;
}

/* --- durations ------------------------------------------------------------------ */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read the digits of the whole part; returns how many. Saturates above the limit. */
static size_t read_whole(const char *s, size_t n, struct decimal *d)
{
	size_t i = 0;
	for (; i < n && is_digit(s[i]); i++) {
		if (d->whole <= (uint64_t)DURATION_MAX_MS)
			d->whole = d->whole * 10 + (uint64_t)(s[i] - '0');
	}
	d->positive = d->whole > 0;
	return i;
}

static size_t read_fraction(const char *s, size_t n, struct decimal *d)
{
	size_t i = 0;
	for (; i < n && is_digit(s[i]); i++) {
		d->positive = d->positive || s[i] != '0';
		if (i < FRACTION_DIGITS) {
			d->fraction = d->fraction * 10 + (uint64_t)(s[i] - '0');
			d->scale *= 10;
		}
	}
	return i;
}

/* Read "12" or "12.5"; returns the bytes read, 0 when it is not a number. */
static size_t read_decimal(const char *s, size_t n, struct decimal *d)
{
	*d = (struct decimal){ .scale = 1 };
	size_t used = read_whole(s, n, d);
	if (used == 0 || used == n || s[used] != '.')
		return used;
	size_t more = read_fraction(s + used + 1, n - used - 1, d);
	return more == 0 ? 0 : used + 1 + more;
}

/* The ms in one of the named unit (a bare number counts seconds); 0 when unknown. */
static uint64_t unit_ms(const char *s, size_t n)
{
	if (n == 0)
		return 1000;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strlen(units[i].name) == n && memcmp(units[i].name, s, n) == 0)
			return units[i].ms;
	}
	return 0;
}

static int decimal_to_ms(const struct decimal *d, uint64_t unit, int64_t *ms)
{
	if (d->whole > (uint64_t)DURATION_MAX_MS / unit)
		return -1;
	uint64_t parts = d->fraction * unit;
	uint64_t sum = d->whole * unit + parts / d->scale + (parts % d->scale * 2 >= d->scale);
	if (sum > (uint64_t)DURATION_MAX_MS)
		return -1;
	*ms = (int64_t)(sum == 0 && d->positive ? 1 : sum);
	return 0;
}

int duration_parse(const char *text, size_t len, int64_t *ms)
{
	struct decimal d;
	if (len == 4 && memcmp(text, "none", 4) == 0) {
		*ms = 0;
		return 0;
	}
	size_t used = read_decimal(text, len, &d);
	uint64_t unit = used > 0 ? unit_ms(text + used, len - used) : 0;
	return unit > 0 ? decimal_to_ms(&d, unit, ms) : -1;
}

/* "1.5s", "2.25s": more than a second, but not whole seconds. */
static void format_fraction(int64_t ms, char out[32])
{
	int n = snprintf(out, 32, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
	while (out[n - 1] == '0')
		n--;
	out[n] = 's';
	out[n + 1] = '\0';
}

char *duration_format(int64_t ms, char out[32])
{
	if (ms <= 0) {
		memcpy(out, "none", sizeof("none"));
		return out;
	}
	if (ms > 1000 && ms % 1000 != 0) {
		format_fraction(ms, out);
		return out;
	}
	size_t i = 0;
	while (ms % (int64_t)units[i].ms != 0)
		i++;
	snprintf(out, 32, "%" PRId64 "%s", ms / (int64_t)units[i].ms, units[i].name);
	return out;
}

#define SECONDS_PER_DAY 86400
#define DAYS_PER_ERA 146097 /* 400 years */
#define ERAS_MAX 20         /* a four-digit year, whatever the clock says */

/* The date of a day since 1970-01-01 (proleptic Gregorian; years begin in March
 * here, so that the leap day is the last). gmtime_r(3) would read the zone file. */
static void civil_date(int64_t day, unsigned *year, unsigned *month, unsigned *mday)
{
	int64_t shifted = day + 719468; /* since 0000-03-01 */
	int64_t era = shifted / DAYS_PER_ERA;
	int64_t of_era = shifted % DAYS_PER_ERA;
	int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / (DAYS_PER_ERA - 1)) / 365;
	int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
	int64_t from_march = (5 * of_year + 2) / 153;

	*mday = (unsigned)(of_year - (153 * from_march + 2) / 5 + 1);
	*month = (unsigned)(from_march < 10 ? from_march + 3 : from_march - 9);
	*year = (unsigned)(years + era * 400 + (*month <= 2));
}

/* Write "-07": a separator, if any, and digits with leading zeros. */
static char *put_digits(char *at, char separator, unsigned v, int digits)
{
	if (separator)
		*at++ = separator;
	for (int i = digits - 1; i >= 0; i--, v /= 10)
		at[i] = (char)('0' + v % 10);
	return at + digits;
}

char *rfc3339_format(const struct timespec *wall, char out[32])
{
	int64_t last = (int64_t)ERAS_MAX * DAYS_PER_ERA * SECONDS_PER_DAY;
	int64_t s = wall->tv_sec < 0 ? 0 : MIN_OF((int64_t)wall->tv_sec, last);
	unsigned of_day = (unsigned)(s % SECONDS_PER_DAY);
	unsigned ms = (unsigned)(wall->tv_nsec / NS_PER_MS) % 1000;
	unsigned year, month, mday;
	char *at = out;

	civil_date(s / SECONDS_PER_DAY, &year, &month, &mday);
	at = put_digits(at, 0, year, 4);
	at = put_digits(at, '-', month, 2);
	at = put_digits(at, '-', mday, 2);
	at = put_digits(at, 'T', of_day / 3600, 2);
	at = put_digits(at, ':', of_day / 60 % 60, 2);
	at = put_digits(at, ':', of_day % 60, 2);
	at = put_digits(at, '.', ms, 3);
	memcpy(at, "Z", 2);
	return out;
}
