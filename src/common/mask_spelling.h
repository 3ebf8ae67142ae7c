/*
 * mask_spelling.h: how encoders write a character.
 */
#ifndef RUNNER_MASK_SPELLING_H
#define RUNNER_MASK_SPELLING_H

#include "base.h"

#define MASK_SPELLING_MAX 16 /* bytes */

struct mask_spelling {
	char text[MASK_SPELLING_MAX];
	unsigned char n;
	unsigned char taken; /* bytes of the value that it stands for */
};

#define MASK_SPELLINGS 16

/* Every encoder leaves it as it is, in any locale. */
static inline bool mask_is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* All ways in which the character at s[0] is written, as it is first. Letters and digits have one. */
int mask_spell(const char *s, size_t n, bool base64, struct mask_spelling out[MASK_SPELLINGS]);

#endif
