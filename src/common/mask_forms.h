/*
 * mask_forms.h: what the files of mask.h share. mask.c makes the forms of the values, mask_search.c finds them.
 */
#ifndef RUNNER_MASK_FORMS_H
#define RUNNER_MASK_FORMS_H

#include "mask.h"

/* A % \ or & may be itself, or begin the spelling of one: then which of the two is tried first matters. */
enum mask_way { MASK_AS_IS, MASK_URL, MASK_JSON, MASK_JSON_IN_JSON, MASK_HTML, MASK_WAYS };

/* Is that so of the character? */
static inline bool mask_is_twofold(char c, enum mask_way way)
{
	return way == MASK_AS_IS || c == "%\\\\&"[way - 1];
}

struct mask_form {
	size_t at, n;   /* in the texts */
	bool exact;     /* too short to be found in other spellings */
	bool base64;
	bool plain;     /* one spelling of each character, and no line break within */
	bool ways[MASK_WAYS]; /* which of them are to be tried */
};

struct mask_list {
	uint32_t *of;
	size_t count;
};

struct mask {
	struct buf values; /* each ended by NUL and its length in front: to know them again */
	struct buf texts;  /* of the forms */
	struct mask_form *forms;
	size_t count;
	size_t longest;    /* bytes of a form, however it is spelled */
	size_t stride;     /* 0: a form is too short for pairs */
	uint64_t pairs[(1 << 16) / 64];
	struct mask_list by_first[256];
};

/* After a form was added. 0, or -1: out of memory. */
int mask_index(struct mask *m);
void mask_forget_index(struct mask *m);

/* What begins at a place. */
struct mask_hit {
	size_t n;   /* bytes of the longest form; 0: none */
	bool begun; /* the text ends before it is known */
};

/* The first place from `at` on where a form may begin; n: there is none. */
size_t mask_next(const struct mask *m, const char *s, size_t at, size_t n);
/* Of one form, from its character `i` on; added to *hit. */
void mask_match(const struct mask *m, const struct mask_form *f, size_t i, const char *s, size_t n, struct mask_hit *hit);
/* Of those that have `least` characters. */
struct mask_hit mask_at(const struct mask *m, const char *s, size_t n, size_t least);
/* mask_text() by forms of `least` characters. */
bool mask_least(const struct mask *m, const char *s, size_t n, size_t least, struct buf *out);
/* Append the contents of a JSON string, without its quotes, as they are meant. */
void mask_unescape(const char *s, size_t n, struct buf *out);

#endif
