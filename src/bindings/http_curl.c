/*
 * http_curl.c: opens libcurl, explains its error codes and keeps signals away
 * from its threads. Runs in the worker; it knows nothing of Lua or requests.
 */
#include "http_curl.h"

#include <string.h>
#include <time.h>

#include "library.h"

static const char *const LIBRARIES[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

static const struct library_symbol SYMBOLS[] = {
#define CURL_SYMBOL(name) LIBRARY_SYMBOL(struct curl_api, curl_, name),
	CURL_FUNCTIONS(CURL_SYMBOL)
#undef CURL_SYMBOL
};

static bool open_one(const char *name, struct curl_api *api)
{
	void *library = library_open(name, SYMBOLS, ARRAY_LEN(SYMBOLS), api);

	if (library == NULL)
		return false;
	if (api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		return true;
	library_close(library);
	return false;
}

const struct curl_api *curl_open(const char **why)
{
	static struct curl_api api;
	static bool opened;

	for (size_t i = 0; !opened && i < ARRAY_LEN(LIBRARIES); i++)
		opened = open_one(LIBRARIES[i], &api);
	if (opened)
		return &api;
	*why = library_why("the library lacks a function that runner needs");
	return NULL;
}

#define ROW(code, mapped, kind) { code, #code, mapped, kind }

static const struct curl_error ERRORS[] = {
	ROW(CURLE_OPERATION_TIMEDOUT, "TIMEOUT", "timeout"),
	ROW(CURLE_COULDNT_RESOLVE_HOST, "NETWORK_ERROR", "resolve"),
	ROW(CURLE_COULDNT_RESOLVE_PROXY, "NETWORK_ERROR", "proxy"),
	ROW(CURLE_COULDNT_CONNECT, "NETWORK_ERROR", "connect"),
	ROW(CURLE_INTERFACE_FAILED, "NETWORK_ERROR", "connect"),
	ROW(CURLE_NO_CONNECTION_AVAILABLE, "NETWORK_ERROR", "connect"),
	ROW(CURLE_PROXY, "NETWORK_ERROR", "proxy"),
	ROW(CURLE_SSL_CONNECT_ERROR, "NETWORK_ERROR", "tls"),
	ROW(CURLE_SSL_SHUTDOWN_FAILED, "NETWORK_ERROR", "tls"),
	ROW(CURLE_SEND_ERROR, "NETWORK_ERROR", "broken"),
	ROW(CURLE_RECV_ERROR, "NETWORK_ERROR", "broken"),
	ROW(CURLE_GOT_NOTHING, "NETWORK_ERROR", "broken"),
	ROW(CURLE_PARTIAL_FILE, "NETWORK_ERROR", "broken"),
	ROW(CURLE_HTTP2, "NETWORK_ERROR", "broken"),
	ROW(CURLE_HTTP2_STREAM, "NETWORK_ERROR", "broken"),
	ROW(CURLE_WEIRD_SERVER_REPLY, "NETWORK_ERROR", "broken"),
	ROW(CURLE_AGAIN, "NETWORK_ERROR", "broken"),
	ROW(CURLE_PEER_FAILED_VERIFICATION, "PRECONDITION", "certificate"),
	ROW(CURLE_SSL_ISSUER_ERROR, "PRECONDITION", "certificate"),
	ROW(CURLE_SSL_INVALIDCERTSTATUS, "PRECONDITION", "certificate"),
	ROW(CURLE_SSL_PINNEDPUBKEYNOTMATCH, "PRECONDITION", "certificate"),
	ROW(CURLE_SSL_CACERT_BADFILE, "PRECONDITION", "ca_file"),
	ROW(CURLE_SSL_CRL_BADFILE, "PRECONDITION", "ca_file"),
	ROW(CURLE_SSL_CERTPROBLEM, "PRECONDITION", "certificate"),
	ROW(CURLE_SSL_CIPHER, "PRECONDITION", "tls"),
	ROW(CURLE_SSL_ENGINE_NOTFOUND, "PRECONDITION", "tls"),
	ROW(CURLE_SSL_ENGINE_SETFAILED, "PRECONDITION", "tls"),
	ROW(CURLE_SSL_ENGINE_INITFAILED, "PRECONDITION", "tls"),
	ROW(CURLE_USE_SSL_FAILED, "PRECONDITION", "tls"),
	ROW(CURLE_URL_MALFORMAT, "PRECONDITION", "url"),
	ROW(CURLE_UNSUPPORTED_PROTOCOL, "PRECONDITION", "protocol"),
	ROW(CURLE_NOT_BUILT_IN, "PRECONDITION", "protocol"),
	ROW(CURLE_LOGIN_DENIED, "AUTH_REQUIRED", "login"),
	ROW(CURLE_FILESIZE_EXCEEDED, "OUTPUT_TOO_LARGE", "too_large"),
	ROW(CURLE_OUT_OF_MEMORY, "RESOURCE_EXHAUSTED", "memory"),
};

const struct curl_error *curl_error_find(CURLcode code)
{
	static struct curl_error other = { CURLE_OK, "CURLE_OTHER", "INTERNAL_ERROR", "other" };

	for (size_t i = 0; i < ARRAY_LEN(ERRORS); i++)
		if (ERRORS[i].code == code)
			return &ERRORS[i];
	other.code = code;
	return &other;
}

static bool sigpipe_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

void signal_guard_enter(struct signal_guard *guard)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &guard->before);
	guard->pipe_pending = sigpipe_pending();
}

void signal_guard_leave(const struct signal_guard *guard)
{
	static const struct timespec at_once;
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (!guard->pipe_pending && sigpipe_pending())
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}
