/*
 * memory.h: the allocator of the worker's Lua state.
 */
#ifndef RUNNER_MEMORY_H
#define RUNNER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Call once, before the state is created; `is_ahead`: it is prepared for forks of this process. Can't
 * fail: without a pool, malloc serves all. */
void memory_init(bool is_ahead);
/* In a fork of a process that has called memory_init() and prepared a state. */
void memory_unshare(void);
/* A lua_Alloc. NULL when the limit is reached or memory runs out. */
void *memory_alloc(void *data, void *ptr, size_t old, size_t new);
/* Limit the Lua state's memory, in bytes (1 GiB before the first call); 0: no limit. The kernel is to limit
 * this process to little more. */
void memory_set_limit(size_t bytes);
/* The script has run out of memory: allow 1 MiB more, for its error and cleanup. */
void memory_relax(void);

#endif
