/*
 * http_transfer.c: the exchange of http_transfer.h. Runs in the worker. libcurl
 * names the sockets and the time that it waits for; the loop here does the waiting.
 * No Lua, no policy: lua/ctx/http.lua decides what a status or a redirect means.
 */
#include "http_transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "../engine/gate.h"

/*
 * The sockets of an exchange: libcurl's own, close-on-exec, or one that is
 * connected already.
 */

/* libcurl 7.88 connects what it was told is connected (CURL_SOCKOPT_ALREADY_CONNECTED), which a confined worker may
 * not. This is its connect(2): a program's own functions come before those of libraries. */
__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);

	if (gate_is_there() && getpeername(fd, (struct sockaddr *)&peer, &n) == 0)
		return 0;
	return (int)syscall(SYS_connect, fd, address, size);
}

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct transfer *t = user;
	int fd = t->connected;

	(void)purpose;
	if (fd == 0)
		return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	t->connected = -1;
	return fd;
}

static int on_opened(void *user, curl_socket_t fd, curlsocktype purpose)
{
	const struct transfer *t = user;

	(void)fd;
	(void)purpose;
	return t->connected ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

/* Have libcurl make its sockets by us. */
static void transfer_make_sockets(struct transfer *t)
{
	t->curl->easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	t->curl->easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
	t->curl->easy_setopt(t->easy, CURLOPT_SOCKOPTFUNCTION, on_opened);
	t->curl->easy_setopt(t->easy, CURLOPT_SOCKOPTDATA, t);
}

/* An address that no host has (RFC 5737) stands for the one at the other end: no name is looked up here. */
void transfer_over(struct transfer *t, int fd)
{
	t->connected = fd;
	t->placeholder = t->curl->slist_append(NULL, "::192.0.2.1:");
	if (t->placeholder == NULL)
		t->result = CURLE_OUT_OF_MEMORY;
	transfer_set_pointer(t, CURLOPT_CONNECT_TO, t->placeholder);
	transfer_set_long(t, CURLOPT_FRESH_CONNECT, 1);
	transfer_set_long(t, CURLOPT_FORBID_REUSE, 1);
}

/*
 * Bodies as files: a response that is written to one, a request that is read from one, both of any size.
 */

int transfer_to_file(struct transfer *t, const char *path)
{
	t->out = xopen(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
	if (t->out >= 0)
		return 0;
	t->out = 0;
	t->file_errno = errno;
	return -1;
}

static size_t on_read(char *bytes, size_t size, size_t n, void *user)
{
	struct transfer *t = user;
	ssize_t got = xread(t->in, bytes, size * n);

	if (got >= 0)
		return (size_t)got;
	t->file_errno = errno;
	return CURL_READFUNC_ABORT;
}

/* libcurl starts over when a connection that it kept turns out to be gone. */
static int on_seek(void *user, curl_off_t offset, int origin)
{
	struct transfer *t = user;

	return lseek(t->in, (off_t)offset, origin) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

int transfer_from_file(struct transfer *t, const char *path)
{
	const struct curl_api *curl = t->curl;
	struct stat st;

	t->in = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (t->in < 0 || fstat(t->in, &st) < 0 || !S_ISREG(st.st_mode)) {
		t->file_errno = t->in < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		t->in = t->in < 0 ? 0 : t->in;
		return -1;
	}
	transfer_set_long(t, CURLOPT_UPLOAD, 1);
	transfer_set_long(t, CURLOPT_FORBID_REUSE, 1);
	transfer_set_size(t, CURLOPT_INFILESIZE_LARGE, (size_t)st.st_size);
	curl->easy_setopt(t->easy, CURLOPT_READFUNCTION, on_read);
	curl->easy_setopt(t->easy, CURLOPT_READDATA, t);
	curl->easy_setopt(t->easy, CURLOPT_SEEKFUNCTION, on_seek);
	curl->easy_setopt(t->easy, CURLOPT_SEEKDATA, t);
	return 0;
}

/* Does what arrives now go to the file? */
static bool transfer_writes(const struct transfer *t)
{
	long status = 0;

	if (t->out > 0)
		t->curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

/* n; 0 with file_errno. */
static size_t transfer_write(struct transfer *t, const char *bytes, size_t n)
{
	if (xwrite_all(t->out, bytes, n) < 0) {
		t->file_errno = errno;
		return 0;
	}
	t->written += n;
	return n;
}

static void transfer_close_files(struct transfer *t)
{
	int *fds[] = { &t->out, &t->in };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (*fds[i] > 0)
			xclose(fds[i]);
		*fds[i] = 0;
	}
}

/* --- what libcurl calls ---------------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
	struct transfer *t = user;

	n *= size;
	if (transfer_writes(t))
		return transfer_write(t, bytes, n);
	if (n > TRANSFER_BODY_MAX - t->body.len) {
		t->too_large = "its body is larger than 16 MiB";
		return 0;
	}
	buf_add(&t->body, bytes, n);
	return t->body.failed ? 0 : n;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *user)
{
	struct transfer *t = user;

	n *= size;
	if (n >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
		buf_clear(&t->head); /* the previous head was interim (1xx) */
	if (n > TRANSFER_HEAD_MAX - t->head.len) {
		t->too_large = "its headers are larger than 256 KiB";
		return 0;
	}
	buf_add(&t->head, bytes, n);
	return t->head.failed ? 0 : n;
}

static int find_socket(const struct transfer *t, curl_socket_t fd)
{
	int i = 0;

	while (i < t->fds_count && t->fds[i].fd != fd)
		i++;
	return i;
}

static short poll_events(int what)
{
	return (short)(((what & CURL_POLL_IN) ? POLLIN : 0) | ((what & CURL_POLL_OUT) ? POLLOUT : 0));
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
	struct transfer *t = user;
	int i = find_socket(t, fd);

	(void)easy;
	(void)socket_user;
	if (what == CURL_POLL_REMOVE) {
		if (i < t->fds_count)
			t->fds[i] = t->fds[--t->fds_count];
		return 0;
	}
	if (i == TRANSFER_SOCKETS_MAX)
		return -1;
	t->fds[i] = (struct pollfd){ .fd = fd, .events = poll_events(what) };
	t->fds_count = MAX_OF(t->fds_count, i + 1);
	return 0;
}

static int on_timer(CURLM *multi, long ms, void *user)
{
	struct transfer *t = user;

	(void)multi;
	t->timer = ms < 0 ? MONO_NEVER : mono_add_ms(mono_now(), ms);
	return 0;
}

/* --- options -------------------------------------------------------------------- */

static void note(struct transfer *t, CURLcode code)
{
	if (t->result == CURLE_OK)
		t->result = code;
}

void transfer_set_long(struct transfer *t, CURLoption option, long value)
{
	note(t, t->curl->easy_setopt(t->easy, option, value));
}

void transfer_set_size(struct transfer *t, CURLoption option, size_t value)
{
	note(t, t->curl->easy_setopt(t->easy, option, (curl_off_t)value));
}

void transfer_set_pointer(struct transfer *t, CURLoption option, const void *value)
{
	note(t, t->curl->easy_setopt(t->easy, option, value));
}

void transfer_add_header(struct transfer *t, const char *line)
{
	struct curl_slist *longer = t->curl->slist_append(t->headers, line);

	if (longer == NULL)
		note(t, CURLE_OUT_OF_MEMORY);
	else
		t->headers = longer;
}

/* The same for every request. */
static const struct long_option {
	CURLoption option;
	long value;
} LONG_OPTIONS[] = {
	{ CURLOPT_NOSIGNAL, 1 },
	{ CURLOPT_FOLLOWLOCATION, 0 },
	{ CURLOPT_SSL_VERIFYPEER, 1 },
	{ CURLOPT_SSL_VERIFYHOST, 2 },
	{ CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
	{ CURLOPT_SUPPRESS_CONNECT_HEADERS, 1 },
	{ CURLOPT_HTTPAUTH, CURLAUTH_BASIC },
	{ CURLOPT_NETRC, CURL_NETRC_IGNORED },
};

/* Multi handles of exchanges that went well, with the connections that their servers left open: the
 * next request to the same place needs no new one. A worker is one thread. */
#define KEPT_MAX 8
static CURLM *kept[KEPT_MAX];
static int kept_count;

static CURLM *take_multi(const struct curl_api *curl)
{
	return kept_count > 0 ? kept[--kept_count] : curl->multi_init();
}

static void give_multi(struct transfer *t)
{
	if (!t->done || t->result != CURLE_OK || kept_count == KEPT_MAX) {
		t->curl->multi_cleanup(t->multi);
		return;
	}
	t->curl->multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, NULL);
	t->curl->multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, NULL);
	kept[kept_count++] = t->multi;
}

void transfer_forget_connections(const struct curl_api *curl)
{
	while (kept_count > 0)
		curl->multi_cleanup(kept[--kept_count]);
}

static void set_callbacks(struct transfer *t)
{
	const struct curl_api *curl = t->curl;

	curl->easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl->easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	curl->easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl->easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	transfer_make_sockets(t);
	curl->easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
	curl->multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl->multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t);
	curl->multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl->multi_setopt(t->multi, CURLMOPT_TIMERDATA, t);
}

static void set_constants(struct transfer *t)
{
	for (size_t i = 0; i < ARRAY_LEN(LONG_OPTIONS); i++)
		transfer_set_long(t, LONG_OPTIONS[i].option, LONG_OPTIONS[i].value);
	transfer_set_pointer(t, CURLOPT_USERAGENT, "runner/" RUNNER_VERSION);
	/* Some usable libraries are too old for this option. It is only a second
	 * check: the Lua half accepts nothing but HTTP. */
	t->curl->easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	/* A resolver thread that hangs must not delay a cancellation. */
	t->curl->easy_setopt(t->easy, CURLOPT_QUICK_EXIT, 1L);
}

int transfer_init(struct transfer *t, const struct curl_api *curl)
{
	memset(t, 0, sizeof *t);
	t->curl = curl;
	t->timer = MONO_NEVER;
	t->easy = curl->easy_init();
	t->multi = take_multi(curl);
	if (t->easy == NULL || t->multi == NULL) {
		t->result = CURLE_OUT_OF_MEMORY;
		return -1;
	}
	set_callbacks(t);
	set_constants(t);
	return t->result == CURLE_OK ? 0 : -1;
}

static void close_watch(struct transfer *t)
{
	int *fds[] = { &t->epoll, &t->timer_fd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (*fds[i] > 0)
			xclose(fds[i]);
		*fds[i] = 0;
	}
}

void transfer_release(struct transfer *t)
{
	struct signal_guard guard;

	signal_guard_enter(&guard);
	if (t->multi != NULL && t->easy != NULL)
		t->curl->multi_remove_handle(t->multi, t->easy);
	if (t->easy != NULL)
		t->curl->easy_cleanup(t->easy);
	if (t->multi != NULL)
		give_multi(t);
	if (t->headers != NULL)
		t->curl->slist_free_all(t->headers);
	if (t->placeholder != NULL)
		t->curl->slist_free_all(t->placeholder);
	signal_guard_leave(&guard);
	close_watch(t);
	transfer_close_files(t);
	t->easy = NULL;
	t->multi = NULL;
	t->headers = t->placeholder = NULL;
	if (t->connected > 0)
		xclose(&t->connected);
	buf_release(&t->head);
	buf_release(&t->body);
}

/* --- the loop --------------------------------------------------------------------- */

static void collect_result(struct transfer *t)
{
	curl_off_t sent = 0, got = 0;
	CURLMsg *message;
	int left;

	t->curl->easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	t->curl->easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &got);
	if (sent + got != t->moved)
		rest_changed();
	t->moved = sent + got;
	while ((message = t->curl->multi_info_read(t->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		t->done = true;
		t->result = message->data.result;
	}
}

static int act(struct transfer *t, curl_socket_t fd, int events)
{
	struct signal_guard guard;
	CURLMcode code;
	int running;

	signal_guard_enter(&guard);
	code = t->curl->multi_socket_action(t->multi, fd, events, &running);
	collect_result(t);
	signal_guard_leave(&guard);
	return code == CURLM_OK ? 0 : -1;
}

static int curl_events(short revents)
{
	return ((revents & POLLIN) ? CURL_CSELECT_IN : 0) |
	       ((revents & POLLOUT) ? CURL_CSELECT_OUT : 0) |
	       ((revents & (POLLERR | POLLHUP | POLLNVAL)) ? CURL_CSELECT_ERR : 0);
}

/* A copy, since every action may rewrite the table. */
static int act_on_ready(struct transfer *t)
{
	struct pollfd ready[TRANSFER_SOCKETS_MAX];
	int count = t->fds_count;

	memcpy(ready, t->fds, sizeof ready);
	for (int i = 0; i < count && !t->done; i++)
		if (ready[i].revents != 0 &&
		    act(t, ready[i].fd, curl_events(ready[i].revents)) != 0)
			return -1;
	return 0;
}

static int act_on_timer(struct transfer *t)
{
	if (t->timer > mono_now())
		return 0;
	t->timer = MONO_NEVER;
	return act(t, CURL_SOCKET_TIMEOUT, 0);
}

enum transfer_end transfer_run(struct transfer *t, mono_t until)
{
	mono_t paused = cancel_paused();

	if (t->curl->multi_add_handle(t->multi, t->easy) != CURLM_OK)
		return TRANSFER_BROKEN;
	while (!t->done) {
		int ready = cancel_poll(t->fds, t->fds_count,
		                        MIN_OF(t->timer, cancel_shift(until, paused)));

		if (ready == CANCEL_POLL_CANCELLED)
			return TRANSFER_CANCELLED;
		if (ready < 0)
			return TRANSFER_BROKEN;
		if ((ready > 0 && act_on_ready(t) != 0) || act_on_timer(t) != 0)
			return TRANSFER_BROKEN;
		if (!t->done && cancel_shift(until, paused) <= mono_now())
			return TRANSFER_TIMEOUT;
	}
	return TRANSFER_DONE;
}

/* --- a step of the caller's loop ------------------------------------------------- */

static int add_timer(struct transfer *t, mono_t until)
{
	mono_t at = MIN_OF(t->timer, until);
	struct epoll_event event = { .events = EPOLLIN };
	struct itimerspec when = { 0 };

	if (at == MONO_NEVER)
		return 0;
	at = MAX_OF(at, 1); /* 0 would switch it off */
	when.it_value = (struct timespec){ .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
	t->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (t->timer_fd < 0 || timerfd_settime(t->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return -1;
	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->timer_fd, &event);
}

/* One descriptor for all that the exchange waits for: made anew each time, as libcurl's sockets
 * come and go, and a number may have become another socket's. */
static int watch(struct transfer *t, mono_t until)
{
	close_watch(t);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return -1;
	for (int i = 0; i < t->fds_count; i++) {
		struct epoll_event event = { .events = ((t->fds[i].events & POLLIN) ? EPOLLIN : 0u) |
			                               ((t->fds[i].events & POLLOUT) ? EPOLLOUT : 0u) };

		if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->fds[i].fd, &event) < 0)
			return -1;
	}
	return add_timer(t, until);
}

static int act_now(struct transfer *t)
{
	int ready;

	if (!t->begun) {
		t->begun = true;
		if (t->curl->multi_add_handle(t->multi, t->easy) != CURLM_OK)
			return -1;
	}
	ready = poll(t->fds, (nfds_t)t->fds_count, 0);
	return (ready > 0 && act_on_ready(t) != 0) || act_on_timer(t) != 0 ? -1 : 0;
}

bool transfer_step(struct transfer *t, mono_t until, enum transfer_end *end, int *fd)
{
	if (act_now(t) < 0)
		return *end = TRANSFER_BROKEN, true;
	if (t->done)
		return *end = TRANSFER_DONE, true;
	if (until <= mono_now())
		return *end = TRANSFER_TIMEOUT, true;
	if (watch(t, until) < 0)
		return *end = TRANSFER_BROKEN, true;
	*fd = t->epoll;
	return false;
}
