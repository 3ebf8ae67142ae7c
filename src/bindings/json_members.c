/*
 * json_members.c: the members of an object with many, or with a key that can't be written
 * as it is. They are written in the order of lua_next() and sorted in the text. Two keys
 * that differ only in bytes that can't be written would become one key, and are refused.
 * Runs in the worker.
 */
#include "json_encode.h"

#include <stdlib.h>
#include <string.h>

#include "../common/text_word.h"

struct member {
	union {
		size_t start;    /* of `"key":value` in out */
		const char *key; /* while sorting: out may move until then */
	};
	size_t key_len; /* as written, without the quotes */
	size_t len;     /* of `"key":value` */
	uint64_t word;  /* while sorting: the key's first bytes behind those that all keys share */
};

/* Its key and value are on the stack. */
static int put_member(struct encoder *e, int at, struct member *m)
{
	struct place *here = &e->path[e->depth - 1];

	if (lua_type(e->L, -2) != LUA_TSTRING) {
		lua_Integer n = (lua_Integer)lua_rawlen(e->L, at);

		return n > 0 ? encode_check_items(e, at, n) : encode_refuse_key(e);
	}
	here->key = lua_tolstring(e->L, -2, &here->key_len);
	m->start = e->out->len;
	encode_text(e, here->key, here->key_len);
	m->key_len = e->out->len - m->start - 2;
	buf_add_char(e->out, ':');
	if (encode_value(e, e->top) < 0)
		return -1;
	m->len = e->out->len - m->start;
	return 0;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->word != b->word)
		return a->word < b->word ? -1 : 1;
	return encode_compare_keys(a->key, a->key_len, b->key, b->key_len);
}

/* How many bytes all keys begin with. */
static size_t count_shared(const struct member *m, size_t count)
{
	size_t shared = m[0].key_len;

	for (size_t i = 1; i < count && shared > 0; i++) {
		size_t same = 0, max = MIN_OF(shared, m[i].key_len);

		while (same < max && m[i].key[same] == m[0].key[same])
			same++;
		shared = same;
	}
	return shared;
}

/* Their words, so that most need no second look: as numbers they have the order of the bytes. */
static void set_words(struct member *m, size_t count)
{
	size_t shared = count_shared(m, count);

	for (size_t i = 0; i < count; i++) {
		const char *rest = m[i].key + shared;
		size_t n = m[i].key_len - shared;

		m[i].word = __builtin_bswap64(n < sizeof(m->word) ? text_short_word(rest, n) : text_word(rest));
	}
}

#define MANY 256 /* members that are put in order by the bytes of their words */

/* Put them in the order of one byte of their words; those with the same byte keep theirs. */
static void put_by_byte(struct member *to, const struct member *m, size_t count, unsigned shift)
{
	size_t next[256] = { 0 }, at = 0;

	for (size_t i = 0; i < count; i++)
		next[m[i].word >> shift & 0xff]++;
	for (size_t i = 0; i < ARRAY_LEN(next); i++) {
		size_t n = next[i];

		next[i] = at;
		at += n;
	}
	for (size_t i = 0; i < count; i++)
		to[next[m[i].word >> shift & 0xff]++] = m[i];
}

/* Sort by word, the last byte first, and only by bytes that differ. `other` has room for as many. */
static void sort_by_word(struct member *m, struct member *other, size_t count)
{
	struct member *from = m, *to = other, *done;
	uint64_t differ = 0;

	for (size_t i = 1; i < count; i++)
		differ |= m[i].word ^ m[0].word;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if ((differ >> shift & 0xff) == 0)
			continue;
		put_by_byte(to, from, count, shift);
		done = to;
		to = from;
		from = done;
	}
	if (from != m)
		memcpy(m, from, count * sizeof(*m));
}

/* Sort by key. 0, or -1. */
static int sort_keys(struct encoder *e, struct member *m, size_t count)
{
	struct member *other;
	size_t same;

	set_words(m, count);
	if (count < MANY) {
		qsort(m, count, sizeof(*m), compare_members);
		return 0;
	}
	buf_clear(e->sorted);
	other = (struct member *)(void *)buf_begin(e->sorted, count * sizeof(*m));
	if (!other)
		return encode_refuse_size(e);
	sort_by_word(m, other, count);
	for (size_t i = 0; i < count; i += same) {
		for (same = 1; i + same < count && m[i + same].word == m[i].word; same++)
			;
		if (same > 1)
			qsort(&m[i], same, sizeof(*m), compare_members);
	}
	return 0;
}

/* Refuse equal keys, which are neighbours after sorting. 0, or -1. */
static int check_members(struct encoder *e, const struct member *m, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_members(&m[i - 1], &m[i]) != 0)
			continue;
		e->depth--;
		return encode_refuse(e, "has two keys that both become \"%.*s\" when cleaned: rename one",
		                     (int)MIN_OF(m[i].key_len, (size_t)200), m[i].key);
	}
	return 0;
}

/* Sort the members written since `base` by key. */
static int sort_members(struct encoder *e, size_t base)
{
	size_t count = (e->members->len - base) / sizeof(struct member);
	struct member *m;
	size_t start;
	char *to;

	if (e->members->failed)
		return encode_refuse_size(e);
	if (encode_check_size(e, 0) < 0)
		return -1;
	m = (struct member *)(void *)(e->members->data + base);
	start = m[0].start;
	for (size_t i = 0; i < count; i++)
		m[i].key = e->out->data + m[i].start + 1;
	if (sort_keys(e, m, count) < 0 || check_members(e, m, count) < 0)
		return -1;
	buf_clear(e->sorted);
	to = buf_begin(e->sorted, e->out->len - start + 1);
	if (!to)
		return encode_refuse_size(e);
	for (size_t i = 0; i < count; i++) {
		to = mempcpy(to, m[i].key - 1, m[i].len);
		*to++ = ',';
	}
	buf_end(e->sorted, to - 1);
	memcpy(e->out->data + start, e->sorted->data, e->sorted->len);
	e->members->len = base;
	return 0;
}

int encode_many(struct encoder *e, int at)
{
	size_t base = e->members->len, count = 0;
	struct member m;

	lua_settop(e->L, e->top);
	e->top += 2;
	for (lua_pushnil(e->L); lua_next(e->L, at); lua_pop(e->L, 1)) {
		buf_add_char(e->out, count++ ? ',' : '{');
		if (put_member(e, at, &m) < 0)
			return -1;
		buf_add(e->members, &m, sizeof(m));
	}
	e->top -= 2;
	if (sort_members(e, base) < 0)
		return -1;
	buf_add_char(e->out, '}');
	return 0;
}
