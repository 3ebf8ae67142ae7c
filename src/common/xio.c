/*
 * xio.c: the system calls of xio.h. Both processes use it. It must not print or
 * change flags of a descriptor that we did not create ourselves.
 */
#include "xio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rest.h"

ssize_t xread(int fd, void *buf, size_t n)
{
	ssize_t got;
	do
		got = read(fd, buf, n);
	while (got < 0 && rest_again());
	if (got > 0)
		rest_changed();
	return got;
}

ssize_t xwrite(int fd, const void *buf, size_t n)
{
	ssize_t put;
	do
		put = write(fd, buf, n);
	while (put < 0 && rest_again());
	if (put > 0)
		rest_changed();
	return put;
}

int xwrite_all(int fd, const void *buf, size_t n)
{
	const char *s = buf;
	while (n > 0) {
		ssize_t put = xwrite(fd, s, n);
		if (put <= 0)
			return errno = put < 0 ? errno : EIO, -1;
		s += put;
		n -= (size_t)put;
	}
	return 0;
}

int xopen(const char *path, int flags, mode_t mode)
{
	int fd;
	do
		fd = open(path, flags | O_CLOEXEC, mode);
	while (fd < 0 && rest_again());
	return fd;
}

int xpipe(int fd[2])
{
	return pipe2(fd, O_CLOEXEC);
}

int xsocketpair(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd);
}

/* Room for the descriptors, aligned as cmsg(3) wants it. */
union fd_space {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(XFDS_MAX * sizeof(int))];
};

bool xsend_fds(int to, const void *bytes, size_t n, const int *fds, size_t count)
{
	union fd_space space = { .bytes = { 0 } };
	struct iovec piece = { (void *)bytes, n };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	ssize_t sent;

	if (count > 0) {
		message.msg_control = space.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		space.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&space.head), fds, count * sizeof(int));
	}
	do
		sent = sendmsg(to, &message, MSG_NOSIGNAL);
	while (sent < 0 && rest_again());
	return sent == (ssize_t)n;
}

ssize_t xreceive_fds(int from, void *bytes, size_t n, int *fds, size_t *count, int flags)
{
	union fd_space space;
	struct iovec piece = { bytes, n };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = space.bytes, /* no room for more than asked */
	                          .msg_controllen = CMSG_LEN(*count * sizeof(int)) };
	struct cmsghdr *head;
	ssize_t got;

	do
		got = recvmsg(from, &message, MSG_CMSG_CLOEXEC | flags);
	while (got < 0 && rest_again());
	if (got > 0)
		rest_changed();
	head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	*count = head && head->cmsg_type == SCM_RIGHTS ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	if (*count > 0)
		memcpy(fds, CMSG_DATA(head), *count * sizeof(int));
	return got;
}

int xdup_above(int fd, int lowest)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

void xclose(int *fd)
{
	int saved = errno;
	/* not repeated on EINTR: Linux has closed it already, and the number may be reused */
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int xsync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd, status;

	if (snprintf(dir, sizeof(dir), "%.*s.", slash ? (int)(slash - path) + 1 : 0, path) >= (int)sizeof(dir))
		return errno = ENAMETOOLONG, -1;
	fd = xopen(dir, O_RDONLY | O_DIRECTORY | O_NOCTTY, 0);
	status = fd < 0 ? -1 : fsync(fd);
	xclose(&fd);
	return status;
}

int xnonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static bool is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

int xopen_terminal(int end[2], unsigned short columns)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	char name[64];

	end[1] = -1;
	end[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (end[0] >= 0 && grantpt(end[0]) == 0 && unlockpt(end[0]) == 0 && ptsname_r(end[0], name, sizeof(name)) == 0)
		end[1] = xopen(name, O_RDWR | O_NOCTTY, 0);
	if (end[1] >= 0 && ioctl(end[0], TIOCSWINSZ, &size) == 0 && xnonblock(end[0]) == 0)
		return 0;
	xclose(&end[1]);
	xclose(&end[0]);
	return -1;
}

int xopen_null(void)
{
	int fd = xopen("/dev/null", O_RDWR, 0), ends[2];

	if (fd >= 0 || errno != ENOENT || xpipe(ends) < 0)
		return fd;
	close(ends[1]);
	return ends[0];
}

int xopen_standard(void)
{
	int closed = 0;
	for (int fd = 0; fd <= 2; fd++) {
		if (!is_closed(fd))
			continue;
		/* lower descriptors are open, so the lowest free number is fd; children inherit it */
		if (open("/dev/null", O_RDWR) != fd)
			return -1;
		closed |= 1 << fd;
	}
	return closed;
}
