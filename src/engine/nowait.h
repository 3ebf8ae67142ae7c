/*
 * nowait.h: reads and writes on descriptors that we inherited, without ever blocking and
 * without changing their flags (docs/design.md#inherited-descriptors). A caller that has to wait
 * polls `fd`, which may be another number after a call.
 */
#ifndef RUNNER_NOWAIT_H
#define RUNNER_NOWAIT_H

#include <sys/types.h>

#include "../common/base.h"

enum nowait_kind {
	NOWAIT_PLAIN,   /* a file: calls do not block for long */
	NOWAIT_SHARED,  /* a pipe or device: asked not to block at each write */
	NOWAIT_PRIVATE, /* where that can't be asked: our own non-blocking description */
	NOWAIT_SOCKET,  /* MSG_DONTWAIT */
	NOWAIT_CAREFUL, /* poll first, then a small call */
};

struct nowait {
	int fd;
	enum nowait_kind kind;
};

/* fd stays the caller's; it may be -1, which fails with EBADF. 0, or -1 with errno where
 * nothing can be done with it. */
int nowait_init(struct nowait *f, int fd);
/* Close what we opened ourselves. */
void nowait_release(struct nowait *f);
/* write(2), read(2): what the call returns; -1 with EAGAIN where it would have to wait. A write
 * raises SIGPIPE as write(2) does, unless it is a socket's. */
ssize_t nowait_write(struct nowait *f, const void *bytes, size_t n);
ssize_t nowait_read(struct nowait *f, void *bytes, size_t n);

#endif
