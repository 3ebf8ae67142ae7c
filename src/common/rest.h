/*
 * rest.h: waits that can't spin. A caller that waits in a loop waits through this: where one wait after another ends at
 * once, and nothing changes, each further one begins with a rest. So a descriptor that is always ready, or a call that
 * fails again and again, costs no processor. For every process of ours; async-signal-safe.
 */
#ifndef RUNNER_REST_H
#define RUNNER_REST_H

#include <poll.h>
#include <signal.h>

#include "mono.h"

/* Something has changed: bytes have moved, a child was reaped. */
void rest_changed(void);
/* ppoll(2) with a deadline; signals of `mask` come in during a rest as well. */
int rest_poll(struct pollfd *fds, int n, mono_t until, const sigset_t *mask);
/* Around a wait that is another call: what the first returns is for the second. */
mono_t rest_before(const sigset_t *mask);
void rest_after(mono_t began);
/* After a failed call: is it to be repeated, as a signal came in between? */
bool rest_again(void);

/* What keeps waking us, told once: */
struct rest_cause {
	int fd;       /* -1: no descriptor, but a signal or a time */
	short events; /* as poll(2) reports them */
};
bool rest_tell(struct rest_cause *cause);
/* … as a JSON object. */
struct buf;
void rest_describe(const struct rest_cause *cause, const char *process, struct buf *out);
#define REST_CODE "BUSY_WAIT"
#define REST_MESSAGE "Waits of runner's own end at once, again and again, without a reason: it rests between them"

#endif
