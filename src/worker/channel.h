/*
 * channel.h: the worker's end of the frame channel (docs/architecture.md,
 * Frames). Every call writes one whole frame and blocks until it is taken: the
 * supervisor always reads.
 */
#ifndef RUNNER_CHANNEL_H
#define RUNNER_CHANNEL_H

#include <lua.h>
#include <sys/types.h>

/* A RESULT with ok = 0, for failures before or outside Lua. */
void channel_fail(const char *code, const char *message);
/* A wait of ours begins (+1) or ends (-1): not silence for idle_timeout. */
void channel_hold(int change);
/* A process that outlives the run: DETACH. 0 or -1. */
int channel_detach(pid_t pid);
/* Add send(kind, fields) and hold(change) to the table on top of the stack. */
void channel_register(lua_State *L);

#endif
