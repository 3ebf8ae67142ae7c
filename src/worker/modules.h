/*
 * modules.h: our modules in a Lua state.
 */
#ifndef RUNNER_MODULES_H
#define RUNNER_MODULES_H

#include <lua.h>

/* Once, when the standard libraries are open and changed as they are to be (cancel_init):
 * the library gets its copy of the globals, and all our modules can be required. */
void modules_init(lua_State *L);
/* Push the chunk of a module ("boot", "commands/help"), with the library's globals;
 * raises what kept it from being loaded. */
void modules_load(lua_State *L, const char *name);

#endif
