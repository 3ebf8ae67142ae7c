/*
 * source.h: command files, and whether they may be trusted. Part of require
 * "runner.host".
 */
#ifndef RUNNER_SOURCE_H
#define RUNNER_SOURCE_H

#include <lua.h>

/* Add probe(path) and source(path) to the table on top of the stack. */
void source_register(lua_State *L);

#endif
