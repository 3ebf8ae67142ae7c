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
/* Release it earlier, and keep its memory for the next one: what is written often, such as frames, then needs no
 * new pages each time. */
void scratch_release(struct buf *b);
/* The n bytes of the string, or of such a userdata, at the index: valid while it is there and unchanged.
 * Raises for anything else. */
const char *scratch_text(lua_State *L, int at, size_t *n);

#endif
