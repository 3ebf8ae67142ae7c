/*
 * rules.h: the engine's decisions (policy, hints, the registry, the inherited
 * deadline) for Lua. Part of require "runner.host".
 */
#ifndef RUNNER_RULES_H
#define RUNNER_RULES_H

#include <lua.h>

/* Add its functions to the table on top of the stack. */
void rules_register(lua_State *L);

#endif
