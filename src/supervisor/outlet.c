/*
 * outlet.c: the backlog of what could not be written yet, and how it is served. Runs in
 * the supervisor; used for the caller's stdout and stderr.
 */
#include "outlet.h"

#include <errno.h>
#include <string.h>

#include "signals.h"

void outlet_init(struct outlet *o, int fd)
{
	*o = (struct outlet){ 0 };
	if (nowait_init(&o->to, fd) < 0)
		o->error = EBADF;
}

void outlet_release(struct outlet *o)
{
	nowait_release(&o->to);
	buf_release(&o->backlog);
}

/* How much of it went out before it would have blocked, or failed, or one turn
 * of the loop was over. */
static size_t write_now(struct outlet *o, const char *s, size_t n)
{
	size_t written = 0;

	while (!o->error && written < n && written <= OUTLET_BACKLOG_HIGH) {
		ssize_t put = nowait_write(&o->to, s + written, n - written);

		if (put == 0 || (put < 0 && (errno == EAGAIN || errno == EINTR)))
			break;
		if (put < 0)
			o->error = errno;
		else
			written += (size_t)put;
	}
	return written;
}

static size_t left(const struct outlet *o)
{
	return o->backlog.len - o->sent;
}

void outlet_flush(struct outlet *o)
{
	if (left(o) > 0)
		o->sent += write_now(o, o->backlog.data + o->sent, left(o));
	if (o->error)
		o->sent = o->backlog.len;
	/* moved only if it is no larger than what was written: linear in total */
	if (o->sent >= left(o)) {
		buf_consume(&o->backlog, o->sent);
		o->sent = 0;
	}
}

/* How much of n bytes there is room for. */
static size_t ration(struct outlet *o, size_t n)
{
	n = MIN_OF(n, o->most - o->taken);
	o->taken += n;
	return n;
}

void outlet_write(struct outlet *o, const void *bytes, size_t n, bool limited)
{
	size_t done = 0;

	if (o->most > 0)
		n = ration(o, n);
	if (o->error || n == 0)
		return;
	if (limited && left(o) + n > OUTLET_BACKLOG_MAX)
		n = OUTLET_BACKLOG_MAX - MIN_OF(left(o), OUTLET_BACKLOG_MAX);
	if (left(o) == 0)
		done = write_now(o, bytes, n);
	buf_add(&o->backlog, (const char *)bytes + done, n - done);
	outlet_flush(o);
}

void outlet_add(struct outlet *o, const void *bytes, size_t n)
{
	if (!o->error)
		buf_add(&o->backlog, bytes, n);
}

void outlet_give(struct outlet *o, struct buf *from)
{
	buf_release(&o->backlog);
	o->backlog = *from;
	*from = (struct buf)BUF_INIT;
	outlet_flush(o);
}

bool outlet_waiting(const struct outlet *o)
{
	return !o->error && left(o) > 0;
}

bool outlet_crowded(const struct outlet *o)
{
	return left(o) > OUTLET_BACKLOG_HIGH;
}

#define REST_MS 5

/* A descriptor that is ready but takes nothing would make us spin forever. */
static void flush_or_rest(struct outlet *o)
{
	size_t before = left(o);

	outlet_flush(o);
	if (left(o) == before)
		o->rest_until = mono_add_ms(mono_now(), REST_MS);
}

void outlet_poll(struct outlet *o, struct pollfd *fds, int n, mono_t deadline)
{
	struct pollfd all[SIGNALS_POLL_MAX];
	int count = n;

	if (n > 0)
		memcpy(all, fds, (size_t)n * sizeof(*fds));
	for (struct outlet *each = o; each; each = each->next) {
		bool waits = outlet_waiting(each), rests = waits && mono_now() < each->rest_until;

		all[count++] = (struct pollfd){ .fd = waits && !rests ? each->to.fd : -1, .events = POLLOUT };
		deadline = rests ? MIN_OF(deadline, each->rest_until) : deadline;
	}
	(void)signals_poll(all, count, deadline);
	if (n > 0)
		memcpy(fds, all, (size_t)n * sizeof(*fds));
	count = n;
	for (struct outlet *each = o; each; each = each->next)
		if (all[count++].revents)
			flush_or_rest(each);
}

void outlet_mute(struct outlet *o)
{
	o->error = EPIPE;
	outlet_flush(o);
}

int outlet_drain(struct outlet *o, mono_t deadline)
{
	int before = signals_count();

	for (outlet_flush(o); outlet_waiting(o); outlet_poll(o, NULL, 0, deadline))
		if (mono_now() >= deadline || signals_count() != before)
			return -1;
	return o->error || o->backlog.failed ? -1 : 0;
}
