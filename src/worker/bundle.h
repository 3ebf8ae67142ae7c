/*
 * bundle.h: a program that carries a project (`runner bundle`, docs/design.md#bundles). Part of
 * require "runner.host".
 */
#ifndef RUNNER_BUNDLE_H
#define RUNNER_BUNDLE_H

#include <lua.h>
#include <stdbool.h>

/* Does this program carry one? Reads one byte of its own memory. */
bool bundle_is(void);

/* Add bundle(), bundle_bytes() and bundle_mark() to the table on top of the stack. */
void bundle_register(lua_State *L);

#endif
