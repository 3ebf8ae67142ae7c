/*
 * resource_limits.h: the resource limits of this attempt. Part of require
 * "runner.host".
 */
#ifndef RUNNER_RESOURCE_LIMITS_H
#define RUNNER_RESOURCE_LIMITS_H

#include <lua.h>

/* Add allow(limits), files_full() and the functions of confinement.h to the table on top of the stack. */
void resource_limits_register(lua_State *L);

#endif
