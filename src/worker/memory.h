/*
 * memory.h: the allocator of the worker's Lua state.
 */
#ifndef RUNNER_MEMORY_H
#define RUNNER_MEMORY_H

#include <stddef.h>

/* Once, before the state is made. Can't fail: without a pool all is malloc's. */
void memory_init(void);
/* A lua_Alloc. NULL when the limit or memory is reached. */
void *memory_alloc(void *data, void *ptr, size_t old, size_t new);
/* Cap of the Lua state's memory in bytes (1 GiB before the first call); 0: none. */
void memory_set_limit(size_t bytes);
/* The script has run out of memory: 1 MiB more, for what is still to be done. */
void memory_relax(void);

#endif
