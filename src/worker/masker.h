/*
 * masker.h: the values that must not be seen, for Lua (common/mask.h). Runs in the worker.
 */
#ifndef RUNNER_MASKER_H
#define RUNNER_MASKER_H

#include <lua.h>

/* Add masker(values) and hide(values) to the table on top of the stack. */
void masker_register(lua_State *L);

#endif
