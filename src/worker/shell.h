/*
 * shell.h: os.execute and io.popen as the Lua manual defines them, but with children
 * that the worker knows (adopted.h): libc's system() and popen() don't report what
 * they start.
 */
#ifndef RUNNER_SHELL_H
#define RUNNER_SHELL_H

#include <lua.h>

/* Replace the standard library's functions. */
void shell_init(lua_State *L);

#endif
