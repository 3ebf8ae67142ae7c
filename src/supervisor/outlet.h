/*
 * outlet.h: writes to an inherited descriptor without ever blocking and without
 * changing its flags. What can't be written yet waits in a bounded backlog.
 */
#ifndef RUNNER_OUTLET_H
#define RUNNER_OUTLET_H

#include <poll.h>

#include "../common/buf.h"
#include "../common/mono.h"
#include "../engine/nowait.h"

struct outlet {
	struct nowait to;
	struct buf backlog;
	size_t sent; /* bytes of it already written */
	size_t most; /* bytes in all that are written, the rest is dropped; 0: all are */
	size_t taken; /* bytes so far, where `most` counts them */
	int error; /* errno of the write that ended it; 0: alive */
	mono_t rest_until; /* it was ready for bytes, but took none */
	struct outlet *next; /* another one to serve whenever this one is; NULL: none */
};

#define OUTLET_BACKLOG_MAX (1 << 20)
#define OUTLET_BACKLOG_HIGH (256 << 10)

/* fd stays the caller's; -1 makes an outlet that has failed with EBADF. */
void outlet_init(struct outlet *o, int fd);
void outlet_release(struct outlet *o);
/* Queue the bytes and write what can be written now. With `limited`, bytes beyond
 * OUTLET_BACKLOG_MAX are dropped; otherwise all are kept. */
void outlet_write(struct outlet *o, const void *bytes, size_t n, bool limited);
/* The same without limit, for a large *from: moves it instead of copying, and
 * leaves it empty. Only for an outlet that nothing was written to before. */
void outlet_give(struct outlet *o, struct buf *from);
/* Write what can be written now. */
void outlet_flush(struct outlet *o);
/* Is there more to write (poll for POLLOUT)? Is it time to stop reading taps? */
bool outlet_waiting(const struct outlet *o);
bool outlet_crowded(const struct outlet *o);
/* Queue the bytes for the next flush. */
void outlet_add(struct outlet *o, const void *bytes, size_t n);
/* signals_poll() over fds and, while something waits, this outlet and those behind it, which
 * are then flushed. n + outlets ≤ SIGNALS_POLL_MAX. */
void outlet_poll(struct outlet *o, struct pollfd *fds, int n, mono_t deadline);
/* From now on drop whatever is written. */
void outlet_mute(struct outlet *o);
/* Write it all, waiting until `deadline` or a cancelling signal newer than
 * this call. 0, or -1 when something remains (o->error is the errno, or 0). */
int outlet_drain(struct outlet *o, mono_t deadline);

#endif
