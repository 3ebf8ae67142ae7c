/*
 * secret_text.c: where a text may hold tokens or keys.
 *
 * Of three bytes in a row, two are at an even place and the one behind it. So only every
 * second pair of a text is looked at: is it one that a token begins with, or its second one?
 */
#include "secret_text.h"

#include <string.h>

static const struct sign {
	char text[12]; /* three bytes or more */
	unsigned char length;
} signs[] = {
#define SIGN(s) { s, sizeof(s) - 1 }
	SIGN("eyJ"),  SIGN("sk-"),  SIGN("ghp_"), SIGN("gho_"), SIGN("ghs_"),   SIGN("ghu_"),        SIGN("ghr_"),
	SIGN("_pat_"), SIGN("AKIA"), SIGN("AIza"), SIGN("xox"),  SIGN("glpat-"), SIGN("PRIVATE KEY"),
#undef SIGN
};

#define SHORT 2048 /* bytes: what is no longer isn't worth a table */

/* One bit for each pair. */
struct pairs {
	uint64_t bits[(1 << 16) / 64];
};

static size_t pair_of(const char *s)
{
	return (unsigned char)s[0] | (size_t)(unsigned char)s[1] << 8;
}

/* 1 or 0 */
static uint64_t has_pair(const struct pairs *p, size_t pair)
{
	return p->bits[pair / 64] >> pair % 64 & 1;
}

static void pairs_init(struct pairs *p)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		for (size_t at = 0; at < 2; at++) {
			size_t pair = pair_of(signs[i].text + at);

			p->bits[pair / 64] |= UINT64_C(1) << pair % 64;
		}
}

/* Does one begin at the place, or one before it? */
static bool begins_near(const char *s, size_t n, size_t at)
{
	for (size_t from = at > 0 ? at - 1 : at; from <= at; from++)
		for (size_t i = 0; i < ARRAY_LEN(signs); i++)
			if (signs[i].text[0] == s[from] && signs[i].length <= n - from && memcmp(s + from, signs[i].text, signs[i].length) == 0)
				return true;
	return false;
}

static bool search_short(const char *s, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (memmem(s, n, signs[i].text, signs[i].length))
			return true;
	return false;
}

bool secret_text(const char *s, size_t n)
{
	struct pairs pairs;
	size_t at = 0;

	if (n <= SHORT)
		return search_short(s, n);
	pairs_init(&pairs);
	for (; n - at >= 8; at += 8) {
		bool any = has_pair(&pairs, pair_of(s + at)) | has_pair(&pairs, pair_of(s + at + 2)) |
		           has_pair(&pairs, pair_of(s + at + 4)) | has_pair(&pairs, pair_of(s + at + 6));

		for (size_t i = at; any && i < at + 8; i += 2)
			if (begins_near(s, n, i))
				return true;
	}
	return search_short(s + at - 3, n - at + 3);
}
