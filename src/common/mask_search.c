/*
 * mask_search.c: finds the forms of secrets in a text.
 *
 * Most texts have none. Of the bytes in a row that any form has at least, three stand at a place that is a multiple of
 * `stride`: only these are looked at, whether both pairs of them are in the beginning of any form.
 */
#include <stdlib.h>
#include <string.h>

#include "mask_forms.h"
#include "mask_spelling.h"

#define STRIDE_MAX 32

/* --- matching ------------------------------------------------------------------------------ */

enum { NOT = 0, CUT = -1 };

/* Does this spelling go before the others? */
static bool goes_first(const struct mask_spelling *one, enum mask_way way)
{
	if (way == MASK_AS_IS || one->n == 1)
		return way == MASK_AS_IS;
	return way != MASK_JSON_IN_JSON || (one->n > 2 && one->text[1] == '\\');
}

/* How many of the n bytes spell the character at `i` of the form; CUT: all n do, so far. */
static int spells(const struct mask *m, const struct mask_form *f, size_t i, enum mask_way way, const char *s, size_t n,
                  size_t *taken)
{
	struct mask_spelling all[MASK_SPELLINGS];
	const char *c = m->texts.data + f->at + i;
	int count = 1;

	*taken = 1;
	if (f->exact || mask_is_plain(*c))
		return *c == *s ? 1 : NOT;
	count = mask_spell(c, f->n - i, f->base64, all);
	for (int rest = !mask_is_twofold(*c, way); rest < 2; rest++)
		for (int j = 0; j < count; j++) {
			const struct mask_spelling *one = &all[j];

			if ((rest == 0 && !goes_first(one, way)) || memcmp(one->text, s, MIN_OF(n, (size_t)one->n)) != 0)
				continue;
			*taken = one->taken;
			return n < one->n ? CUT : one->n;
		}
	return NOT;
}

/* A line break within base64: its bytes, or CUT. */
static int line_break(const char *s, size_t n)
{
	if (*s == '\n')
		return 1;
	if (*s != '\r')
		return NOT;
	return n == 1 ? CUT : s[1] == '\n' ? 2 : 1;
}

/* From its character `i` on. */
static void match(const struct mask *m, const struct mask_form *f, size_t i, enum mask_way way, const char *s, size_t n,
                  struct mask_hit *hit)
{
	size_t at = 0, taken;
	bool broken = true; /* none before the first digit */

	while (i < f->n) {
		int used = at < n ? spells(m, f, i, way, s + at, n - at, &taken) : CUT;

		if (used == NOT && f->base64 && !broken) {
			used = line_break(s + at, n - at);
			taken = 0;
		}
		if (used == CUT)
			hit->begun = true;
		if (used <= 0)
			return;
		broken = taken == 0;
		at += (size_t)used;
		i += taken;
	}
	hit->n = MAX_OF(hit->n, at);
}

void mask_match(const struct mask *m, const struct mask_form *f, size_t i, const char *s, size_t n, struct mask_hit *hit)
{
	size_t length = f->n - i;

	if (f->plain) {
		if (memcmp(m->texts.data + f->at + i, s, MIN_OF(length, n)) != 0)
			return;
		if (n < length)
			hit->begun = true;
		else
			hit->n = MAX_OF(hit->n, length);
		return;
	}
	for (int way = 0; way < MASK_WAYS; way++)
		if (f->ways[way])
			match(m, f, i, (enum mask_way)way, s, n, hit);
}

struct mask_hit mask_at(const struct mask *m, const char *s, size_t n, size_t least)
{
	const struct mask_list *list = &m->by_first[(unsigned char)*s];
	struct mask_hit hit = { 0, false };

	for (size_t i = 0; i < list->count; i++)
		if (m->forms[list->of[i]].n >= least)
			mask_match(m, &m->forms[list->of[i]], 0, s, n, &hit);
	return hit;
}

static size_t pair_of(const char *s)
{
	return (unsigned char)s[0] | (size_t)(unsigned char)s[1] << 8;
}

/* 1 or 0 */
static uint64_t has_pair(const struct mask *m, const char *s)
{
	size_t pair = pair_of(s);

	return m->pairs[pair / 64] >> pair % 64 & 1;
}

/* The next place, of those that are `stride` apart, where three bytes are two pairs of a form; more than n - 3: there is
 * none. */
static size_t next_place(const struct mask *m, const char *s, size_t at, size_t n)
{
	size_t k = m->stride;

	for (; at + 2 < n; at += k) {
		while (at + 3 * k + 2 < n && !(has_pair(m, s + at) | has_pair(m, s + at + k) | has_pair(m, s + at + 2 * k) |
		                               has_pair(m, s + at + 3 * k)))
			at += 4 * k;
		if (at + 2 >= n || (has_pair(m, s + at) & has_pair(m, s + at + 1)))
			break;
	}
	return at;
}

size_t mask_next(const struct mask *m, const char *s, size_t at, size_t n)
{
	while (at < n && m->count > 0) {
		size_t seen = m->stride > 0 ? next_place(m, s, at, n) : n;
		size_t to = MIN_OF(seen + 1, n);

		if (m->stride > 0)
			at = MAX_OF(at, seen + 1 > m->stride ? seen + 1 - m->stride : 0);
		for (; at < to; at++)
			if (m->by_first[(unsigned char)s[at]].count > 0)
				return at;
	}
	return n;
}

/* --- the index ------------------------------------------------------------------------------- */

void mask_forget_index(struct mask *m)
{
	for (size_t i = 0; i < ARRAY_LEN(m->by_first); i++)
		free(m->by_first[i].of);
	memset(m->by_first, 0, sizeof(m->by_first));
	memset(m->pairs, 0, sizeof(m->pairs));
}

static void note_pair(struct mask *m, char first, char second)
{
	size_t pair = pair_of((char[]){ first, second });

	m->pairs[pair / 64] |= UINT64_C(1) << pair % 64;
}

static int spellings_of(const struct mask *m, const struct mask_form *f, size_t i, struct mask_spelling all[MASK_SPELLINGS])
{
	const char *c = m->texts.data + f->at + i;

	if (!f->exact)
		return mask_spell(c, f->n - i, f->base64, all);
	all[0] = (struct mask_spelling){ { *c }, 1, 1 };
	return 1;
}

/* The pairs across two characters, of which the second may be on the next line. */
static void note_border(struct mask *m, const struct mask_form *f, size_t i, char last)
{
	struct mask_spelling all[MASK_SPELLINGS];
	int count = i < f->n ? spellings_of(m, f, i, all) : 0;

	for (int j = 0; j < count; j++) {
		note_pair(m, last, *all[j].text);
		if (!f->base64)
			continue;
		note_pair(m, last, '\n'), note_pair(m, last, '\r'), note_pair(m, '\r', '\n');
		note_pair(m, '\n', *all[j].text), note_pair(m, '\r', *all[j].text);
	}
}

static void note_pairs(struct mask *m, const struct mask_form *f)
{
	struct mask_spelling all[MASK_SPELLINGS];

	for (size_t i = 0; i <= m->stride + 1 && i < f->n; i++) {
		int count = spellings_of(m, f, i, all);

		for (int j = 0; j < count; j++) {
			const struct mask_spelling *one = &all[j];

			for (size_t k = 0; k + 1 < one->n; k++)
				note_pair(m, one->text[k], one->text[k + 1]);
			note_border(m, f, i + one->taken, one->text[one->n - 1]);
		}
	}
}

static int add_first(struct mask *m, char first, size_t form)
{
	struct mask_list *list = &m->by_first[(unsigned char)first];
	uint32_t *grown;

	if (list->count > 0 && list->of[list->count - 1] == form)
		return 0;
	if ((list->count & (list->count - 1)) == 0) { /* room is a power of 2 */
		grown = realloc(list->of, MAX_OF(2 * list->count, (size_t)1) * sizeof(*grown));
		if (!grown)
			return -1;
		list->of = grown;
	}
	list->of[list->count++] = (uint32_t)form;
	return 0;
}

int mask_index(struct mask *m)
{
	size_t shortest = STRIDE_MAX + 2;

	mask_forget_index(m);
	for (size_t i = 0; i < m->count; i++)
		shortest = MIN_OF(shortest, m->forms[i].n);
	m->stride = MAX_OF(shortest, 2) - 2;
	for (size_t i = 0; i < m->count; i++) {
		struct mask_spelling all[MASK_SPELLINGS];
		int count = spellings_of(m, &m->forms[i], 0, all);

		note_pairs(m, &m->forms[i]);
		for (int j = 0; j < count; j++)
			if (add_first(m, *all[j].text, i) < 0)
				return -1;
	}
	return 0;
}
