/*
 * modules.h: our modules in a Lua state.
 */
#ifndef RUNNER_MODULES_H
#define RUNNER_MODULES_H

#include <lua.h>

/* A module in C. Whoever starts the worker passes the list, so no file of the worker
 * names a binding. */
struct binding {
	const char *library; /* lua/ requires "runner." and this; NULL: not available to it */
	const char *scripts; /* command files require this; NULL: not available to them */
	lua_CFunction open;  /* NULL ends a list */
};

/* Call once, after the standard libraries are open and patched (cancel_track): gives
 * the library its copy of the globals and makes all our modules available to require.
 * `bindings` must live as long as the state. */
void modules_init(lua_State *L, const struct binding *bindings);
/* Load the chunks of these modules, a NULL-ended list, for the first modules_load() of each. Raises if
 * one can't be loaded. */
void modules_preload(lua_State *L, const char *const *names);
/* Push the chunk of a module ("boot", "commands/help") with the library's globals.
 * Raises if it can't be loaded. */
void modules_load(lua_State *L, const char *name);

#endif
