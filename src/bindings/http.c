/*
 * http.c: `require "runner.http_client"`: one exchange from a spec in Lua. Runs in
 * the worker. lua/ctx/http.lua decides about redirects,
 * credentials, proxies from the environment and the meaning of a status;
 * http_transfer.c does the exchange itself.
 */
#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../common/http_date.h"
#include "../common/mono.h"
#include "../common/xio.h"
#include "../engine/gate.h"
#include "../worker/cancel.h"
#include "bindings.h"
#include "http_curl.h"
#include "http_transfer.h"

/* --- the host of a URL as libcurl sees it, and Retry-After: nothing is sent --------- */

/* A part of the URL, pushed; nil where it has none. */
static void push_part(lua_State *L, const struct curl_api *curl, CURLU *url, CURLUPart part)
{
	char *text = NULL;

	lua_pushstring(L, curl->url_get(url, part, &text, 0) == CURLUE_OK ? text : NULL);
	curl->free(text);
}

/*
 * host(url): the name that libcurl would connect to (no userinfo, %XX decoded,
 * numbers of IPv4 and IPv6 addresses in their one form), and the port of the URL
 * as text, or nil. Nothing: it is no URL, or there is no libcurl.
 */
static int http_host(lua_State *L)
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

/* retry_after(value, date): ms | nil. `date` is the response's own Date
 * header, or nil: then our clock says what "now" is. */
static int http_retry_after(lua_State *L)
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

/*
 * The Lua half of engine/gate.h, for a worker that is confined to hosts: a connection is asked for, and
 * an exchange is made over it.
 */

#define CONNECTION "runner.gated_connection"

/* Either descriptor; -1: none. */
struct connection {
	int answer; /* to come */
	int socket; /* connected */
};

static int l_gc(lua_State *L)
{
	struct connection *c = luaL_checkudata(L, 1, CONNECTION);

	xclose(&c->answer);
	xclose(&c->socket);
	return 0;
}

/* gated(): do requests go through a gate? */
static int http_gated(lua_State *L)
{
	lua_pushboolean(L, gate_is_there());
	return 1;
}

/* gate_ask(host, port, timeout_ms): a connection to come, and a descriptor that gets readable then; nil, message. */
static int http_gate_ask(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	lua_Integer port = luaL_checkinteger(L, 2), timeout_ms = luaL_checkinteger(L, 3);
	struct connection *c = lua_newuserdatauv(L, sizeof(*c), 0);

	*c = (struct connection){ -1, -1 };
	if (luaL_newmetatable(L, CONNECTION)) {
		lua_pushcfunction(L, l_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	luaL_argcheck(L, port >= 0 && port <= UINT16_MAX, 2, "no port");
	c->answer = gate_ask(name, (uint16_t)port, timeout_ms);
	if (c->answer < 0)
		return lua_pushnil(L), lua_pushstring(L, strerror(errno)), 2;
	lua_pushinteger(L, c->answer);
	return 2;
}

/* gate_wait(connection): until then. */
static int http_gate_wait(lua_State *L)
{
	struct connection *c = luaL_checkudata(L, 1, CONNECTION);
	struct pollfd fd = { .fd = c->answer, .events = POLLIN };
	mono_t attempt = cancel_seen() ? MONO_NEVER : cancel_deadline();

	if (cancel_poll(&fd, 1, attempt == MONO_NEVER ? attempt : mono_add_ms(attempt, CANCEL_TERM_DUE_MS)) == CANCEL_POLL_CANCELLED)
		return cancel_raise(L);
	return 0;
}

/* gate_take(connection): true: it is connected; nil, message, "refused"|"resolve"|"connect"|"timeout". */
static int http_gate_take(lua_State *L)
{
	static const char *const kinds[] = { [GATE_REFUSED] = "refused", [GATE_UNRESOLVED] = "resolve",
		                                 [GATE_UNCONNECTED] = "connect", [GATE_TIMEOUT] = "timeout", [GATE_GONE] = "timeout" };
	struct connection *c = luaL_checkudata(L, 1, CONNECTION);
	struct gate_failure failure;

	c->socket = gate_take(&c->answer, &failure);
	if (c->socket >= 0)
		return lua_pushboolean(L, 1), 1;
	lua_pushnil(L);
	lua_pushstring(L, failure.text);
	lua_pushstring(L, failure.kind >= GATE_REFUSED && failure.kind <= GATE_GONE ? kinds[failure.kind] : "connect");
	return 3;
}

/* The socket of a connection, which is the caller's from now on. */
static int http_gated_socket(lua_State *L, int index)
{
	struct connection *c = luaL_checkudata(L, index, CONNECTION);
	int fd = c->socket;

	c->socket = -1;
	return fd;
}

#define TRANSFER "runner.http_transfer"

/* In a userdata, so that a raised error frees it. */
static struct transfer *push_transfer(lua_State *L)
{
	struct transfer *t = lua_newuserdatauv(L, sizeof *t, 1); /* the spec, whose strings libcurl keeps */

	memset(t, 0, sizeof *t);
	luaL_setmetatable(L, TRANSFER);
	return t;
}

static int transfer_gc(lua_State *L)
{
	transfer_release(luaL_checkudata(L, 1, TRANSFER));
	return 0;
}

/* --- the request ------------------------------------------------------------------- */

/* Strings of the spec that are passed to libcurl unchanged. */
static const struct text_option {
	const char *key;
	CURLoption option;
} TEXT_OPTIONS[] = {
	{ "url", CURLOPT_URL },     { "user", CURLOPT_USERNAME },
	{ "proxy", CURLOPT_PROXY }, { "password", CURLOPT_PASSWORD },
	{ "no_proxy", CURLOPT_NOPROXY },
};

/* The string at spec[key], anchored by the spec itself, or NULL. */
static const char *spec_string(lua_State *L, const char *key, size_t *n)
{
	const char *s;

	lua_getfield(L, 1, key);
	s = luaL_optlstring(L, -1, NULL, n);
	lua_pop(L, 1);
	return s;
}

static int64_t spec_ms(lua_State *L, const char *key)
{
	int64_t ms;

	lua_getfield(L, 1, key);
	ms = luaL_optinteger(L, -1, 0);
	lua_pop(L, 1);
	return ms;
}

static void set_texts(lua_State *L, struct transfer *t)
{
	for (size_t i = 0; i < ARRAY_LEN(TEXT_OPTIONS); i++) {
		const char *text = spec_string(L, TEXT_OPTIONS[i].key, NULL);

		if (text != NULL)
			transfer_set_pointer(t, TEXT_OPTIONS[i].option, text);
	}
}

/* A CA store may be a file or a directory of hashed certificates. */
static void set_ca(lua_State *L, struct transfer *t)
{
	const char *path = spec_string(L, "ca", NULL);
	struct stat st;
	bool is_dir;

	if (path == NULL)
		return;
	is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	transfer_set_pointer(t, is_dir ? CURLOPT_CAPATH : CURLOPT_CAINFO, path);
	transfer_set_pointer(t, is_dir ? CURLOPT_PROXY_CAPATH : CURLOPT_PROXY_CAINFO, path);
}

static void set_headers(lua_State *L, struct transfer *t)
{
	lua_getfield(L, 1, "headers");
	for (lua_Integer i = 1; lua_istable(L, -1) && lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
		transfer_add_header(t, lua_tostring(L, -1));
		lua_pop(L, 1);
	}
	lua_settop(L, 2);
	transfer_set_pointer(t, CURLOPT_HTTPHEADER, t->headers);
}

static void set_method_and_body(lua_State *L, struct transfer *t)
{
	size_t n;
	const char *body = spec_string(L, "body", &n);
	const char *method = spec_string(L, "method", NULL);

	if (body != NULL) {
		/* Some servers don't read a body that they refuse: what is left would spoil the next request. */
		transfer_set_long(t, CURLOPT_FORBID_REUSE, n > 0);
		transfer_set_size(t, CURLOPT_POSTFIELDSIZE_LARGE, n);
		transfer_set_pointer(t, CURLOPT_POSTFIELDS, body);
	}
	if (method != NULL && strcmp(method, "HEAD") == 0) {
		transfer_set_long(t, CURLOPT_NOBODY, 1);
		return;
	}
	transfer_set_pointer(t, CURLOPT_CUSTOMREQUEST, method);
	/* Not for HEAD, whose Content-Length announces what is not sent. */
	if (t->out == 0)
		transfer_set_size(t, CURLOPT_MAXFILESIZE_LARGE, TRANSFER_BODY_MAX);
}

static int set_files(lua_State *L, struct transfer *t)
{
	const char *to = spec_string(L, "to", NULL), *from = spec_string(L, "from", NULL);
	if (to != NULL && transfer_to_file(t, to) < 0)
		return -1;
	return from != NULL ? transfer_from_file(t, from) : 0;
}

static void set_connect_timeout(lua_State *L, struct transfer *t)
{
	int64_t ms = spec_ms(L, "connect_timeout_ms");

	/* 0 would be libcurl's own default of five minutes */
	transfer_set_long(t, CURLOPT_CONNECTTIMEOUT_MS,
	                  ms > 0 && ms < INT32_MAX ? (long)ms : INT32_MAX);
}

/* The connection that a gate has made. */
static void set_connection(lua_State *L, struct transfer *t)
{
	if (lua_getfield(L, 1, "connection") != LUA_TNIL)
		transfer_over(t, http_gated_socket(L, -1));
	lua_settop(L, 2);
}

/* Stack: spec, transfer. 0, or -1 with the reason in t->result. */
static int prepare(lua_State *L, struct transfer *t, const struct curl_api *curl)
{
	if (lua_getfield(L, 1, "fresh"), lua_toboolean(L, -1))
		transfer_forget_connections(curl);
	lua_settop(L, 2);
	if (transfer_init(t, curl) != 0)
		return -1;
	set_texts(L, t);
	set_ca(L, t);
	set_headers(L, t);
	if (set_files(L, t) < 0)
		return -1;
	set_method_and_body(L, t);
	set_connect_timeout(L, t);
	set_connection(L, t);
	return t->result == CURLE_OK ? 0 : -1;
}

/* --- the answer -------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *key, const char *text)
{
	lua_pushstring(L, text);
	lua_setfield(L, -2, key);
}

static void set_info(lua_State *L, struct transfer *t, const char *key, CURLINFO info)
{
	long value = 0;

	if (t->easy != NULL)
		t->curl->easy_getinfo(t->easy, info, &value);
	if (value == 0)
		return;
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static int fail(lua_State *L, struct transfer *t, const char *message,
                const struct curl_error *error)
{
	lua_pushnil(L);
	lua_pushstring(L, message);
	lua_pushstring(L, error->mapped);
	lua_newtable(L);
	set_text(L, "kind", error->kind);
	set_text(L, "library_code", error->name);
	lua_pushinteger(L, (lua_Integer)error->code);
	lua_setfield(L, -2, "library_number");
	set_info(L, t, "status", CURLINFO_RESPONSE_CODE);
	set_info(L, t, "proxy_status", CURLINFO_HTTP_CONNECTCODE);
	transfer_release(t);
	return 4;
}

/* When our callbacks stop an exchange, libcurl's code doesn't show the reason. */
static CURLcode true_reason(const struct transfer *t)
{
	if (t->head.failed || t->body.failed)
		return CURLE_OUT_OF_MEMORY;
	return t->too_large != NULL ? CURLE_FILESIZE_EXCEEDED : t->result;
}

/* A file of ours, not the exchange, is the trouble. */
static int fail_file(lua_State *L, struct transfer *t)
{
	int number = t->file_errno;
	struct curl_error error = {
		.code = CURLE_WRITE_ERROR, .name = "CURLE_WRITE_ERROR", .kind = "file",
		.mapped = number == ENOSPC || number == EDQUOT || number == EMFILE || number == ENFILE ? "RESOURCE_EXHAUSTED"
		          : number == ENOENT ? "NOT_FOUND" : number == EACCES || number == EPERM ? "PERMISSION_DENIED" : "GENERAL_ERROR",
	};

	return fail(L, t, strerror(number), &error);
}

static int fail_curl(lua_State *L, struct transfer *t)
{
	CURLcode code = true_reason(t);
	bool has_words = t->message[0] != '\0' && code == t->result;
	const char *text = has_words ? t->message : t->curl->easy_strerror(code);

	if (t->file_errno != 0)
		return fail_file(L, t);
	return fail(L, t, t->too_large != NULL ? t->too_large : text, curl_error_find(code));
}

static int fail_timeout(lua_State *L, struct transfer *t, const char *limit)
{
	int results = fail(L, t, "the time limit passed before the response was complete",
	                   curl_error_find(CURLE_OPERATION_TIMEDOUT));

	set_text(L, "limit", limit);
	return results;
}

static int fail_unopened(lua_State *L, const char *why)
{
	lua_pushnil(L);
	lua_pushstring(L, why);
	lua_pushliteral(L, "PRECONDITION");
	lua_newtable(L);
	set_text(L, "kind", "library");
	return 4;
}

static int answer(lua_State *L, struct transfer *t)
{
	char *redirect = NULL;

	if (t->result != CURLE_OK)
		return fail_curl(L, t);
	t->curl->easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &redirect);
	lua_newtable(L);
	set_info(L, t, "status", CURLINFO_RESPONSE_CODE);
	set_text(L, "redirect", redirect);
	lua_pushlstring(L, buf_cstr(&t->head), t->head.len);
	lua_setfield(L, -2, "head");
	lua_pushlstring(L, buf_cstr(&t->body), t->body.len);
	lua_setfield(L, -2, "body");
	transfer_release(t);
	return 1;
}

/* At the attempt's deadline, wait for the supervisor's TERM: its verdict names the
 * limit and the steps, and ours would only race with it. */
static int end_of_attempt(lua_State *L, struct transfer *t, mono_t deadline)
{
	transfer_release(t);
	if (cancel_poll(NULL, 0, mono_add_ms(deadline, CANCEL_TERM_DUE_MS)) == CANCEL_POLL_CANCELLED)
		return cancel_raise(L);
	return fail_timeout(L, t, "attempt");
}

static int run(lua_State *L, struct transfer *t)
{
	mono_t own = mono_deadline(mono_now(), spec_ms(L, "timeout_ms"));
	/* In cleanup after a TERM only the grace counts, and the supervisor enforces it. */
	mono_t attempt = cancel_seen() ? MONO_NEVER : cancel_deadline();

	switch (transfer_run(t, MIN_OF(own, attempt))) {
	case TRANSFER_DONE:
		return answer(L, t);
	case TRANSFER_TIMEOUT:
		return own <= attempt ? fail_timeout(L, t, "timeout")
		                      : end_of_attempt(L, t, attempt);
	case TRANSFER_CANCELLED:
		transfer_release(t);
		return cancel_raise(L);
	case TRANSFER_BROKEN:
		break;
	}
	return fail(L, t, "can't poll libcurl's sockets",
	            curl_error_find(CURLE_OUT_OF_MEMORY));
}

/* A transfer as the table at 1 says, pushed: 0, or the results of a failure. */
static int new_transfer(lua_State *L, struct transfer **t)
{
	const char *why = NULL;
	const struct curl_api *curl;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	curl = curl_open(&why);
	if (curl == NULL)
		return fail_unopened(L, why);
	*t = push_transfer(L);
	return prepare(L, *t, curl) == 0 ? 0 : fail_curl(L, *t);
}

/*
 * perform(spec): one exchange; no redirect is followed.
 * spec: url, method, headers (list of "Name: value"), body, user, password,
 * proxy, no_proxy, ca (path), timeout_ms, connect_timeout_ms (0: none), to (a file
 * for the body of a success), from (a file as the body), fresh (use no kept connection), connection
 * (http_gate_ask()). The
 * caller ensures that no string but body contains NUL, CR or LF.
 * Returns { status, head, body, redirect } or nil, message, CODE,
 * { kind, library_code, library_number, status, proxy_status, limit }.
 */
static int l_perform(lua_State *L)
{
	struct transfer *t;
	int results = new_transfer(L, &t);

	return results ? results : run(L, t);
}

/* begin(spec): the same for the caller's loop: a transfer for step(); fails as perform does. */
static int l_begin(lua_State *L)
{
	struct transfer *t;
	int results = new_transfer(L, &t);

	if (results)
		return results;
	t->until = mono_deadline(mono_now(), spec_ms(L, "timeout_ms"));
	return lua_pushvalue(L, 1), lua_setiuservalue(L, 2, 1), 1;
}

/* step(transfer): "wait" and a descriptor that gets readable when to call again; else as perform. */
static int l_step(lua_State *L)
{
	struct transfer *t = luaL_checkudata(L, 1, TRANSFER);
	enum transfer_end end;
	int fd;

	luaL_argcheck(L, t->easy != NULL, 1, "the exchange is over");
	if (!transfer_step(t, t->until, &end, &fd)) {
		lua_pushliteral(L, "wait");
		lua_pushinteger(L, fd);
		return 2;
	}
	if (end == TRANSFER_DONE)
		return answer(L, t);
	if (end == TRANSFER_TIMEOUT)
		return fail_timeout(L, t, "timeout");
	return fail(L, t, "can't poll libcurl's sockets", curl_error_find(CURLE_OUT_OF_MEMORY));
}

static const luaL_Reg FUNCTIONS[] = {
	{ "begin", l_begin },
	{ "gate_ask", http_gate_ask },
	{ "gate_take", http_gate_take },
	{ "gate_wait", http_gate_wait },
	{ "gated", http_gated },
	{ "host", http_host },
	{ "perform", l_perform },
	{ "retry_after", http_retry_after },
	{ "step", l_step },
	{ NULL, NULL },
};

int luaopen_runner_http(lua_State *L)
{
	if (luaL_newmetatable(L, TRANSFER)) {
		lua_pushcfunction(L, transfer_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_pop(L, 1);
	luaL_newlib(L, FUNCTIONS);
	return 1;
}
