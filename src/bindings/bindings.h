/*
 * bindings.h: the C modules that Lua may require, one row of bindings.def each. The
 * worker knows no binding by name: main.c hands it the table, just as only Lua's
 * linit.c knows the standard libraries.
 *
 * A binding reports failure as `nil, message, CODE[, context]` and raises only for
 * wrong argument types and cancellation; its Lua half turns that into an error
 * object. Bindings may use the worker, never the reverse.
 */
#ifndef RUNNER_BINDINGS_H
#define RUNNER_BINDINGS_H

#include "../worker/modules.h"

#define BINDING(library, scripts, open, purpose) int open(lua_State *L);
#include "bindings.def"
#ifdef RUNNER_STATIC
int luaopen_yaml(lua_State *L); /* of lua-yaml */
#endif

/* The last row has no open function. */
extern const struct binding bindings[];

#endif
