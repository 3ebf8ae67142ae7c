/*
 * host.h: require "runner.host", the binding that is the worker itself.
 */
#ifndef RUNNER_HOST_H
#define RUNNER_HOST_H

#include <lua.h>

/* Leaves the module's table on the stack. */
int luaopen_runner_host(lua_State *L);

#endif
