/*
 * json_text.c: strings of json.h: what UTF-8 is, what of a text may reach a
 * terminal or an envelope, and how it is quoted. Both processes use it.
 *
 * Text is cut into units: a clean run, a byte to escape, a sequence to drop, a
 * bad sequence. json_quote() and text_clean() differ only in what they write
 * for each.
 */
#include "json.h"

#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

enum unit {
	UNIT_CLEAN,   /* printable as it stands */
	UNIT_SPECIAL, /* a quote, a backslash, a control or bidirectional control character */
	UNIT_DROP,    /* an ANSI sequence */
	UNIT_BAD,     /* NUL or a maximal bad sequence: U+FFFD */
};

/* ASCII that needs no second look. */
static const bool plain[256] = {
	[0x20 ... 0x21] = true,
	[0x23 ... 0x5b] = true,
	[0x5d ... 0x7e] = true,
};

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* Which byte the lowest set bit is in: they are in the order of memory. */
static size_t first_byte(uint64_t bits)
{
	return (size_t)__builtin_ctzll(bits) / 8;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "first_byte() counts from the other end");

/* The high bit of each byte that is zero (and perhaps of some above it). */
static uint64_t zero_bytes(uint64_t w)
{
	return (w - EACH_BYTE(1)) & ~w;
}

/* The high bit of each byte that isn't plain (and perhaps of some above it). */
static uint64_t odd_bytes(const char *s)
{
	uint64_t w;

	memcpy(&w, s, sizeof(w));
	return (w | (w - EACH_BYTE(0x20)) | zero_bytes(w ^ EACH_BYTE('"')) |
	        zero_bytes(w ^ EACH_BYTE('\\')) | zero_bytes(w ^ EACH_BYTE(0x7f))) &
	       EACH_BYTE(0x80);
}

size_t text_plain(const char *s, size_t n)
{
	size_t i = 0;

	for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t odd = odd_bytes(s + i);

		if (odd)
			return i + first_byte(odd);
	}
	while (i < n && plain[(unsigned char)s[i]])
		i++;
	return i;
}

size_t json_unescaped(const char *s, size_t n)
{
	size_t i = 0;

	for (uint64_t w; n - i >= sizeof(w); i += sizeof(w)) {
		memcpy(&w, s + i, sizeof(w));
		w = (zero_bytes(w ^ EACH_BYTE('"')) | zero_bytes(w ^ EACH_BYTE('\\'))) & EACH_BYTE(0x80);
		if (w)
			return i + first_byte(w);
	}
	while (i < n && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

/* --- UTF-8 -------------------------------------------------------------------------- */

/* Well-formed sequences by lead byte (Unicode 15, table 3-7): the second byte's
 * range shuts out overlong forms, surrogates and what is above U+10FFFF. */
struct lead {
	unsigned char first, last;
	unsigned char length;
	unsigned char low, high;
};

static const struct lead leads[] = {
	{ 0xc2, 0xdf, 2, 0x80, 0xbf },
	{ 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf },
	{ 0xed, 0xed, 3, 0x80, 0x9f },
	{ 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf },
	{ 0xf1, 0xf3, 4, 0x80, 0xbf },
	{ 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *find_lead(unsigned char c)
{
	for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
		if (c >= leads[i].first && c <= leads[i].last)
			return &leads[i];
	}
	return NULL;
}

/* How many bytes at s belong together (≥ 1 when n > 0), and whether they are
 * a whole character. */
static size_t sequence(const char *s, size_t n, bool *whole)
{
	const unsigned char *u = (const unsigned char *)s;
	const struct lead *lead = n > 0 ? find_lead(u[0]) : NULL;
	*whole = n > 0 && u[0] < 0x80;
	if (lead == NULL || n < 2 || u[1] < lead->low || u[1] > lead->high)
		return MIN_OF(n, (size_t)1);
	size_t i = 2;
	while (i < n && i < lead->length && (u[i] & 0xc0) == 0x80)
		i++;
	*whole = i == lead->length;
	return i;
}

size_t utf8_length(const char *s, size_t n)
{
	bool whole;
	size_t length = sequence(s, n, &whole);
	return whole ? length : 0;
}

size_t text_cut(const char *s, size_t n, size_t max)
{
	if (n <= max)
		return n;
	/* a character begins at most 3 bytes before the cut */
	for (size_t back = 1; back <= 3 && back <= max; back++)
		if (utf8_length(s + max - back, n - (max - back)) > back)
			return max - back;
	return max;
}

/* --- units --------------------------------------------------------------------------- */

/* U+0080–U+009F */
static bool is_c1(const char *s, size_t length)
{
	return length == 2 && s[0] == '\xc2' && (unsigned char)s[1] < 0xa0;
}

/* U+202A–U+202E and U+2066–U+2069: they reorder what stands around them, so that a
 * reader sees another text than there is. */
static bool is_bidi(const char *s, size_t length)
{
	unsigned char last = length == 3 ? (unsigned char)s[2] : 0;

	return length == 3 && s[0] == '\xe2' &&
	       ((s[1] == '\x80' && last >= 0xaa && last <= 0xae) ||
	        (s[1] == '\x81' && last >= 0xa6 && last <= 0xa9));
}

static size_t clean_run(const char *s, size_t n)
{
	size_t i = 0;
	while ((i += text_plain(s + i, n - i)) < n) {
		size_t length = utf8_length(s + i, n - i);
		if (length < 2 || is_c1(s + i, length) || is_bidi(s + i, length))
			break;
		i += length;
	}
	return i;
}

/* ECMA-48 5.4: parameters, intermediates, one final byte. Behind "ESC [". */
static size_t csi_length(const char *s, size_t n)
{
	size_t i = 2;
	while (i < n && s[i] >= 0x20 && s[i] <= 0x3f)
		i++;
	return i < n && s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : 0;
}

/* Up to BEL or ESC \. Any other control byte aborts it, so that an open one
 * doesn't swallow the text, and no byte is scanned twice. */
static size_t osc_length(const char *s, size_t n)
{
	size_t i = 2;
	while (i < n && (unsigned char)s[i] >= 0x20)
		i++;
	if (i < n && s[i] == '\a')
		return i + 1;
	return i + 1 < n && s[i] == '\x1b' && s[i + 1] == '\\' ? i + 2 : 0;
}

/* What goes with the ESC at s: its sequence, or it alone. */
static size_t escape_length(const char *s, size_t n)
{
	size_t length = 0;
	if (n > 1 && s[1] == '[')
		length = csi_length(s, n);
	else if (n > 1 && s[1] == ']')
		length = osc_length(s, n);
	return MAX_OF(length, (size_t)1);
}

static size_t next_unit(const char *s, size_t n, enum unit *unit)
{
	bool whole;
	size_t length = clean_run(s, n);
	*unit = UNIT_CLEAN;
	if (length > 0)
		return length;
	if (s[0] == '\x1b') {
		*unit = UNIT_DROP;
		return escape_length(s, n);
	}
	if (s[0] == '\r') { /* a line overwritten: REQ-F-007 */
		*unit = UNIT_DROP;
		return 1;
	}
	length = sequence(s, n, &whole);
	*unit = whole && s[0] != '\0' ? UNIT_SPECIAL : UNIT_BAD;
	if (length == 2 && whole && s[1] == '\x9b')
		*unit = UNIT_DROP;
	return length;
}

/* --- writing ------------------------------------------------------------------------- */

static void escape(struct buf *out, const char *s, size_t length)
{
	static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *at = strchr(named, s[0]);
	unsigned code = (unsigned char)s[length - 1]; /* also that of a C1 control */
	char text[8];
	if (at != NULL) {
		buf_add(out, (char[]){ '\\', letters[at - named] }, 2);
		return;
	}
	if (length == 3)
		code = 0x2000 | ((unsigned)s[1] & 0x3f) << 6 | (code & 0x3f);
	snprintf(text, sizeof(text), "\\u%04x", code);
	buf_add(out, text, 6);
}

/* Most strings. */
static bool quote_plain(struct buf *out, const char *s, size_t n)
{
	char *at;
	if (out->failed || (out->cap - out->len < n + 3 && buf_reserve(out, n + 2) < 0))
		return false;
	at = out->data + out->len;
	*at++ = '"';
	memcpy(at, s, n);
	at[n] = '"';
	at[n + 1] = '\0';
	out->len += n + 2;
	return true;
}

static size_t quote(struct buf *out, const char *s, size_t n, bool keep_returns)
{
	size_t repairs = 0, run = text_plain(s, n);
	enum unit unit;
	if (run == n && quote_plain(out, s, n))
		return 0;
	buf_add_char(out, '"');
	buf_add(out, s, run);
	s += run;
	n -= run;
	for (size_t length; n > 0; s += length, n -= length) {
		length = next_unit(s, n, &unit);
		if (keep_returns && s[0] == '\r')
			unit = UNIT_SPECIAL;
		if (unit == UNIT_CLEAN)
			buf_add(out, s, length);
		else if (unit == UNIT_SPECIAL)
			escape(out, s, length);
		else if (unit == UNIT_BAD)
			buf_add_str(out, REPLACEMENT);
		repairs += unit == UNIT_BAD || unit == UNIT_DROP;
	}
	buf_add_char(out, '"');
	return repairs;
}

static bool shown_on_terminals(char c)
{
	return c == '"' || c == '\\' || c == '\n' || c == '\t';
}

size_t json_quote(struct buf *out, const char *s, size_t n)
{
	return quote(out, s, n, false);
}

size_t json_quote_exact(struct buf *out, const char *s, size_t n)
{
	return quote(out, s, n, true);
}

size_t text_clean(struct buf *out, const char *s, size_t n)
{
	size_t repairs = 0;
	enum unit unit;
	for (size_t length; n > 0; s += length, n -= length) {
		length = next_unit(s, n, &unit);
		if (unit == UNIT_SPECIAL && shown_on_terminals(s[0]))
			unit = UNIT_CLEAN;
		if (unit == UNIT_CLEAN)
			buf_add(out, s, length);
		else if (unit == UNIT_BAD)
			buf_add_str(out, REPLACEMENT);
		repairs += unit != UNIT_CLEAN;
	}
	return repairs;
}
