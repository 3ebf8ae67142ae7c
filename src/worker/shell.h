/*
 * shell.h: os.execute and io.popen as the manual of Lua has them, over children
 * that the worker knows (adopted.h): libc's system() and popen() tell nobody whom
 * they have started.
 */
#ifndef RUNNER_SHELL_H
#define RUNNER_SHELL_H

#include <lua.h>

/* Put both in place of the standard library's. */
void shell_init(lua_State *L);

#endif
