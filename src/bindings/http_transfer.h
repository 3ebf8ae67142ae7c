/*
 * http_transfer.h: one HTTP exchange over libcurl, without Lua: its callbacks,
 * and the loop, which blocks in cancel_poll() only. Private to the http binding,
 * which builds the request and interprets the response.
 */
#ifndef RUNNER_HTTP_TRANSFER_H
#define RUNNER_HTTP_TRANSFER_H

#include "../common/buf.h"
#include "../worker/cancel.h"
#include "http_curl.h"

#define TRANSFER_SOCKETS_MAX 16
#define TRANSFER_BODY_MAX ((size_t)16 << 20)
#define TRANSFER_HEAD_MAX ((size_t)256 << 10) /* below the 300 KiB of libcurl itself */

/* May be released when all but `curl` is zero. Must not move while in use. */
struct transfer {
	const struct curl_api *curl;
	CURL *easy;
	CURLM *multi;
	struct curl_slist *headers, *placeholder;
	struct pollfd fds[TRANSFER_SOCKETS_MAX];
	int fds_count;
	int epoll, timer_fd; /* of transfer_watch(); 0: none */
	bool begun;
	int connected;  /* a socket to use, and no other (transfer_over()); 0: none; -1: libcurl has it */
	int out, in;    /* files for the bodies of the response and of the request; 0: none */
	size_t written; /* to `out` */
	curl_off_t moved; /* bytes of both bodies */
	int file_errno; /* why one of them failed; 0: none has */
	mono_t until; /* for those who step: when it must be over */
	mono_t timer; /* when libcurl wants to be called next */
	bool done;
	const char *too_large; /* the part that is, if we stopped the exchange for its size */
	CURLcode result; /* of the exchange; before it, the first option refused */
	struct buf head; /* status line and headers of the newest response */
	struct buf body;
	char message[CURL_ERROR_SIZE];
};

/* Handles, callbacks and the options that every request shares. 0, or -1 with
 * the reason in `result`. Release it either way. */
int transfer_init(struct transfer *t, const struct curl_api *curl);
/* Close the connections that earlier exchanges left open. */
void transfer_forget_connections(const struct curl_api *curl);
/* Free everything. Idempotent. */
void transfer_release(struct transfer *t);

/* Set an option; the first failure stays in `result`. */
void transfer_set_long(struct transfer *t, CURLoption option, long value);
void transfer_set_size(struct transfer *t, CURLoption option, size_t value);
void transfer_set_pointer(struct transfer *t, CURLoption option, const void *value);
/* Add a request header, "Name: value"; libcurl copies it. */
void transfer_add_header(struct transfer *t, const char *line);

enum transfer_end {
	TRANSFER_DONE,      /* `result` has libcurl's verdict */
	TRANSFER_TIMEOUT,   /* `until` passed first */
	TRANSFER_CANCELLED, /* release, then cancel_raise() */
	TRANSFER_BROKEN,    /* the sockets can't be polled */
};

/* Run the exchange to its end, at most until `until`, which moves with Ctrl+Z. */
enum transfer_end transfer_run(struct transfer *t, mono_t until);

/* For a loop that isn't ours: act on what is ready, without waiting. True: the exchange is over, and
 * *end says how. False: call it again once the descriptor in *fd is readable, which is valid
 * until then; it belongs to the transfer. */
bool transfer_step(struct transfer *t, mono_t until, enum transfer_end *end, int *fd);

/* --- its socket --- */
/* Make the exchange over this connected socket, which is the transfer's from now on. */
void transfer_over(struct transfer *t, int fd);

/* --- its files --- */
/* The body of a success (2xx) goes to this file, any other to `body`. 0, or -1 with file_errno. */
int transfer_to_file(struct transfer *t, const char *path);
/* The request's body is this regular file. 0, or -1 with file_errno. */
int transfer_from_file(struct transfer *t, const char *path);

#endif
