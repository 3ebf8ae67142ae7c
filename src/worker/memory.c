/*
 * memory.c: the memory of the Lua state: counted against a limit, small blocks
 * from a pool. Runs in the worker. Most workers live for a millisecond and
 * allocate some thousand blocks. One mapping, filled ahead as far as any of them needs it, with no bookkeeping but
 * Lua's own sizes, is much cheaper than malloc. A script that holds more than fits
 * gets a second one, which grows as Lua does. Larger blocks go to malloc, and all
 * that fit in neither. No page goes back, but blocks are used again, by others of
 * their size, and the second part grows only while it has at most one and a half
 * times what Lua ever held. Where the kernel limits memory as well it stays small:
 * what is kept for one size would be missing for another.
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
#define PLAIN_BYTES 0
#define GROWING_BYTES 0
#else
#define POOL_BYTES ((size_t)512 << 10) /* a prepared state and what an attempt adds to it, or what most commands need */
#define PLAIN_BYTES ((size_t)192 << 10) /* what any command needs */
#define GROWING_BYTES ((size_t)4 << 30) /* addresses, without memory behind them */
#endif
#define GROWING_STEP ((size_t)256 << 10)
#define GROWING_SLACK ((size_t)2 << 20) /* how much it has in any case */
#define FRESH_BYTES ((size_t)40 << 10) /* what an attempt adds at least */
#define GRAIN 16
#define SMALL_MAX 4096
#define LARGE_MAX 8192 /* of a block that the first part takes, once */

#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23 /* musl 1.2.3 doesn't know it */
#endif

#define MEMORY_LIMIT_DEFAULT ((size_t)1 << 30)

static size_t used;
static size_t peak; /* of `used`, as seen when the second part grew */
static size_t limit = MEMORY_LIMIT_DEFAULT;
static bool is_tight; /* … and the kernel allows little more */

/* Reserved for the error and the cleanup of a script that has used up its memory. */
#define RESERVE_BYTES ((size_t)1 << 20)

static void *reserve = MAP_FAILED; /* never written to: costs address space only */
/* Two parts, each addresses in a row. */
static struct part {
	char *start;
	size_t bytes;
} pool, growing;
static size_t grown; /* … what the second has memory behind */
static bool is_reserved; /* … or was refused */
static char *pool_free, *pool_end; /* of the part in use: what was never a block */
static void *freed[SMALL_MAX / GRAIN + 1]; /* by size: blocks linked through their first word */

void memory_set_limit(size_t bytes)
{
	limit = bytes ? bytes : SIZE_MAX;
	is_tight = bytes > 0;
}

static bool is_limited(int which)
{
	struct rlimit l;

	return getrlimit((__typeof__(RLIMIT_AS))which, &l) == 0 && l.rlim_cur != RLIM_INFINITY;
}

/* Could the kernel refuse us memory before our own limit does? */
static bool is_bounded(void)
{
	return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

void memory_relax(void)
{
	if (limit < SIZE_MAX - RESERVE_BYTES)
		limit += RESERVE_BYTES;
	if (reserve != MAP_FAILED)
		munmap(reserve, RESERVE_BYTES);
	reserve = MAP_FAILED;
}

static struct part part_new(void *wanted, size_t n, int flags)
{
	int protection = flags & MAP_NORESERVE ? PROT_NONE : PROT_READ | PROT_WRITE;
	void *at = mmap(wanted, n, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return at == MAP_FAILED ? (struct part){ NULL, 0 } : (struct part){ at, n };
}

void memory_init(bool is_ahead)
{
	pool = part_new(NULL, POOL_BYTES, 0);
#ifdef MAP_POPULATE
	if (pool.start && !is_ahead && !part_new(pool.start, PLAIN_BYTES, MAP_FIXED | MAP_POPULATE).start)
		pool = (struct part){ NULL, 0 }; /* nothing may be there any more */
#endif
	pool_free = pool.start;
	pool_end = pool_free + pool.bytes;
	if (is_bounded())
		reserve = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Most of what was prepared is only read. The pages that an attempt fills at once cost less than a fault
 * for each. */
void memory_unshare(void)
{
#ifdef MADV_POPULATE_WRITE
	char *from = pool_free - ((uintptr_t)pool_free & 4095);

	if (pool_free)
		(void)madvise(from, MIN_OF((size_t)(pool_end - from), FRESH_BYTES), MADV_POPULATE_WRITE);
#endif
}

static size_t grains(size_t n)
{
	return (n + GRAIN - 1) / GRAIN;
}

static bool in_pool(const void *ptr)
{
	uintptr_t at = (uintptr_t)ptr;

	return at - (uintptr_t)pool.start < pool.bytes || at - (uintptr_t)growing.start < growing.bytes;
}

/* Make the second part larger, if that is allowed; its addresses are reserved once. With a limit of addresses there
 * are none to spare. New pages are filled at once, which costs less than a fault for each. (Inlined, it would cost
 * every allocation.) */
static __attribute__((noinline, cold)) bool grow(void)
{
	char *end;
	size_t step, max;

	is_tight |= !is_reserved && is_limited(RLIMIT_DATA);
	if (!is_reserved && !is_limited(RLIMIT_AS))
		growing = part_new(NULL, GROWING_BYTES, MAP_NORESERVE);
	is_reserved = true;
	if (!growing.start)
		return false;
	end = growing.start + grown;
	step = MIN_OF((grown / 8 + GROWING_STEP) & ~(GROWING_STEP - 1), growing.bytes - grown);
	peak = MAX_OF(peak, used);
	max = GROWING_SLACK + (is_tight ? 0 : peak + peak / 2);
	if (step == 0 || grown > max || mprotect(end, step, PROT_READ | PROT_WRITE) < 0)
		return false;
#ifdef MADV_POPULATE_WRITE
	(void)madvise(end, step, MADV_POPULATE_WRITE);
#endif
	pool_free = grown ? pool_free : end;
	pool_end = end + step;
	grown += step;
	return true;
}

/* One that is larger than most. Every run has one or two, as the table of its strings; with them the first part ends
 * fuller, and malloc begins with fewer pages. */
static void *take_large(size_t n)
{
	char *block = pool_free;

	if (n > LARGE_MAX || grown || (size_t)(pool_end - pool_free) < n)
		return NULL;
	pool_free += grains(n) * GRAIN;
	return block;
}

/* A block of n > 0 bytes from the pool, or NULL when it has none. */
static void *pool_take(size_t n)
{
	size_t class = grains(n);
	void *block;

	if (n > SMALL_MAX)
		return take_large(n);
	block = freed[class];
	if (block) {
		memcpy(&freed[class], block, sizeof(void *));
	} else if ((size_t)(pool_end - pool_free) >= class * GRAIN || grow()) {
		block = pool_free;
		pool_free += class * GRAIN;
	}
	return block;
}

/* (a large one is not used again, unless it is the newest) */
static void pool_give(void *block, size_t n)
{
	size_t class = grains(n);

	if (n > SMALL_MAX) {
		if ((char *)block + class * GRAIN == pool_free)
			pool_free = block;
		return;
	}
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
	void *fresh;

	if (!ptr)
		return (fresh = pool_take(new)) ? fresh : malloc(new);
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
