/*
 * http_words.c: the host of a URL as libcurl sees it, and Retry-After. Runs in
 * the worker; it sends nothing.
 */
#include "http_words.h"

#include <time.h>

#include "../common/http_date.h"
#include "../common/mono.h"
#include "bindings.h"
#include "http_curl.h"

/* A part of the URL, pushed; nil where it has none. */
static void push_part(lua_State *L, const struct curl_api *curl, CURLU *url, CURLUPart part)
{
	char *text = NULL;

	lua_pushstring(L, curl->url_get(url, part, &text, 0) == CURLUE_OK ? text : NULL);
	curl->free(text);
}

int http_host(lua_State *L)
{
	const char *why, *text = luaL_checkstring(L, 1);
	const struct curl_api *curl = curl_open(&why);
	CURLU *url = curl != NULL ? curl->url() : NULL;

	if (url == NULL)
		return 0;
	if (curl->url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
		return curl->url_cleanup(url), 0;
	push_part(L, curl, url, CURLUPART_HOST);
	push_part(L, curl, url, CURLUPART_PORT);
	curl->url_cleanup(url);
	return 2;
}

int http_retry_after(lua_State *L)
{
	size_t value_len, date_len;
	const char *value = luaL_checklstring(L, 1, &value_len);
	const char *date = luaL_optlstring(L, 2, NULL, &date_len);
	struct timespec clock;
	int64_t now, served, ms;

	wall_now(&clock);
	now = clock.tv_sec;
	if (date != NULL && http_date_parse(date, date_len, now, &served) == 0)
		now = served;
	ms = http_retry_after_ms(value, value_len, now);
	if (ms < 0)
		return 0;
	lua_pushinteger(L, ms);
	return 1;
}
