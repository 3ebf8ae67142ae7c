/*
 * source.h: the Lua files of a project, read only where they can be trusted. Part of
 * require "runner.host".
 */
#ifndef RUNNER_SOURCE_H
#define RUNNER_SOURCE_H

#include <lua.h>

#include "../common/base.h"

/*
 * luaL_loadfilex(3) for a trusted file: pushes the chunk and returns LUA_OK, else pushes
 * a message and returns another status: LUA_ERRFILE when it can't be opened; then *missing
 * is true. `missing` may be NULL.
 */
int source_load(lua_State *L, const char *path, const char *mode, bool *missing);

/* Why the C module at `path` can't be trusted, or NULL; may push the text. *missing as above. */
const char *source_refuse_module(lua_State *L, const char *path, bool *missing);

/* Add probe(path) and source(path, folder) to the table on top of the stack. */
void source_register(lua_State *L);

#endif
