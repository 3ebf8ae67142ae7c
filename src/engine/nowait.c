/*
 * nowait.c: which way of not waiting a descriptor has, and the calls. For both sides of
 * the fork; knows no loop and no Lua.
 */
#include "nowait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "os.h"

#define CAREFUL_SIZE 512 /* POSIX: a ready pipe takes this much at once */

int nowait_init(struct nowait *f, int fd)
{
	struct stat st;

	*f = (struct nowait){ .fd = fd, .kind = NOWAIT_PLAIN };
	if (fd < 0 || fstat(fd, &st) < 0) {
		f->kind = NOWAIT_CAREFUL; /* whatever it is */
		if (fd < 0)
			errno = EBADF;
		return errno == EBADF ? -1 : 0;
	}
	if (S_ISSOCK(st.st_mode))
		f->kind = NOWAIT_SOCKET;
	else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		f->kind = NOWAIT_SHARED;
	return 0;
}

void nowait_release(struct nowait *f)
{
	if (f->kind == NOWAIT_PRIVATE)
		xclose(&f->fd);
}

/* Through /proc, so only when something is to be moved. */
static void open_own(struct nowait *f, int flags)
{
	int own = os_reopen_nonblocking(f->fd, flags);

	f->kind = own >= 0 ? NOWAIT_PRIVATE : NOWAIT_CAREFUL;
	f->fd = own >= 0 ? own : f->fd;
}

static bool is_ready(const struct nowait *f, short events)
{
	struct pollfd p = { .fd = f->fd, .events = events };

	return poll(&p, 1, 0) == 1;
}

static ssize_t changed(ssize_t moved)
{
	if (moved > 0)
		rest_changed();
	return moved;
}

ssize_t nowait_write(struct nowait *f, const void *bytes, size_t n)
{
	ssize_t put;

	if (f->fd < 0)
		return errno = EBADF, -1;
	if (f->kind == NOWAIT_SHARED) {
		put = changed(os_write_nowait(f->fd, bytes, n));
		if (put >= 0 || errno != EOPNOTSUPP)
			return put;
		open_own(f, O_WRONLY);
	}
	switch (f->kind) {
	case NOWAIT_SOCKET:
		return changed(send(f->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL));
	case NOWAIT_CAREFUL:
		if (!is_ready(f, POLLOUT))
			return errno = EAGAIN, -1;
		return xwrite(f->fd, bytes, MIN_OF(n, CAREFUL_SIZE));
	default:
		return xwrite(f->fd, bytes, n);
	}
}

ssize_t nowait_read(struct nowait *f, void *bytes, size_t n)
{
	if (f->fd < 0)
		return errno = EBADF, -1;
	if (f->kind == NOWAIT_SHARED)
		open_own(f, O_RDONLY);
	switch (f->kind) {
	case NOWAIT_SOCKET:
		return changed(recv(f->fd, bytes, n, MSG_DONTWAIT));
	case NOWAIT_CAREFUL:
		if (!is_ready(f, POLLIN))
			return errno = EAGAIN, -1;
		return xread(f->fd, bytes, n);
	default:
		return xread(f->fd, bytes, n);
	}
}
