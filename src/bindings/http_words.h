/*
 * http_words.h: what the words of HTTP mean: functions of `runner.http_client`
 * that make no exchange. Private to the http binding.
 */
#ifndef RUNNER_HTTP_WORDS_H
#define RUNNER_HTTP_WORDS_H

#include <lauxlib.h>

/*
 * host(url): the name that libcurl would connect to (no userinfo, %XX decoded,
 * numbers of IPv4 and IPv6 addresses in their one form), and the port of the URL
 * as text, or nil. Nothing: it is no URL, or there is no libcurl.
 */
int http_host(lua_State *L);

/* retry_after(value, date): ms | nil. `date` is the response's own Date
 * header, or nil: then our clock says what "now" is. */
int http_retry_after(lua_State *L);

#endif
