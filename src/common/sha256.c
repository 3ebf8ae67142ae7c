/*
 * sha256.c: SHA-256, FIPS 180-4, sections 4 to 6.
 */
#include "sha256.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#define BLOCK 64

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void spread(const uint8_t *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++) {
		memcpy(&w[i], block + 4 * i, sizeof(w[i]));
		w[i] = be32toh(w[i]);
	}
	for (int i = 16; i < 64; i++) {
		uint32_t a = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
}

/* Eight rounds at a time: the eight words stay where they are, and their names go around. */
static void take_plain(uint32_t h[8], const uint8_t *block, size_t blocks)
{
	uint32_t w[64], v[8];

	for (; blocks > 0; blocks--, block += BLOCK) {
		spread(block, w);
		memcpy(v, h, sizeof(v));
		for (int i = 0; i < 64; i += 8)
#pragma GCC unroll 8
			for (int j = 0; j < 8; j++) {
				uint32_t e = v[(4 - j) & 7], a = v[-j & 7], b = v[(1 - j) & 7], c = v[(2 - j) & 7];
				uint32_t t = v[(7 - j) & 7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
				             ((e & v[(5 - j) & 7]) ^ (~e & v[(6 - j) & 7])) + k[i + j] + w[i + j];

				v[(3 - j) & 7] += t;
				v[(7 - j) & 7] = t + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
			}
		for (int i = 0; i < 8; i++)
			h[i] += v[i];
	}
}

#ifdef __x86_64__
/* The same by the instructions that some processors have for it: four rounds in two of them. The state is held as
 * ABEF and CDGH (Intel, "New Instructions Supporting the Secure Hash Algorithm"). */
__attribute__((target("sha,sse4.1"))) static void take_fast(uint32_t h[8], const uint8_t *block, size_t blocks)
{
	const __m128i turn = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0xb1);
	__m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(h + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);

	for (; blocks > 0; blocks--, block += BLOCK) {
		__m128i m[4], before = abef, other = cdgh;

		for (int i = 0; i < 4; i++)
			m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), turn);
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			__m128i w = _mm_add_epi32(m[i & 3], _mm_loadu_si128((const __m128i *)(k + 4 * i)));

			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, w);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(w, 0x0e));
			if (i < 12) {
				__m128i sum = _mm_sha256msg1_epu32(m[i & 3], m[(i + 1) & 3]);

				sum = _mm_add_epi32(sum, _mm_alignr_epi8(m[(i + 3) & 3], m[(i + 2) & 3], 4));
				m[i & 3] = _mm_sha256msg2_epu32(sum, m[(i + 3) & 3]);
			}
		}
		abef = _mm_add_epi32(abef, before);
		cdgh = _mm_add_epi32(cdgh, other);
	}
	abcd = _mm_shuffle_epi32(abef, 0x1b);
	efgh = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)h, _mm_blend_epi16(abcd, efgh, 0xf0));
	_mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(efgh, abcd, 8));
}

static bool has_fast(void)
{
	unsigned a, b = 0, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_1 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}
#endif

static void take(uint32_t h[8], const uint8_t *block, size_t blocks)
{
#ifdef __x86_64__
	static int fast = -1;

	if (fast < 0)
		fast = has_fast();
	if (fast) {
		take_fast(h, block, blocks);
		return;
	}
#endif
	take_plain(h, block, blocks);
}

/* The rest, a 1 bit, and the number of bits at the end of the last block. */
static void finish(uint32_t h[8], const uint8_t *rest, size_t n, uint64_t bits)
{
	uint8_t last[2 * BLOCK] = { 0 };
	size_t size = n < BLOCK - 8 ? BLOCK : 2 * BLOCK;

	memcpy(last, rest, n);
	last[n] = 0x80;
	for (size_t i = 0; i < 8; i++)
		last[size - 1 - i] = (uint8_t)(bits >> 8 * i);
	take(h, last, size / BLOCK);
}

void sha256_hex(const void *bytes, size_t n, char out[SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	const uint8_t *at = bytes;

	take(h, at, n / BLOCK);
	finish(h, at ? at + n / BLOCK * BLOCK : (const uint8_t *)"", n % BLOCK, (uint64_t)n * 8);
	for (int i = 0; i < 64; i++)
		out[i] = digits[h[i / 8] >> (28 - i % 8 * 4) & 15];
	out[64] = '\0';
}
