/*
 * ahead.h: modules that are loaded before any call is known (docs/design.md#warm-start). No call sees that
 * they are there until something requires them: then they and what they have required themselves are
 * loaded, as if it had happened now.
 */
#ifndef RUNNER_AHEAD_H
#define RUNNER_AHEAD_H

#include <lua.h>
#include <stdbool.h>

/* --- while they are loaded ------------------------------------------------------------------ */

/* From here on, notes what requires what. */
void ahead_begin(lua_State *L);
/* The module `name` is required by the one that loads now. */
void ahead_need(lua_State *L, const char *name);
/* `name` begins to load; it must live until ahead_leave(), which takes what this returns. */
const char *ahead_enter(const char *name);
void ahead_leave(const char *outer);
/* Pops a module, or a chunk: it is there. */
void ahead_put(lua_State *L, const char *name);
void ahead_end(void);

/* --- in the call ---------------------------------------------------------------------------------- */

/* Push what is there under this name, once; false and nothing otherwise. */
bool ahead_take(lua_State *L, const char *name);
/* The same with all that it needs: `load` is called for each with the module on top, which it leaves there. */
bool ahead_show(lua_State *L, const char *name, void (*load)(lua_State *L, const char *name));

#endif
