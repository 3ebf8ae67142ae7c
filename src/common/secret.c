/*
 * secret.c: texts that are secret, by their words and beginnings. Pure.
 */
#include "secret.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The words of names whose values are secrets (docs/reference/stderr.md). */

/* Words that make a name secret: as they are, or as the end of a longer word too. */
static const struct word {
	const char *text;
	bool end_too;
	bool alone; /* also where the name has no other word */
} words[] = {
	{ "token", true, true },       { "secret", true, true },        { "password", true, true },
	{ "passwd", true, true },      { "passphrase", true, true },    { "credential", true, true },
	{ "credentials", true, true }, { "apikey", true, true },        { "accesskey", true, true },
	{ "privatekey", true, true },  { "authorization", false, true }, { "auth", false, true },
	{ "cookie", false, true },     { "pass", false, true },         { "pwd", false, true },
	{ "key", false, false },       { "sig", false, false },         { "signature", false, false },
};

static bool word_is_secret(const char *word, size_t n, bool alone)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t m = strlen(words[i].text);

		if (n < m || (n > m && !words[i].end_too) || (alone && !words[i].alone))
			continue;
		if (strncasecmp(word + n - m, words[i].text, m) == 0)
			return true;
	}
	return false;
}

/* Where the word that begins at `at` ends: at a character that is none of a word, or at a hump. */
static size_t word_end(const char *name, size_t n, size_t at)
{
	for (size_t i = at; i < n; i++)
		if (!isalnum((unsigned char)name[i]) ||
		    (i > at && isupper((unsigned char)name[i]) && islower((unsigned char)name[i - 1])))
			return i;
	return n;
}

bool secret_name(const char *name, size_t n)
{
	if (n > 4 && memcmp(name, "API_", 4) == 0)
		return true;
	for (size_t at = 0, end; at < n; at = end > at ? end : at + 1) {
		end = word_end(name, n, at);
		if (word_is_secret(name + at, end - at, at == 0 && end == n))
			return true;
	}
	return false;
}

bool secret_name_within(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t m = strlen(words[i].text);

		for (size_t at = 0; at + m <= n; at++)
			if (strncasecmp(name + at, words[i].text, m) == 0)
				return true;
	}
	return false;
}

/*
 * Where a text may hold tokens or keys.
 *
 * Of three bytes in a row, two are at an even place and the one behind it. So only every
 * second pair of a text is looked at: is it one that a token begins with, or its second one?
 */

static const struct sign {
	char text[12]; /* three bytes or more */
	unsigned char length;
} signs[] = {
#define SIGN(s) { s, sizeof(s) - 1 }
	SIGN("eyJ"),  SIGN("sk-"),  SIGN("ghp_"), SIGN("gho_"), SIGN("ghs_"),   SIGN("ghu_"),        SIGN("ghr_"),
	SIGN("_pat_"), SIGN("AKIA"), SIGN("AIza"), SIGN("xox"),  SIGN("glpat-"), SIGN("PRIVATE KEY"),
#undef SIGN
};

#define SHORT 2048 /* bytes: what is no longer isn't worth a table … */
#define FEW 16     /* … until there were so many of them */

/* One bit for each pair. */
struct pairs {
	bool made;
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
	p->made = true;
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
	static struct pairs pairs;
	static unsigned asked;
	size_t at = 0;

	if (asked < FEW && n <= SHORT) {
		asked++;
		return search_short(s, n);
	}
	if (!pairs.made)
		pairs_init(&pairs);
	for (; n - at >= 8; at += 8) {
		bool any = has_pair(&pairs, pair_of(s + at)) | has_pair(&pairs, pair_of(s + at + 2)) |
		           has_pair(&pairs, pair_of(s + at + 4)) | has_pair(&pairs, pair_of(s + at + 6));

		for (size_t i = at; any && i < at + 8; i += 2)
			if (begins_near(s, n, i))
				return true;
	}
	for (; n - at >= 2; at += 2)
		if (has_pair(&pairs, pair_of(s + at)) && begins_near(s, n, at))
			return true;
	return false;
}
