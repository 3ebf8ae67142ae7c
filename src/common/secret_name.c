/*
 * secret_name.c: the words of names whose values are secrets (docs/reference/stderr.md).
 */
#include "secret_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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
