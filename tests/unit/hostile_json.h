/*
 * hostile_json.h: results that nobody would write, made from a number, and whether one is the beginning of another, as
 * src/common/shorten.h promises. For unit tests only.
 */
#ifndef RUNNER_TEST_HOSTILE_JSON_H
#define RUNNER_TEST_HOSTILE_JSON_H

#include <stdint.h>
#include <string.h>

#include "../../src/common/json.h"
#include "../../src/common/shorten.h"

#define MARK_BYTES (sizeof(SHORTEN_MARK) - 1)

/* --- results that are made ------------------------------------------------------------------ */

static uint64_t dice_state;

static inline unsigned dice(unsigned n)
{
	dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(dice_state >> 33) % n;
}

static inline void add_text(struct buf *out, size_t n)
{
	static const char *const pieces[] = { "x", "é", "€", "😀", "\\\"", "\\\\", "\\n", "\\u0001", "\\ud83d\\ude00", "\\u00e9", "]", "}", ",", " " };
	unsigned only = dice(2) ? dice(ARRAY_LEN(pieces)) : UINT32_MAX;

	buf_add_char(out, '"');
	for (size_t i = 0; i < n; i++)
		buf_add_str(out, pieces[only == UINT32_MAX ? dice(ARRAY_LEN(pieces)) : only]);
	buf_add_char(out, '"');
}

static inline size_t length(void)
{
	return dice(30) == 0 ? dice(12000) : dice(5) == 0 ? dice(600) : dice(20);
}

static inline void add_value(struct buf *out, int depth)
{
	unsigned kind = dice(depth > 6 ? 3 : 6), n = dice(12) == 0 ? dice(400) : dice(6);

	if (out->len > 60000)
		n = 0;
	if (kind == 0) {
		buf_add_fmt(out, "%d.5e3", (int)dice(100000) - 50000);
	} else if (kind == 1) {
		buf_add_str(out, dice(2) ? "null" : "true");
	} else if (kind == 2) {
		add_text(out, length());
	} else if (kind <= 4) {
		buf_add_char(out, '[');
		for (unsigned i = 0; i < n; i++) {
			buf_add_str(out, i ? ", " : " ");
			add_value(out, depth + 1);
		}
		buf_add_char(out, ']');
	} else {
		buf_add_char(out, '{');
		for (unsigned i = 0; i < n; i++) {
			buf_add_fmt(out, "%s\"%u", i ? "," : "", i);
			for (size_t k = dice(40) ? 0 : dice(3000); k > 0; k--)
				buf_add_char(out, 'k');
			buf_add_str(out, "\":");
			add_value(out, depth + 1);
		}
		buf_add_char(out, '}');
	}
}

/* --- is it a beginning? --------------------------------------------------------------------- */

static const char *cut_end, *whole_end;

static inline const char *next(const char *s)
{
	return s + strspn(s, ", ");
}

static inline bool begins(const char **cut, const char **whole);

static inline bool begins_text(const char **cut, const char **whole)
{
	const char *a = *cut, *b = *whole;
	size_t n = (size_t)(shorten_skip(a, cut_end) - a), m = (size_t)(shorten_skip(b, whole_end) - b);

	*cut += n, *whole += m;
	if (n == m && memcmp(a, b, n) == 0)
		return true;
	n -= MARK_BYTES + 1;
	return n < m && memcmp(a, b, n) == 0 && memcmp(a + n, SHORTEN_MARK, MARK_BYTES) == 0;
}

/* The items of both, as long as the cut array has some. */
static inline bool begins_array(const char **cut, const char **whole)
{
	for (*cut = next(*cut + 1), *whole = next(*whole + 1); **cut != ']'; *cut = next(*cut), *whole = next(*whole))
		if (**whole == ']' || !begins(cut, whole))
			return false;
	while (**whole != ']')
		*whole = next(shorten_skip(*whole, whole_end));
	(*cut)++, (*whole)++;
	return true;
}

static inline bool begins_object(const char **cut, const char **whole)
{
	for (*cut = next(*cut + 1), *whole = next(*whole + 1); **cut != '}'; *cut = next(*cut), *whole = next(*whole)) {
		if (**whole != '"' || !begins_text(cut, whole) || *(*cut)++ != ':' || *(*whole)++ != ':' || !begins(cut, whole))
			return false;
	}
	return *(*cut)++ == '}' && *(*whole)++ == '}';
}

static inline bool begins(const char **cut, const char **whole)
{
	const char *a = *cut = next(*cut), *b = *whole = next(*whole);

	if (*a != *b)
		return false;
	if (*a == '"')
		return begins_text(cut, whole);
	if (*a == '[')
		return begins_array(cut, whole);
	if (*a == '{')
		return begins_object(cut, whole);
	*cut = shorten_skip(a, cut_end);
	*whole = shorten_skip(b, whole_end);
	return *cut - a == *whole - b && memcmp(a, b, (size_t)(*cut - a)) == 0;
}

#endif
