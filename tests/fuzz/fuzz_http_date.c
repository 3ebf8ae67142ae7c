/*
 * fuzz_http_date.c: what reads as an HTTP-date is the date that the C library
 * writes in one of the forms that RFC 9110 has; Retry-After stays within its bounds.
 */
#include "fuzz.h"

#include <time.h>

#include "../../src/common/http_date.h"

static bool spelt_as(const char *format, const struct tm *tm, const uint8_t *data, size_t size)
{
	char text[64];
	size_t n = strftime(text, sizeof(text), format, tm);

	return n == size && memcmp(text, data, n) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t nows[] = { 0, 784111777, 1775044800, 4102444800, 253402300799 };
	int64_t now = nows[size % ARRAY_LEN(nows)], seconds, ms;

	if (http_date_parse((const char *)data, size, now, &seconds) == 0) {
		time_t t = (time_t)seconds;
		struct tm tm;

		HOLDS(gmtime_r(&t, &tm));
		HOLDS(spelt_as("%a, %d %b %Y %H:%M:%S GMT", &tm, data, size) ||
		      spelt_as("%A, %d-%b-%y %H:%M:%S GMT", &tm, data, size) ||
		      spelt_as("%a %b %e %H:%M:%S %Y", &tm, data, size) ||
		      spelt_as("%a %b %d %H:%M:%S %Y", &tm, data, size) || tm.tm_year < -900 ||
		      memmem(data, size, ":60", 3));
	}
	ms = http_retry_after_ms((const char *)data, size, now);
	HOLDS(ms >= -1 && ms <= RETRY_AFTER_MAX_MS);
	return 0;
}
