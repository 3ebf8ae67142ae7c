/*
 * scratch.h: temporary bytes owned by the Lua stack, so that an error thrown
 * midway can't leak them.
 */
#ifndef RUNNER_SCRATCH_H
#define RUNNER_SCRATCH_H

#include <lua.h>

#include "../common/buf.h"

/* Push a userdata that holds an empty buf and releases it when collected. The caller
 * may release it earlier. */
struct buf *scratch_push(lua_State *L);

#endif
