/*
 * xio.h: system calls that retry on EINTR and open every descriptor
 * close-on-exec.
 *
 * All return what the call returns (-1 with errno on failure). None prints.
 */
#ifndef RUNNER_XIO_H
#define RUNNER_XIO_H

#include <sys/types.h>

#include "base.h"

/* read(2)/write(2), repeated while they fail with EINTR. Short counts stay. */
ssize_t xread(int fd, void *buf, size_t n);
ssize_t xwrite(int fd, const void *buf, size_t n);
/* Write all n bytes or fail: 0, or -1 with errno. For blocking descriptors. */
int xwrite_all(int fd, const void *buf, size_t n);

/* open(2) with O_CLOEXEC added, repeated on EINTR. */
int xopen(const char *path, int flags, mode_t mode);
/* pipe2(O_CLOEXEC); socketpair(AF_UNIX, SOCK_STREAM, CLOEXEC). 0 or -1. */
int xpipe(int fd[2]);
int xsocketpair(int fd[2]);
/* A message of a socket with descriptors beside it (SCM_RIGHTS), repeated on EINTR, without SIGPIPE. False with errno. */
bool xsend_fds(int to, const void *bytes, size_t n, const int *fds, size_t count);
/* The same way back, with recvmsg(2)'s flags: at most *count ≤ XFDS_MAX descriptors, close-on-exec; sets how many came. */
#define XFDS_MAX 6
ssize_t xreceive_fds(int from, void *bytes, size_t n, int *fds, size_t *count, int flags);
/* A close-on-exec duplicate with a number ≥ lowest. */
int xdup_above(int fd, int lowest);
/* Close *fd if it is ≥ 0, and set it to -1. Preserves errno. */
void xclose(int *fd);
/* fsync(2) of the directory that `path` is in: its name is on the disk. */
int xsync_folder(const char *path);
/* Set O_NONBLOCK. Only for descriptors that we created: an inherited one shares
 * the flag with the caller (docs/design.md#inherited-descriptors). */
int xnonblock(int fd);
/* /dev/null, close-on-exec, for reading and writing; where there is none, as in an empty root, an
 * empty pipe without a writer: it reads as /dev/null does and takes nothing. -1 with errno. */
int xopen_null(void);
/* A pseudo-terminal of so many columns, close-on-exec: our end, which never waits, and that of a program. 0 or -1. */
int xopen_terminal(int end[2], unsigned short columns);
/* Open /dev/null onto each of 0, 1, 2 that is closed. Returns a bit mask of
 * those that were closed (1 << fd), or -1 when /dev/null can't be opened. */
int xopen_standard(void);

#endif
