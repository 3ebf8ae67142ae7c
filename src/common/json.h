/*
 * json.h: a streaming JSON writer on a struct buf, and a strict checker for
 * fragments that others wrote. Nothing here builds a tree.
 *
 * The writer's output is always safe for parsers and terminals: valid UTF-8, no
 * NUL, no ANSI escape sequences, no control bytes outside escapes
 * (docs/design.md#clean-text).
 */
#ifndef RUNNER_JSON_H
#define RUNNER_JSON_H

#include <string.h>

#include "buf.h"

#define JSON_MAX_DEPTH 128

/* --- writer ------------------------------------------------------------ */

/* Compact output; the writer adds the commas. */
struct json_writer {
	struct buf *out;
	bool need_comma;
};

#define JSON_WRITER_INIT(buf_ptr) { (buf_ptr), false }

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_str(struct json_writer *w, const char *s, size_t n);
void json_cstr(struct json_writer *w, const char *s); /* NULL writes null */
void json_int(struct json_writer *w, int64_t v);
/* The shortest text that reads back as the same double; NaN and ±inf write null.
 * Always has a '.' or an exponent, so that 1.0 does not become 1.
 * Independent of the locale. */
void json_double(struct json_writer *w, double v);
void json_bool(struct json_writer *w, bool v);
void json_write_null(struct json_writer *w); /* not json_null: the tests link Jansson, which exports that */
/* Insert a fragment that json_check() accepted. */
void json_raw(struct json_writer *w, const char *s, size_t n);

/*
 * Append s as a quoted JSON string. Invalid UTF-8 (overlong forms, surrogates
 * and > U+10FFFF included) becomes U+FFFD, one per maximal bad sequence; NUL
 * becomes U+FFFD; ANSI escapes are removed: CSI and OSC sequences whole, of
 * others the ESC (or C1 CSI U+009B) alone; carriage returns are removed (REQ-F-007);
 * other control characters are escaped. Returns the number of repairs (0: the text is
 * unchanged).
 */
size_t json_quote(struct buf *out, const char *s, size_t n);
/* The same for text that another program reads, as a request or a file: all that JSON can carry
 * stays, escaped. A repair is what it can't: invalid UTF-8 and NUL. */
size_t json_quote_exact(struct buf *out, const char *s, size_t n);
/* The same cleaning without quotes and JSON escapes, for terminals. Control
 * characters other than \n and \t are dropped. */
size_t text_clean(struct buf *out, const char *s, size_t n);

/* --- checker ----------------------------------------------------------- */

enum json_kind {
	JSON_INVALID,
	JSON_NULL,
	JSON_SCALAR,
	JSON_OBJECT,
	JSON_ARRAY,
};

/*
 * Is s[0..n) exactly one JSON text (RFC 8259, no BOM, surrounding blanks
 * allowed), with depth ≤ JSON_MAX_DEPTH, valid UTF-8, paired surrogate
 * escapes, and no \u0000, \u001b or \u009b that would smuggle in NUL or ANSI?
 * Newlines between tokens are refused too, since the envelope is one line.
 * Neither allocates nor recurses. Returns its kind, or JSON_INVALID.
 */
enum json_kind json_check(const char *s, size_t n);

/* Of text that json_check() accepted: does the object have a member of this name? False
 * for any other value. A name written with escapes is not found. */
bool json_has_member(const char *s, size_t n, const char *name);
/* Append the members of the object, without its braces; false if there are none. */
bool json_add_members(struct buf *out, const char *s, size_t n);

/* How many bytes of s[0..n) fit into `max` bytes without splitting a character. */
size_t text_cut(const char *s, size_t n, size_t max);

/* Length of the valid UTF-8 sequence at s (1–4 bytes), 0 if none starts there. */
size_t utf8_length(const char *s, size_t n);
/* The character of such a sequence, of that length. */
static inline uint32_t utf8_code_point(const char *s, size_t length)
{
	uint32_t c = length == 1 ? (unsigned char)*s : (unsigned char)*s & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3fu);
	return c;
}
/* How many bytes at s are printable ASCII that needs no escape in JSON. */
size_t text_plain(const char *s, size_t n);
/* Write n such bytes in quotes to where n + 2 bytes have room. What is behind them. */
static inline char *json_put_plain(char *to, const char *s, size_t n)
{
	*to++ = '"';
	if (n > 16) {
		to = mempcpy(to, s, n);
	} else if (n >= 8) { /* twice as many as may overlap */
		memcpy(to, s, 8);
		memcpy(to + n - 8, s + n - 8, 8);
		to += n;
	} else if (n >= 4) {
		memcpy(to, s, 4);
		memcpy(to + n - 4, s + n - 4, 4);
		to += n;
	} else {
		for (size_t i = 0; i < n; i++)
			*to++ = s[i];
	}
	*to = '"';
	return to + 1;
}
/* How many bytes at s are before the first quote or backslash. */
size_t json_unescaped(const char *s, size_t n);
/*
 * Write what a string means from s on, up to its quote or to the end, and say where that is. No escape is shorter than what
 * it means. What is none, in a text that isn't checked, means its letter; half of a pair is U+FFFD.
 */
const char *json_unescape(const char *s, const char *end, char **to);
/* The value of the four hexadecimal digits at s, -1 if they aren't; reads no further than the
 * first byte that is none. */
int json_hex4(const char *s);

#endif
