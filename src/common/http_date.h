/*
 * http_date.h: HTTP dates (RFC 9110, section 5.6.7) and Retry-After (section
 * 10.2.3). Pure: no clock, no locale, no time zone; the caller passes the
 * current time.
 */
#ifndef RUNNER_HTTP_DATE_H
#define RUNNER_HTTP_DATE_H

#include "base.h"

#define RETRY_AFTER_MAX_MS (365LL * 24 * 3600 * 1000)

/*
 * Read an HTTP-date in any of its three forms: IMF-fixdate ("Sun, 06 Nov 1994
 * 08:49:37 GMT"), RFC 850 ("Sunday, 06-Nov-94 08:49:37 GMT") and asctime
 * ("Sun Nov  6 08:49:37 1994"). Strict: exact spelling, a day that exists, its
 * true weekday. A two-digit year is the one within 50 years of `now`. `now` and
 * *seconds count from 1970-01-01 UTC. 0, or -1 when the text is not a date.
 */
int http_date_parse(const char *text, size_t n, int64_t now, int64_t *seconds);

/*
 * Read the value of a Retry-After header: a number of seconds, or an HTTP-date
 * relative to `now` (seconds since 1970, preferably the response's own Date).
 * Returns ms: 0 for the past, at most RETRY_AFTER_MAX_MS; -1 when the value is
 * neither.
 */
int64_t http_retry_after_ms(const char *text, size_t n, int64_t now);

#endif
