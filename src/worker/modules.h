/*
 * modules.h: our modules in a Lua state.
 */
#ifndef RUNNER_MODULES_H
#define RUNNER_MODULES_H

#include <lua.h>

/* A module in C. What starts the worker passes the list, so no file of the worker
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
/* Require these modules, a NULL-ended list of names as modules_load() takes them. Raises if one can't be loaded. */
void modules_load_all(lua_State *L, const char *const *names);
/* All modules that are loaded by now are there for the first require of each, and the chunk `chunk` for its
 * modules_load(): until then no module sees any of them. Call it once. Raises if the chunk can't be loaded. */
void modules_put_ahead(lua_State *L, const char *chunk);
/* Push the chunk of a module ("boot", "commands/help") with the library's globals.
 * Raises if it can't be loaded. */
void modules_load(lua_State *L, const char *name);
/* The same with the globals of L, which may be any state. LUA_OK, or an error message is pushed. */
int modules_load_plain(lua_State *L, const char *name);

#endif
