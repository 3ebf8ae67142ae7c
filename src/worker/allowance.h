/*
 * allowance.h: what this attempt may use of the machine. Part of require
 * "runner.host".
 */
#ifndef RUNNER_ALLOWANCE_H
#define RUNNER_ALLOWANCE_H

#include <lua.h>

/* Add allow(limits) and files_full() to the table on top of the stack. */
void allowance_register(lua_State *L);

#endif
