/*
 * host_defaults.h: enumerations, defaults and bounds for Lua (common/names.def and
 * defaults.def). Part of require "runner.host".
 */
#ifndef RUNNER_HOST_DEFAULTS_H
#define RUNNER_HOST_DEFAULTS_H

#include <lua.h>

/* Add its functions to the table on top of the stack. */
void host_defaults_register(lua_State *L);

#endif
