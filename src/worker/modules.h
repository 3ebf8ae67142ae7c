/*
 * modules.h: our modules in a Lua state.
 */
#ifndef RUNNER_MODULES_H
#define RUNNER_MODULES_H

#include <lua.h>

/* A module in C. The list is handed over by whoever makes the state: nothing in
 * the worker knows one by name. */
struct binding {
	const char *library; /* lua/ requires "runner." and this; NULL: not offered to it */
	const char *scripts; /* command files require this; NULL: not offered to them */
	lua_CFunction open;  /* NULL ends a list */
};

/* Once, when the standard libraries are open and changed as they are to be (cancel_init):
 * the library gets its copy of the globals, and all our modules can be required.
 * `bindings` must live as long as the state. */
void modules_init(lua_State *L, const struct binding *bindings);
/* Push the chunk of a module ("boot", "commands/help"), with the library's globals;
 * raises what kept it from being loaded. */
void modules_load(lua_State *L, const char *name);

#endif
