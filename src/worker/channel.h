/*
 * channel.h: the worker's end of the frame channel (docs/architecture.md,
 * Frames). Every call writes one whole frame and blocks until it is read, which
 * the supervisor always does.
 */
#ifndef RUNNER_CHANNEL_H
#define RUNNER_CHANNEL_H

#include <lua.h>
#include <sys/types.h>

/* Send a RESULT with ok = 0, for failures before or outside Lua. */
void channel_fail(const char *code, const char *message);
/* One of runner's own waits begins (+1) or ends (-1); it does not count as idle. */
void channel_hold(int change);
/* Send TERMINAL: n bytes for the terminal's stderr, or, with change +1 and -1, that another program
 * gets the terminal and has done with it (picture.h), and wait until the supervisor has seen that. 0 or -1. */
int channel_terminal(int change, const void *bytes, size_t n);
/* Warn of a wait that is none. */
struct rest_cause;
void channel_warn_busy(const struct rest_cause *cause);
/* A script has called print at "FILE:LINE": said if its text is met on stdout. */
void channel_printed(const char *place);
/* Send SECRETS: one value, then that these are all, and wait until the supervisor hides them. 0 or -1. */
int channel_secret(const void *value, size_t n);
int channel_secrets_end(void);
/* Send DETACH: process `pid` outlives the run. 0 or -1. */
int channel_detach(pid_t pid);
/* Before the first child: bear the mark of the run, which all of them inherit, and have the supervisor
 * start its guard (supervisor/guard.h). Blocks until that runs. */
void channel_guard(void);
/* Write one encoded frame. Raises when no process reads, or when memory ran out while it was encoded. */
struct buf;
void channel_send(lua_State *L, const struct buf *frame);
/* Add send(kind, fields), hold(change) and what masker.h has to the table on top of the stack. */
void channel_register(lua_State *L);

#endif
