/*
 * memory.c: the memory of the Lua state: counted against a limit, small blocks
 * from a pool. Runs in the worker. Most workers live for a millisecond and
 * allocate some thousand blocks. One prefaulted mapping, with no bookkeeping but
 * Lua's own sizes, is much cheaper than malloc. What doesn't fit goes to malloc;
 * a full pool keeps reusing its blocks.
 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../common/base.h"

#if defined(__SANITIZE_ADDRESS__)
#define POOL_BYTES 0 /* the sanitizer is to see every block; mmap(2) refuses */
#else
#define POOL_BYTES (224 << 10) /* what a plain command needs */
#endif
#define GRAIN 16
#define SMALL_MAX 4096

#define MEMORY_LIMIT_DEFAULT ((size_t)1 << 30)

static size_t used;
static size_t limit = MEMORY_LIMIT_DEFAULT;

/* Reserved for the error and the cleanup of a script that has used up its memory. */
#define RESERVE_BYTES ((size_t)1 << 20)

static void *reserve = MAP_FAILED; /* never written to: costs address space only */
static char *pool, *pool_free, *pool_end;
static void *freed[SMALL_MAX / GRAIN + 1]; /* by size: blocks linked through their first word */

void memory_set_limit(size_t bytes)
{
	limit = bytes ? bytes : SIZE_MAX;
}

/* Could the kernel refuse us memory before our own limit does? */
static bool is_bounded(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_DATA };
	struct rlimit l;

	for (size_t i = 0; i < ARRAY_LEN(which); i++)
		if (getrlimit((__typeof__(RLIMIT_AS))which[i], &l) == 0 && l.rlim_cur != RLIM_INFINITY)
			return true;
	return false;
}

void memory_relax(void)
{
	if (limit < SIZE_MAX - RESERVE_BYTES)
		limit += RESERVE_BYTES;
	if (reserve != MAP_FAILED)
		munmap(reserve, RESERVE_BYTES);
	reserve = MAP_FAILED;
}

void memory_init(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

#ifdef MAP_POPULATE
	flags |= MAP_POPULATE;
#endif
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (pool == MAP_FAILED)
		pool = NULL;
	else
		pool_end = pool + POOL_BYTES;
	pool_free = pool;
	if (is_bounded())
		reserve = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Nearly all of the pool gets written to: its pages at once cost less than a fault for each. */
void memory_unshare(void)
{
#ifdef MADV_POPULATE_WRITE
	if (pool)
		(void)madvise(pool, POOL_BYTES, MADV_POPULATE_WRITE);
#endif
}

static size_t grains(size_t n)
{
	return (n + GRAIN - 1) / GRAIN;
}

static bool in_pool(const void *ptr)
{
	return ptr && (const char *)ptr >= pool && (const char *)ptr < pool_end;
}

/* A block of n > 0 bytes from the pool, or NULL when it has none. */
static void *pool_take(size_t n)
{
	size_t class = grains(n);
	void *block;

	if (n > SMALL_MAX)
		return NULL;
	block = freed[class];
	if (block) {
		memcpy(&freed[class], block, sizeof(void *));
	} else if ((size_t)(pool_end - pool_free) >= class * GRAIN) {
		block = pool_free;
		pool_free += class * GRAIN;
	}
	return block;
}

static void pool_give(void *block, size_t n)
{
	size_t class = grains(n);

	memcpy(block, &freed[class], sizeof(void *));
	freed[class] = block;
}

/* `block` belongs to the pool. Shrinking stays in place, because it must not fail. */
static void *pool_resize(void *block, size_t old, size_t new)
{
	void *fresh;

	if (grains(new) <= grains(old))
		return block;
	fresh = pool_take(new);
	if (!fresh)
		fresh = malloc(new);
	if (!fresh)
		return NULL;
	memcpy(fresh, block, old);
	pool_give(block, old);
	return fresh;
}

static void release(void *ptr, size_t n)
{
	if (in_pool(ptr))
		pool_give(ptr, n);
	else
		free(ptr);
}

static void *resize(void *ptr, size_t old, size_t new)
{
	void *fresh = ptr ? NULL : pool_take(new);

	if (fresh)
		return fresh;
	return in_pool(ptr) ? pool_resize(ptr, old, new) : realloc(ptr, new);
}

void *memory_alloc(void *data, void *ptr, size_t old, size_t new)
{
	void *fresh;

	(void)data;
	old = ptr ? old : 0; /* for a new object, `old` is its type */
	if (new == 0) {
		if (ptr)
			release(ptr, old);
		used -= old;
		return NULL;
	}
	if (new > old && new - old > limit - MIN_OF(limit, used))
		return NULL;
	fresh = resize(ptr, old, new);
	if (fresh)
		used += new - old;
	return fresh;
}
