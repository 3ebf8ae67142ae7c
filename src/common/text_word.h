/*
 * text_word.h: eight bytes of a text at a time, in one word. A byte is plain where it is
 * printable ASCII that needs no escape in JSON.
 */
#ifndef RUNNER_TEXT_WORD_H
#define RUNNER_TEXT_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte of a text is a word's lowest");

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* The bytes s[0..8). */
static inline uint64_t text_word(const char *s)
{
	uint64_t w;

	memcpy(&w, s, sizeof(w));
	return w;
}

/* The bytes s[0..n), n < 8, and zeros behind them. */
static inline uint64_t text_short_word(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t first, last;

	if (n >= 4) {
		memcpy(&first, s, sizeof(first));
		memcpy(&last, s + n - sizeof(last), sizeof(last));
		return first | (uint64_t)last << (n - sizeof(last)) * 8;
	}
	return n == 0 ? 0 : u[0] | (uint64_t)u[n / 2] << n / 2 * 8 | (uint64_t)u[n - 1] << (n - 1) * 8;
}

/* Which byte the lowest set bit is in. */
static inline size_t word_first(uint64_t bits)
{
	return (size_t)__builtin_ctzll(bits) / 8;
}

/* The high bit of each byte that isn't plain (and perhaps of some above it), so that word_first()
 * of it is the first. A byte below 0x80 becomes negative by one less where it was zero. */
static inline uint64_t word_odd(uint64_t w)
{
	return (w | (w - EACH_BYTE(0x20)) | ((w ^ EACH_BYTE('"')) - EACH_BYTE(1)) |
	        ((w ^ EACH_BYTE('\\')) - EACH_BYTE(1)) | (w + EACH_BYTE(1))) &
	       EACH_BYTE(0x80);
}

#endif
