/*
 * standard.h: what becomes of the caller's stdin and stdout in the worker. Part of
 * require "runner.host".
 */
#ifndef RUNNER_STANDARD_H
#define RUNNER_STANDARD_H

#include <lua.h>

/* Add enter_run, known, leave_terminal, open_stdin, take_stdin and used_stdin to the table on top of the stack. */
void standard_register(lua_State *L);

#endif
