/*
 * json.h: JSON out (a streaming writer on a struct buf) and a strict checker
 * for fragments that others wrote. Nothing here builds a tree.
 *
 * What the writer lets through is always clean, for parsers and for terminals:
 * valid UTF-8, no NUL, no ANSI escape sequences, no control bytes outside escapes
 * (docs/design.md#clean-text).
 */
#ifndef RUNNER_JSON_H
#define RUNNER_JSON_H

#include "buf.h"

#define JSON_MAX_DEPTH 128

/* --- writer ------------------------------------------------------------ */

/* Compact output; commas are the writer's business. */
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
/* Shortest text that reads back as the same double; NaN, ±inf write null.
 * Always has a '.' or an exponent, so that 1.0 does not turn into 1.
 * Independent of the locale. */
void json_double(struct json_writer *w, double v);
void json_bool(struct json_writer *w, bool v);
void json_write_null(struct json_writer *w); /* not json_null: Jansson exports one */
/* Splice a fragment that json_check() accepted. */
void json_raw(struct json_writer *w, const char *s, size_t n);

/*
 * Append s as a quoted JSON string. Invalid UTF-8 (overlong forms, surrogates
 * and > U+10FFFF included) becomes U+FFFD, one per maximal bad sequence; NUL
 * becomes U+FFFD; ANSI escapes are removed: CSI and OSC sequences whole, a
 * lone ESC (and C1 CSI U+009B) alone; other control characters are escaped.
 * Returns the number of repairs (0: the text went through as it was).
 */
size_t json_quote(struct buf *out, const char *s, size_t n);
/* The same cleaning without quotes and JSON escapes, for terminals: control
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
 * escapes, and no \u0000, \u001b or \u009b that would smuggle NUL or ANSI?
 * Newlines between tokens are refused too: the envelope is one line.
 * Allocates nothing, recurses nowhere.
 */
enum json_kind json_check(const char *s, size_t n);

/* How many bytes of s[0..n) to keep where `max` is the limit: as many as fit
 * without a cut through a character. */
size_t text_cut(const char *s, size_t n, size_t max);

/* Length of the valid UTF-8 sequence at s (1–4), 0 if s does not start one. */
size_t utf8_length(const char *s, size_t n);
/* How many bytes at s are printable ASCII that JSON needn't escape. */
size_t text_plain(const char *s, size_t n);

#endif
