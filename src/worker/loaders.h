/*
 * loaders.h: how scripts load Lua files and C modules: dofile, loadfile, require and
 * package.loadlib. They read through source.h, and do not search the working directory.
 */
#ifndef RUNNER_LOADERS_H
#define RUNNER_LOADERS_H

#include <lua.h>

/* Replace the standard functions. Call after loadlib_init and before modules_init. */
void loaders_init(lua_State *L);

#endif
