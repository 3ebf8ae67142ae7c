/*
 * outlet.c: non-blocking writes to inherited descriptors. Runs in the
 * supervisor; used for the caller's stdout and stderr.
 */
#include "outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/os.h"
#include "signals.h"

#define CAREFUL_WRITE 512 /* POSIX: a ready pipe takes this much at once */

void outlet_init(struct outlet *o, int fd)
{
	struct stat st;
	int own = -1;

	*o = (struct outlet){ .fd = fd, .kind = OUTLET_PLAIN };
	if (fd < 0 || fstat(fd, &st) < 0) {
		o->kind = OUTLET_CAREFUL; /* whatever it is */
		o->error = fd < 0 || errno == EBADF ? EBADF : 0;
		return;
	}
	if (S_ISSOCK(st.st_mode)) {
		o->kind = OUTLET_SOCKET;
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		own = os_reopen_nonblocking(fd, O_WRONLY);
		o->kind = own >= 0 ? OUTLET_PRIVATE : OUTLET_CAREFUL;
		o->fd = own >= 0 ? own : fd;
	}
}

void outlet_release(struct outlet *o)
{
	if (o->kind == OUTLET_PRIVATE)
		xclose(&o->fd);
	buf_release(&o->backlog);
}

static ssize_t write_some(struct outlet *o)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	size_t n = o->backlog.len;

	switch (o->kind) {
	case OUTLET_SOCKET:
		return send(o->fd, o->backlog.data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	case OUTLET_CAREFUL:
		if (poll(&p, 1, 0) != 1)
			return errno = EAGAIN, -1;
		return xwrite(o->fd, o->backlog.data, MIN_OF(n, CAREFUL_WRITE));
	default:
		return xwrite(o->fd, o->backlog.data, n);
	}
}

void outlet_flush(struct outlet *o)
{
	size_t written = 0;

	while (!o->error && o->backlog.len > 0) {
		ssize_t n = write_some(o);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			o->error = errno;
		else
			buf_consume(&o->backlog, (size_t)n), written += (size_t)n;
		if (written > OUTLET_BACKLOG_HIGH)
			break; /* one turn of the loop is over */
	}
	if (o->error)
		buf_clear(&o->backlog);
}

void outlet_write(struct outlet *o, const void *bytes, size_t n, bool limited)
{
	if (o->error)
		return;
	if (limited && o->backlog.len + n > OUTLET_BACKLOG_MAX)
		n = OUTLET_BACKLOG_MAX - MIN_OF(o->backlog.len, OUTLET_BACKLOG_MAX);
	buf_add(&o->backlog, bytes, n);
	outlet_flush(o);
}

bool outlet_waiting(const struct outlet *o)
{
	return !o->error && o->backlog.len > 0;
}

bool outlet_crowded(const struct outlet *o)
{
	return o->backlog.len > OUTLET_BACKLOG_HIGH;
}

int outlet_drain(struct outlet *o, mono_t deadline)
{
	int cancelled_before = signals_cancelled();

	for (outlet_flush(o); outlet_waiting(o); outlet_flush(o)) {
		struct pollfd p = { .fd = o->fd, .events = POLLOUT };
		struct timespec ts;

		if (mono_now() >= deadline || signals_insisted() ||
		    signals_cancelled() != cancelled_before)
			return -1;
		if (ppoll(&p, 1, mono_left(deadline, mono_now(), &ts), signals_open_mask()) < 0 &&
		    errno != EINTR)
			return -1;
	}
	return o->error || o->backlog.failed ? -1 : 0;
}
