/*
 * http_date.c: the parser of http_date.h. Each date format is one template and
 * each directive of a template one row; both are data, so no format can be half
 * supported. Used by the worker; must not read the clock.
 */
#include "http_date.h"

#include <string.h>

#define MEAN_YEAR_SECONDS 31556952
#define DAY_SECONDS 86400

struct parts {
	int year;
	int short_year;
	int month; /* 0–11 */
	int day;
	int hour;
	int minute;
	int second;
	int weekday; /* 0 is Sunday */
};

static const char *const DAYS[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
static const char *const FULL_DAYS[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
	                                 "Thursday", "Friday", "Saturday" };
static const char *const MONTHS[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
	                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

static const struct directive {
	char letter;
	int digits; /* 0: one of `names` */
	const char *const *names;
	size_t names_count;
	size_t offset;
} DIRECTIVES[] = {
	{ 'a', 0, DAYS, ARRAY_LEN(DAYS), offsetof(struct parts, weekday) },
	{ 'A', 0, FULL_DAYS, ARRAY_LEN(FULL_DAYS), offsetof(struct parts, weekday) },
	{ 'b', 0, MONTHS, ARRAY_LEN(MONTHS), offsetof(struct parts, month) },
	{ 'd', 2, NULL, 0, offsetof(struct parts, day) },
	{ 'e', 1, NULL, 0, offsetof(struct parts, day) },
	{ 'Y', 4, NULL, 0, offsetof(struct parts, year) },
	{ 'y', 2, NULL, 0, offsetof(struct parts, short_year) },
	{ 'H', 2, NULL, 0, offsetof(struct parts, hour) },
	{ 'M', 2, NULL, 0, offsetof(struct parts, minute) },
	{ 'S', 2, NULL, 0, offsetof(struct parts, second) },
};

/* asctime() pads the day with a space, hence its two rows. */
static const char *const TEMPLATES[] = {
	"%a, %d %b %Y %H:%M:%S GMT",
	"%A, %d-%b-%y %H:%M:%S GMT",
	"%a %b %d %H:%M:%S %Y",
	"%a %b  %e %H:%M:%S %Y",
};

static int take_digits(const char **at, const char *end, int digits)
{
	int value = 0;

	if (end - *at < digits)
		return -1;
	for (int i = 0; i < digits; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return -1;
		value = value * 10 + (**at - '0');
	}
	return value;
}

static int take_name(const char **at, const char *end, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(names[i]);

		if ((size_t)(end - *at) < len || memcmp(*at, names[i], len) != 0)
			continue;
		*at += len;
		return (int)i;
	}
	return -1;
}

static bool take_directive(const char **at, const char *end, char letter, struct parts *p)
{
	for (size_t i = 0; i < ARRAY_LEN(DIRECTIVES); i++) {
		const struct directive *d = &DIRECTIVES[i];
		int value;

		if (d->letter != letter)
			continue;
		value = d->digits > 0 ? take_digits(at, end, d->digits)
		                      : take_name(at, end, d->names, d->names_count);
		memcpy((char *)p + d->offset, &value, sizeof value);
		return value >= 0;
	}
	return false;
}

static bool match(const char *template, const char *at, const char *end, struct parts *p)
{
	*p = (struct parts){ .year = -1, .short_year = -1 };
	for (; *template != '\0'; template++) {
		if (*template == '%') {
			if (!take_directive(&at, end, *++template, p))
				return false;
		} else if (at == end || *at++ != *template) {
			return false;
		}
	}
	return at == end;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar. Years begin in March
 * here, so that the leap day is the last day. */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = month < 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * ((month + 10) % 12) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static int days_in_month(int year, int month)
{
	int next_year = month == 11 ? year + 1 : year;

	return (int)(days_from_civil(next_year, (month + 1) % 12, 1) -
	             days_from_civil(year, month, 1));
}

static int full_year(int short_year, int64_t now)
{
	int this_year = 1970 + (int)(now / MEAN_YEAR_SECONDS);
	int year = this_year - this_year % 100 + short_year;

	if (year > this_year + 50)
		return year - 100;
	return year <= this_year - 50 ? year + 100 : year;
}

static int to_seconds(const struct parts *p, int64_t now, int64_t *seconds)
{
	int year = p->year >= 0 ? p->year : full_year(p->short_year, now);
	int64_t days;

	/* 60: a leap second */
	if (p->hour > 23 || p->minute > 59 || p->second > 60)
		return -1;
	if (p->day < 1 || p->day > days_in_month(year, p->month))
		return -1;
	days = days_from_civil(year, p->month, p->day);
	if (((days + 4) % 7 + 7) % 7 != p->weekday)
		return -1;
	*seconds = days * DAY_SECONDS + p->hour * INT64_C(3600) + p->minute * INT64_C(60) + p->second;
	return 0;
}

int http_date_parse(const char *text, size_t n, int64_t now, int64_t *seconds)
{
	struct parts p;

	for (size_t i = 0; i < ARRAY_LEN(TEMPLATES); i++)
		if (match(TEMPLATES[i], text, text + n, &p))
			return to_seconds(&p, now, seconds);
	return -1;
}

/* A string of digits, saturating: 10^30 seconds is legal, if absurd. */
static int64_t parse_seconds(const char *text, size_t n)
{
	int64_t value = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = MIN_OF(value * 10 + (text[i] - '0'), RETRY_AFTER_MAX_MS);
	}
	return n > 0 ? value : -1;
}

int64_t http_retry_after_ms(const char *text, size_t n, int64_t now)
{
	int64_t seconds = parse_seconds(text, n);

	if (seconds < 0) {
		if (http_date_parse(text, n, now, &seconds) != 0)
			return -1;
		seconds = MAX_OF(seconds - now, 0);
	}
	return MIN_OF(seconds, RETRY_AFTER_MAX_MS / 1000) * 1000;
}
