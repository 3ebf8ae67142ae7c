/*
 * picture.h: the lines that the supervisor keeps at the bottom of the terminal
 * (supervisor/block.h), seen by the worker: what the command itself writes there must
 * not run into them. Off a terminal, and before the first step or progress, it costs nothing.
 */
#ifndef RUNNER_PICTURE_H
#define RUNNER_PICTURE_H

#include <lua.h>

/* A STEP or PROGRESS frame is about to be sent: from now on there may be lines, and what Lua
 * writes to io.stderr goes above them. */
void picture_begin(lua_State *L);
/* Another process gets the terminal (+1) or has done with it (-1). Returns when the lines are
 * off the screen, at the latest after a second. Calls nest. */
void picture_lend(int change);
/* Where a program writes in place of our stderr while there may be lines; -1: to stderr itself. */
int picture_above(void);
/* Add lend_terminal(change) to the table on top of the stack. */
void picture_register(lua_State *L);

#endif
