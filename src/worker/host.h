/*
 * host.h: what the worker's own C files need of the frame channel.
 */
#ifndef RUNNER_HOST_H
#define RUNNER_HOST_H

#include "../common/buf.h"

/* Write one encoded frame whole to the supervisor. 0, or -1: nobody listens. */
int host_send(const struct buf *frame);
/* A RESULT with ok = 0, for failures before or outside Lua. */
void host_send_failure(const char *code, const char *message);
/* A wait of ours begins (+1) or ends (-1): not silence for idle_timeout. */
void host_hold(int change);
/* Cap of the Lua state's memory in bytes; 0: none. */
void worker_set_memory_limit(size_t bytes);

#endif
