/*
 * scratch.h: temporary bytes that belong to the Lua stack: an error thrown
 * midway can't leak them.
 */
#ifndef RUNNER_SCRATCH_H
#define RUNNER_SCRATCH_H

#include <lua.h>

#include "../common/buf.h"

/* Push a userdata that holds an empty buf and releases it when collected.
 * Releasing it earlier, by hand, is welcome. */
struct buf *scratch_push(lua_State *L);

#endif
