/*
 * http_curl.h: libcurl, opened on first use (library.h), since linking it
 * would cost every run 4 ms. Private to the http binding. Functions are
 * called through the table; the headers are needed at build time only.
 */
#ifndef RUNNER_HTTP_CURL_H
#define RUNNER_HTTP_CURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <signal.h>

#include "../common/base.h"

/* Every function that we call: CURL_FUNCTION(name without the prefix curl_). */
#define CURL_FUNCTIONS(CURL_FUNCTION)                                                              \
	CURL_FUNCTION(easy_cleanup)                                                                \
	CURL_FUNCTION(easy_getinfo)                                                                \
	CURL_FUNCTION(easy_init)                                                                   \
	CURL_FUNCTION(easy_setopt)                                                                 \
	CURL_FUNCTION(easy_strerror)                                                               \
	CURL_FUNCTION(free)                                                                        \
	CURL_FUNCTION(global_init)                                                                 \
	CURL_FUNCTION(multi_add_handle)                                                            \
	CURL_FUNCTION(multi_cleanup)                                                               \
	CURL_FUNCTION(multi_info_read)                                                             \
	CURL_FUNCTION(multi_init)                                                                  \
	CURL_FUNCTION(multi_remove_handle)                                                         \
	CURL_FUNCTION(multi_setopt)                                                                \
	CURL_FUNCTION(multi_socket_action)                                                         \
	CURL_FUNCTION(slist_append)                                                                \
	CURL_FUNCTION(slist_free_all)                                                              \
	CURL_FUNCTION(url)                                                                         \
	CURL_FUNCTION(url_cleanup)                                                                 \
	CURL_FUNCTION(url_get)                                                                     \
	CURL_FUNCTION(url_set)                                                                     \
	CURL_FUNCTION(version)

struct curl_api {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* The opened library, the same pointer every time; NULL, with the loader's
 * reason in *why (static memory), when there is none that we can use. */
const struct curl_api *curl_open(const char **why);

/* What a CURLcode means here. Never NULL: unknown codes map to INTERNAL_ERROR. */
struct curl_error {
	CURLcode code;
	const char *name;   /* "CURLE_COULDNT_CONNECT" */
	const char *mapped; /* the registry's error code */
	const char *kind;   /* "network", "certificate" …: the Lua half words it */
};

const struct curl_error *curl_error_find(CURLcode code);

/*
 * Calls into libcurl run between these two, with every signal blocked: the
 * resolver's threads inherit that mask, so TERM always reaches the main thread,
 * and a SIGPIPE from the TLS library is discarded (CURLOPT_NOSIGNAL leaves that
 * to us).
 */
struct signal_guard {
	sigset_t before;
	bool pipe_pending;
};

void signal_guard_enter(struct signal_guard *guard);
void signal_guard_leave(const struct signal_guard *guard);

#endif
