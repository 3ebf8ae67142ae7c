/*
 * only.h: a file of tasks without those that a call doesn't name. Part of require "runner.host".
 */
#ifndef RUNNER_ONLY_H
#define RUNNER_ONLY_H

#include <lua.h>

/* Add only and lines to the table on top of the stack. */
void only_register(lua_State *L);

#endif
