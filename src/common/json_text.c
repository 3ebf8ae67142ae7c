/*
 * json_text.c: strings of json.h: what UTF-8 is, what of a text may reach a
 * terminal or an envelope, and how it is quoted. Both processes use it.
 *
 * Text is cut into units: a clean run, a byte to escape, a sequence to drop, a
 * bad sequence. json_quote() and text_clean() differ only in what they write
 * for each.
 */
#include <string.h>

#include "json.h"
#include "text_word.h"

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

/* The high bit of each byte that is zero (and perhaps of some above it). */
static uint64_t zero_bytes(uint64_t w)
{
	return (w - EACH_BYTE(1)) & ~w;
}

size_t text_plain(const char *s, size_t n)
{
	size_t i = 0;
	uint64_t odd;

	for (; n - i >= sizeof(odd); i += sizeof(odd)) {
		odd = word_odd(text_word(s + i));
		if (odd)
			return i + word_first(odd);
	}
	return i < n ? i + word_first(word_odd(text_short_word(s + i, n - i))) : n;
}

size_t json_unescaped(const char *s, size_t n)
{
	size_t i = 0;

	for (uint64_t w; n - i >= sizeof(w); i += sizeof(w)) {
		w = text_word(s + i);
		w = (zero_bytes(w ^ EACH_BYTE('"')) | zero_bytes(w ^ EACH_BYTE('\\'))) & EACH_BYTE(0x80);
		if (w)
			return i + word_first(w);
	}
	while (i < n && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

static char *put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* s is behind "\u"; what follows the escape. */
static const char *unicode_escape(const char *s, const char *end, char **to)
{
	int v = end - s < 4 ? -1 : json_hex4(s), low = -1;

	if (v < 0)
		return s;
	s += 4;
	if (v >= 0xd800 && v < 0xdc00 && end - s >= 6 && s[0] == '\\' && s[1] == 'u')
		low = json_hex4(s + 2);
	if (low >= 0xdc00 && low <= 0xdfff) {
		v = 0x10000 + ((v & 0x3ff) << 10 | (low & 0x3ff));
		s += 6;
	} else if (v >= 0xd800 && v <= 0xdfff) {
		v = 0xfffd;
	}
	*to = put_utf8(*to, (unsigned)v);
	return s;
}

const char *json_unescape(const char *s, const char *end, char **to)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *at;
	size_t n;

	for (;;) {
		n = json_unescaped(s, (size_t)(end - s));
		*to = mempcpy(*to, s, n);
		s += n + 1;
		if (s >= end || s[-1] == '"')
			return s - 1;
		at = *s ? strchr(letters, *s) : NULL;
		if (*s == 'u')
			s = unicode_escape(s + 1, end, to);
		else
			*(*to)++ = at ? meant[at - letters] : *s, s++;
	}
}

/* --- UTF-8 -------------------------------------------------------------------------- */

/* Well-formed sequences by lead byte (Unicode 15, table 3-7): the second byte's
 * range shuts out overlong forms, surrogates and what is above U+10FFFF. */
static const struct {
	unsigned char length, low, high;
} leads[256] = {
	[0xc2 ... 0xdf] = { 2, 0x80, 0xbf },
	[0xe0]          = { 3, 0xa0, 0xbf },
	[0xe1 ... 0xec] = { 3, 0x80, 0xbf },
	[0xed]          = { 3, 0x80, 0x9f },
	[0xee ... 0xef] = { 3, 0x80, 0xbf },
	[0xf0]          = { 4, 0x90, 0xbf },
	[0xf1 ... 0xf3] = { 4, 0x80, 0xbf },
	[0xf4]          = { 4, 0x80, 0x8f },
};

/* How many bytes at s belong together (≥ 1 when n > 0), and whether they are
 * a whole character. */
static size_t sequence(const char *s, size_t n, bool *whole)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t length = n > 0 ? leads[u[0]].length : 0, i = 2;

	*whole = n > 0 && u[0] < 0x80;
	if (length == 0 || n < 2 || u[1] < leads[u[0]].low || u[1] > leads[u[0]].high)
		return MIN_OF(n, (size_t)1);
	while (i < n && i < length && (u[i] & 0xc0) == 0x80)
		i++;
	*whole = i == length;
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

/* Length of the character beyond ASCII at s, 0 if there is none or it isn't printable as it stands. */
static size_t clean_wide(const char *s, size_t n)
{
	size_t length = utf8_length(s, n);

	return length < 2 || is_c1(s, length) || is_bidi(s, length) ? 0 : length;
}

static size_t clean_run(const char *s, size_t n)
{
	size_t i = 0, length;

	while ((i += text_plain(s + i, n - i)) < n && (length = clean_wide(s + i, n - i)) > 0)
		i += length;
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

/* ASCII that has to be escaped, and may be. */
static const struct {
	char text[7];
	unsigned char length; /* 0: it is none */
} escapes[256] = {
#define NAMED(byte, name) [byte] = { "\\" name, 2 }
#define CODED(hex)        [0x##hex] = { "\\u00" #hex, 6 }
	NAMED('"', "\""),  NAMED('\\', "\\"), NAMED('\b', "b"), NAMED('\f', "f"),
	NAMED('\n', "n"),  NAMED('\r', "r"),  NAMED('\t', "t"),
	CODED(01), CODED(02), CODED(03), CODED(04), CODED(05), CODED(06), CODED(07), CODED(0b),
	CODED(0e), CODED(0f), CODED(10), CODED(11), CODED(12), CODED(13), CODED(14), CODED(15),
	CODED(16), CODED(17), CODED(18), CODED(19), CODED(1a), CODED(1b), CODED(1c), CODED(1d), CODED(1e),
	CODED(1f), CODED(7f),
#undef CODED
#undef NAMED
};

#define STEP 16 /* bytes that a step may write, and more: all are written eight at once */

/* Plain bytes from s on, up to one that isn't, while there is room: how many. */
static size_t put_plain(char *to, const char *last, const char *s, size_t n)
{
	size_t done = 0;
	uint64_t w, odd;

	do {
		w = n - done < sizeof(w) ? text_short_word(s + done, n - done) : text_word(s + done);
		odd = word_odd(w);
		memcpy(to + done, &w, sizeof(w));
		done += odd ? word_first(odd) : sizeof(w);
	} while (!odd && done < n && to + done <= last);
	return done;
}

/* ASCII that is escaped in exact text and left out of clean text. */
static bool is_exact_only(unsigned char c)
{
	return c == '\r' || c == '\x1b';
}

/* A C1 or bidirectional control character as \uXXXX. */
static char *put_code(char *to, const char *s, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	unsigned code = (unsigned char)s[length - 1];

	if (length == 3)
		code = 0x2000 | ((unsigned)s[1] & 0x3f) << 6 | (code & 0x3f);
	*to++ = '\\';
	*to++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = digits[code >> shift & 15];
	return to;
}

/* What is neither plain, clean nor an escape of ASCII. *length: its own. In exact text, what is left
 * to be dropped here is one character, U+009B. */
static char *put_rare(char *to, const char *s, size_t n, bool exact, size_t *length, size_t *repairs)
{
	enum unit unit;

	*length = next_unit(s, n, &unit);
	if (exact && unit == UNIT_DROP)
		unit = UNIT_SPECIAL;
	*repairs += unit != UNIT_SPECIAL;
	if (unit == UNIT_SPECIAL)
		return put_code(to, s, *length);
	return unit == UNIT_BAD ? mempcpy(to, REPLACEMENT, strlen(REPLACEMENT)) : to;
}

/* Make room behind `to` for a step and n bytes: where `to` is then, and the last place that a step
 * may begin at. NULL: the rest is lost. */
static char *make_room(struct buf *out, char *to, size_t n, const char **last)
{
	out->len = (size_t)(to - out->data);
	if (buf_reserve(out, n + 2 * STEP) < 0) {
		out->failed = true;
		return NULL;
	}
	*last = out->data + out->cap - STEP;
	return out->data + out->len;
}

/* The rest of a string that isn't plain: its opening quote is there. */
static size_t quote_rest(struct buf *out, const char *s, size_t n, bool exact)
{
	const char *end = s + n, *last;
	size_t repairs = 0, length;
	char *to = make_room(out, out->data + out->len, n, &last);

	for (; to && s < end; s += length) {
		unsigned char c = (unsigned char)*s;

		if (escapes[c].length > 0 && (exact || !is_exact_only(c))) {
			memcpy(to, &escapes[c], sizeof(escapes[c]));
			to += escapes[c].length;
			length = 1;
		} else if (plain[c]) {
			length = put_plain(to, last, s, (size_t)(end - s));
			to += length;
		} else if ((length = clean_wide(s, (size_t)(end - s))) > 0) {
			memcpy(to, s, 2);
			memcpy(to + length - 2, s + length - 2, 2);
			to += length;
		} else {
			to = put_rare(to, s, (size_t)(end - s), exact, &length, &repairs);
		}
		if (to > last)
			to = make_room(out, to, (size_t)(end - s) - length, &last);
	}
	if (to == NULL)
		return repairs;
	*to = '"';
	buf_end(out, to + 1);
	return repairs;
}

/* At most 16 plain bytes in quotes. False: there are more, or others. */
static inline bool quote_short(struct buf *out, const char *s, size_t n)
{
	uint64_t first, last = 0;
	char *to;

	if (n > 2 * sizeof(first))
		return false;
	if (n < sizeof(first)) {
		first = text_short_word(s, n);
		if (word_first(word_odd(first)) < n)
			return false;
	} else {
		first = text_word(s);
		last = text_word(s + n - sizeof(last));
		if (word_odd(first) | word_odd(last))
			return false;
	}
	to = buf_begin(out, 2 + 2 * sizeof(first));
	if (to) {
		*to++ = '"';
		memcpy(to, &first, sizeof(first));
		if (n > sizeof(first))
			memcpy(to + n - sizeof(last), &last, sizeof(last));
		to[n] = '"';
		buf_end(out, to + n + 1);
	}
	return true;
}

static size_t quote(struct buf *out, const char *s, size_t n, bool exact)
{
	if (text_plain(s, n) == n) {
		char *to = buf_begin(out, n + 2);
		if (to)
			buf_end(out, json_put_plain(to, s, n));
		return 0;
	}
	buf_add_char(out, '"');
	return out->failed ? 0 : quote_rest(out, s, n, exact);
}

static bool shown_on_terminals(char c)
{
	return c == '"' || c == '\\' || c == '\n' || c == '\t';
}

size_t json_quote(struct buf *out, const char *s, size_t n)
{
	return quote_short(out, s, n) ? 0 : quote(out, s, n, false);
}

size_t json_quote_exact(struct buf *out, const char *s, size_t n)
{
	return quote_short(out, s, n) ? 0 : quote(out, s, n, true);
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

/*
 * The members of an object that json_check() has accepted, without
 * parsing it again: which names it has, and the text between its braces. Allocates nothing.
 */

/* Behind the string that begins at s[at], a quote. */
static size_t string_end(const char *s, size_t n, size_t at)
{
	for (at++; at < n && s[at] != '"'; at++)
		if (s[at] == '\\')
			at++;
	return MIN_OF(at + 1, n);
}

static size_t blanks_end(const char *s, size_t n, size_t at)
{
	while (at < n && strchr(" \t\r\n", s[at]))
		at++;
	return at;
}

bool json_has_member(const char *s, size_t n, const char *name)
{
	size_t at = 0, end, length = strlen(name);
	int depth = 0;

	while (at < n) {
		depth += s[at] == '{' || s[at] == '[';
		depth -= s[at] == '}' || s[at] == ']';
		if (s[at] != '"') {
			at++;
			continue;
		}
		end = string_end(s, n, at);
		if (depth == 1 && end - at == length + 2 && memcmp(s + at + 1, name, length) == 0) {
			size_t next = blanks_end(s, n, end);

			if (next < n && s[next] == ':')
				return true;
		}
		at = end;
	}
	return false;
}

bool json_add_members(struct buf *out, const char *s, size_t n)
{
	size_t from = blanks_end(s, n, 0);

	while (n > from && strchr(" \t\r\n", s[n - 1]))
		n--;
	if (n < from + 2 || s[from] != '{')
		return false;
	from = blanks_end(s, n, from + 1);
	if (from >= n - 1)
		return false;
	buf_add(out, s + from, n - 1 - from);
	return true;
}
