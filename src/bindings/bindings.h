/*
 * bindings.h: what Lua may call of C, one row of bindings.def each. The worker
 * knows no binding by name: main.c hands it the table, as Lua's linit.c alone
 * knows the standard libraries.
 *
 * A binding reports failure as `nil, message, CODE[, context]` and never raises
 * for anything but wrong argument types and cancellation; the Lua half beside
 * it turns that into an error object. It may use the worker, never the reverse.
 */
#ifndef RUNNER_BINDINGS_H
#define RUNNER_BINDINGS_H

#include "../worker/modules.h"

#define BINDING(library, scripts, open, purpose) int open(lua_State *L);
#include "bindings.def"

/* Ends with a row without an open function. */
extern const struct binding bindings[];

#endif
