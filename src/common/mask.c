/*
 * mask.c: from values to the forms that are looked for.
 *
 * A form is a run of characters, each of which may be spelled in several ways (mask_spelling.h): the value, a line of
 * it, and its base64 digits, of which those are the same whatever stands around that belong to it alone. A value of
 * more than PIECE bytes is looked for in pieces: so no more than one of these is ever held back.
 */
#include "mask.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "mask_forms.h"
#include "mask_spelling.h"

#define PIECE 512

struct mask *mask_new(void)
{
	return calloc(1, sizeof(struct mask));
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	mask_forget_index(m);
	if (m->values.data)
		explicit_bzero(m->values.data, m->values.len);
	if (m->texts.data)
		explicit_bzero(m->texts.data, m->texts.len);
	buf_release(&m->values);
	buf_release(&m->texts);
	free(m->forms);
	free(m);
}

/* --- forms of a value ------------------------------------------------------------------------- */

static int add_form(struct mask *m, const char *s, size_t n, bool exact, bool base64)
{
	struct mask_form f = { .at = m->texts.len, .n = n, .exact = exact, .base64 = base64, .plain = exact };
	struct mask_form *grown;
	bool plain = !base64;

	if ((m->count & (m->count - 1)) == 0) {
		grown = realloc(m->forms, MAX_OF(2 * m->count, (size_t)1) * sizeof(*grown));
		if (!grown)
			return -1;
		m->forms = grown;
	}
	for (size_t i = 0; i < n && !exact; i++) {
		plain = plain && mask_is_plain(s[i]);
		for (int way = 0; way < MASK_WAYS; way++)
			f.ways[way] |= mask_is_twofold(s[i], (enum mask_way)way);
	}
	f.plain |= plain;
	buf_add(&m->texts, s, n);
	m->forms[m->count++] = f;
	m->longest = MAX_OF(m->longest, MASK_SPELLING_MAX * n);
	return m->texts.failed ? -1 : 0;
}

/* The last piece is as long as the others: no few bytes of it are looked for alone. */
static int add_pieces(struct mask *m, const char *s, size_t n, bool base64)
{
	int status = 0;

	if (s == NULL) /* a buffer in which nothing is */
		return 0;
	while (n > PIECE && status == 0) {
		size_t length = text_cut(s, n, PIECE), back = n - length;

		status = add_form(m, s, length, false, base64);
		if (back < PIECE) { /* what is left begins earlier, at a character */
			s += n - PIECE, n = PIECE;
			for (int i = 0; i < 3 && (*s & 0xc0) == 0x80; i++)
				s++, n--;
			break;
		}
		s += length, n -= length;
	}
	return status < 0 ? -1 : add_form(m, s, n, false, base64);
}

/* Of the base64 of these bytes behind `before` others: the digits that are made of them alone. */
static int add_base64(struct mask *m, const char *s, size_t n, size_t before)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct buf text = BUF_INIT;
	int status;

	for (size_t bit = (before * 8 + 5) / 6 * 6; bit + 6 <= (before + n) * 8; bit += 6) {
		size_t at = bit / 8 - before;
		unsigned two = (unsigned)(unsigned char)s[at] << 8 | (at + 1 < n ? (unsigned char)s[at + 1] : 0u);

		buf_add_char(&text, digits[two >> (10 - bit % 8) & 63]);
	}
	status = text.failed ? -1 : text.len >= MASK_LEAST ? add_pieces(m, text.data, text.len, true) : 0;
	if (text.data)
		explicit_bzero(text.data, text.len);
	buf_release(&text);
	return status;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int add_lines(struct mask *m, const char *s, size_t n)
{
	const char *end = s + n, *next;
	int status = 0;

	if (!memchr(s, '\n', n))
		return 0;
	for (; s < end && status == 0; s = next) {
		const char *to = memchr(s, '\n', (size_t)(end - s));

		to = to ? to : end;
		next = to + 1;
		while (s < to && is_blank(*s))
			s++;
		while (to > s && is_blank(to[-1]))
			to--;
		if (to - s >= MASK_LEAST)
			status = add_pieces(m, s, (size_t)(to - s), false);
	}
	return status;
}

static bool is_all_blank(const char *s, size_t n)
{
	while (n > 0 && is_blank(*s))
		s++, n--;
	return n == 0;
}

static int add_other(struct mask *m, const char *s, size_t n, struct buf *other)
{
	bool is = other->len >= MASK_LEAST && (other->len != n || memcmp(other->data, s, n) != 0);
	int status = other->failed ? -1 : 0;

	if (is && !is_all_blank(other->data, other->len))
		status = add_pieces(m, other->data, other->len, false);
	if (other->data)
		explicit_bzero(other->data, other->len);
	buf_release(other);
	return status;
}

/* As it is when everything is gone that a terminal, or JSON of ours, doesn't take. */
static int add_clean(struct mask *m, const char *s, size_t n)
{
	struct buf terminal = BUF_INIT, quoted = BUF_INIT, json = BUF_INIT;
	int status;

	text_clean(&terminal, s, n);
	json_quote(&quoted, s, n);
	mask_unescape(quoted.data + 1, quoted.failed ? 0 : quoted.len - 2, &json);
	status = quoted.failed ? -1 : 0;
	buf_release(&quoted);
	if (add_other(m, s, n, &terminal) < 0)
		status = -1;
	return add_other(m, s, n, &json) < 0 ? -1 : status;
}

static int add_forms(struct mask *m, const char *s, size_t n)
{
	if (n < MASK_LEAST)
		return add_form(m, s, n, true, false);
	if (add_pieces(m, s, n, false) < 0 || add_lines(m, s, n) < 0 || add_clean(m, s, n) < 0)
		return -1;
	for (size_t before = 0; before < 3; before++)
		if (add_base64(m, s, n, before) < 0)
			return -1;
	return 0;
}

static bool is_known(const struct mask *m, const char *value, size_t n)
{
	for (size_t at = 0, length; at < m->values.len; at += sizeof(length) + length) {
		memcpy(&length, m->values.data + at, sizeof(length));
		if (length == n && memcmp(m->values.data + at + sizeof(length), value, n) == 0)
			return true;
	}
	return false;
}

int mask_add(struct mask *m, const char *value, size_t n)
{
	if (is_all_blank(value, n) || is_known(m, value, n))
		return 0;
	if (n > MASK_MOST - MIN_OF(m->values.len, MASK_MOST))
		return -1;
	buf_add(&m->values, &n, sizeof(n));
	buf_add(&m->values, value, n);
	if (m->values.failed || add_forms(m, value, n) < 0)
		return -1;
	return mask_index(m);
}

/* --- texts that were cut ------------------------------------------------------------------------ */

size_t mask_begun(const struct mask *m, const char *s, size_t n)
{
	size_t at = n > m->longest ? n - m->longest : 0;

	if (m->count == 0)
		return 0;
	while ((at = mask_next(m, s, at, n)) < n && !mask_at(m, s + at, n - at, 0).begun)
		at++;
	return n - at >= MASK_LEAST ? n - at : 0;
}

/* The bytes at s that may be the end of the spelling before. */
static size_t rest_of_spelling(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && i < 5 && (s[i] == 'u' || (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f') || (s[i] >= 'A' && s[i] <= 'F')))
		i++;
	return i;
}

size_t mask_ended(const struct mask *m, const char *s, size_t n)
{
	size_t most = 0, rest = rest_of_spelling(s, n);

	for (size_t k = 0; k < m->count; k++)
		for (size_t i = 1; i + MASK_LEAST <= m->forms[k].n; i++)
			for (size_t skip = 0; skip <= (m->forms[k].plain ? 0 : rest) && skip < n; skip++) {
				struct mask_hit hit = { 0, false };

				mask_match(m, &m->forms[k], i, s + skip, n - skip, &hit);
				most = hit.n > 0 ? MAX_OF(most, skip + hit.n) : most;
			}
	return most;
}
