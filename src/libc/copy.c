/*
 * copy.c: memcpy, memmove and memcmp of the static build; every process calls them. musl copies on
 * x86-64 with `rep movsq`, which takes up to 18 times as long as glibc where the two addresses aren't aligned
 * alike, as in ("x"):rep(n), and it compares byte by byte. These use what every x86-64 has: vectors of
 * 16 bytes. A loop of them is as fast as `rep movsb` outside the first cache, and never slow; asking the
 * processor whether its `rep movsb` is fast would take 25 us in a virtual machine.
 * Elsewhere musl's own are used, which are good on arm64.
 */
#ifdef __x86_64__

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* At any address, of any type. */
typedef unsigned char vector __attribute__((vector_size(16), aligned(1), may_alias));
typedef unsigned char aligned_vector __attribute__((vector_size(16), may_alias));
typedef uint64_t word8 __attribute__((aligned(1), may_alias));
typedef uint32_t word4 __attribute__((aligned(1), may_alias));
typedef uint16_t word2 __attribute__((aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline))
/* Keeps the compiler from seeing a loop as what it implements, and calling that. */
#define OPAQUE() __asm__ volatile("" ::: "memory")

/* n <= 2 * sizeof(TYPE): all is read before anything is written. */
#define MOVE_ENDS(TYPE)                                                   \
	do {                                                              \
		TYPE head = *(const TYPE *)from;                          \
		TYPE tail = *(const TYPE *)(from + n - sizeof(TYPE));     \
                                                                          \
		*(TYPE *)to = head;                                       \
		*(TYPE *)(to + n - sizeof(TYPE)) = tail;                  \
	} while (0)

/* Up to 32 bytes, which may overlap. */
INLINE void move_small(char *to, const char *from, size_t n)
{
	if (n >= sizeof(vector))
		MOVE_ENDS(vector);
	else if (n >= sizeof(word8))
		MOVE_ENDS(word8);
	else if (n >= sizeof(word4))
		MOVE_ENDS(word4);
	else if (n >= sizeof(word2))
		MOVE_ENDS(word2);
	else if (n)
		*to = *from;
}

struct block {
	vector v[4];
};

INLINE struct block block_get(const char *from)
{
	const vector *v = (const vector *)from;

	return (struct block){ { v[0], v[1], v[2], v[3] } };
}

INLINE void block_put(char *to, struct block b)
{
	vector *v = (vector *)to;

	v[0] = b.v[0];
	v[1] = b.v[1];
	v[2] = b.v[2];
	v[3] = b.v[3];
}

INLINE void block_put_aligned(char *to, struct block b)
{
	aligned_vector *v = (aligned_vector *)to;

	v[0] = (aligned_vector)b.v[0];
	v[1] = (aligned_vector)b.v[1];
	v[2] = (aligned_vector)b.v[2];
	v[3] = (aligned_vector)b.v[3];
}

/* 33 to 64 bytes, which may overlap. */
INLINE void move_medium(char *to, const char *from, size_t n)
{
	vector a = *(const vector *)from, b = *(const vector *)(from + 16);
	vector c = *(const vector *)(from + n - 32), d = *(const vector *)(from + n - 16);

	*(vector *)to = a;
	*(vector *)(to + 16) = b;
	*(vector *)(to + n - 32) = c;
	*(vector *)(to + n - 16) = d;
}

/* More than 64 bytes; `to` may lie below `from`. Both ends are read before the loop, and written after it: it
 * may begin where the stores are aligned, and end before the last whole block. */
INLINE void move_up(char *to, const char *from, size_t n)
{
	vector head = *(const vector *)from;
	struct block tail = block_get(from + n - sizeof(tail));
	char *start = to, *end = to + n;
	size_t skip = 16 - ((uintptr_t)to & 15);

	for (to += skip, from += skip; (size_t)(end - to) > sizeof(tail); to += sizeof(tail), from += sizeof(tail)) {
		block_put_aligned(to, block_get(from));
		OPAQUE();
	}
	block_put(end - sizeof(tail), tail);
	*(vector *)start = head;
}

/* More than 64 bytes; `to` may lie above `from`: move_up() from the other end. */
INLINE void move_down(char *to, const char *from, size_t n)
{
	struct block head = block_get(from);
	vector tail = *(const vector *)(from + n - sizeof(tail));
	char *end = to + n, *at = end - ((uintptr_t)end & 15);

	for (from += at - to; (size_t)(at - to) > sizeof(head);) {
		at -= sizeof(head);
		from -= sizeof(head);
		block_put_aligned(at, block_get(from));
		OPAQUE();
	}
	block_put(to, head);
	*(vector *)(end - sizeof(tail)) = tail;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	if (n <= 32)
		move_small(to, from, n);
	else if (n <= 64)
		move_medium(to, from, n);
	else
		move_up(to, from, n);
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	if (n <= 32)
		move_small(to, from, n);
	else if (n <= 64)
		move_medium(to, from, n);
	else if ((uintptr_t)to - (uintptr_t)from >= n)
		move_up(to, from, n);
	else
		move_down(to, from, n);
	return to;
}

/* Which of two different words comes first in memory. */
static int order(uint64_t a, uint64_t b)
{
	return __builtin_bswap64(a) < __builtin_bswap64(b) ? -1 : 1;
}

/* Do 64 bytes equal 64 others? */
INLINE int is_same(const unsigned char *left, const unsigned char *right)
{
	struct block a = block_get((const char *)left), b = block_get((const char *)right);
	vector differ = (a.v[0] ^ b.v[0]) | (a.v[1] ^ b.v[1]) | (a.v[2] ^ b.v[2]) | (a.v[3] ^ b.v[3]);
	uint64_t half[2];

	__builtin_memcpy(half, &differ, sizeof(half));
	return (half[0] | half[1]) == 0;
}

int memcmp(const void *left, const void *right, size_t n)
{
	const unsigned char *a = left, *b = right;

	if (n < sizeof(word8)) {
		for (; n; n--, a++, b++)
			if (*a != *b)
				return *a - *b;
		return 0;
	}
	for (; n >= 2 * sizeof(struct block) && is_same(a, b); n -= sizeof(struct block)) {
		a += sizeof(struct block);
		b += sizeof(struct block);
	}
	for (size_t i = 0;; i = n - i > 2 * sizeof(word8) ? i + sizeof(word8) : n - sizeof(word8)) {
		word8 x = *(const word8 *)(a + i), y = *(const word8 *)(b + i);

		if (x != y)
			return order(x, y);
		if (i == n - sizeof(word8))
			return 0;
	}
}

#endif
