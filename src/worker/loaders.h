/*
 * loaders.h: how scripts load Lua files and C modules: dofile, loadfile, require and
 * package.loadlib, through source.h and never from the working directory by themselves.
 */
#ifndef RUNNER_LOADERS_H
#define RUNNER_LOADERS_H

#include <lua.h>

/* Replace the standard ones. After guard_init, before modules_init. */
void loaders_init(lua_State *L);

#endif
