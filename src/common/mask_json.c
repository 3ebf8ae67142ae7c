/*
 * mask_json.c: a JSON text without secrets: in its strings, as they are meant, and its numbers. What is no JSON comes out
 * as a text.
 */
#include <string.h>

#include "json.h"
#include "mask_forms.h"

/* --- strings --------------------------------------------------------------------------------- */

static int hex4(const char *s, size_t n)
{
	int v = 0;

	if (n < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *at = s[i] ? strchr(digits, s[i] | 0x20) : NULL;

		if (!at || (s[i] < '0' || (s[i] > '9' && s[i] < 'A')))
			return -1;
		v = v * 16 + (int)(at - digits);
	}
	return v;
}

static void add_utf8(struct buf *out, unsigned c)
{
	if (c < 0x80) {
		buf_add_char(out, (char)c);
		return;
	}
	if (c < 0x800) {
		buf_add_char(out, (char)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		buf_add_char(out, (char)(0xe0 | c >> 12));
	} else {
		buf_add_char(out, (char)(0xf0 | c >> 18));
		buf_add_char(out, (char)(0x80 | (c >> 12 & 63)));
	}
	if (c >= 0x800)
		buf_add_char(out, (char)(0x80 | (c >> 6 & 63)));
	buf_add_char(out, (char)(0x80 | (c & 63)));
}

/* Behind "\u": the bytes that it takes. */
static size_t add_unit(struct buf *out, const char *s, size_t n)
{
	int high = hex4(s, n), low;

	if (high < 0)
		return 0;
	if (high < 0xd800 || high > 0xdfff)
		return add_utf8(out, (unsigned)high), 4;
	low = high < 0xdc00 && n >= 10 && s[4] == '\\' && s[5] == 'u' ? hex4(s + 6, n - 6) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return add_utf8(out, 0xfffd), 4;
	return add_utf8(out, 0x10000u + ((unsigned)(high - 0xd800) << 10) + (unsigned)(low - 0xdc00)), 10;
}

void mask_unescape(const char *s, size_t n, struct buf *out)
{
	static const char escaped[] = "bfnrt", plain[] = "\b\f\n\r\t";

	for (size_t i = 0; i < n;) {
		const char *slash = memchr(s + i, '\\', n - i), *at;

		buf_add(out, s + i, slash ? (size_t)(slash - s) - i : n - i);
		i = slash ? (size_t)(slash - s) + 1 : n;
		if (i >= n)
			break;
		if (s[i] == 'u') {
			i += 1 + add_unit(out, s + i + 1, n - i - 1);
			continue;
		}
		at = s[i] ? strchr(escaped, s[i]) : NULL;
		buf_add_char(out, at ? plain[at - escaped] : s[i]);
		i++;
	}
}

/* Behind the quote at s[0]: where the next one is that ends it, n: nowhere. */
static size_t string_end(const char *s, size_t n, bool *has_escapes)
{
	*has_escapes = false;
	for (size_t i = 1; i < n; i++) {
		if (s[i] == '"')
			return i;
		if (s[i] == '\\') {
			*has_escapes = true;
			i++;
		}
	}
	return n;
}

/* The contents of a string without secrets, quoted; false: there are none. */
static bool mask_string(const struct mask *m, const char *s, size_t n, bool has_escapes, struct buf *out)
{
	struct buf meant = BUF_INIT, hidden = BUF_INIT;
	bool is;

	if (has_escapes) {
		mask_unescape(s, n, &meant);
		s = buf_cstr(&meant);
		n = meant.len;
	}
	is = mask_text(m, s, n, &hidden);
	if (is)
		json_quote_exact(out, buf_cstr(&hidden), hidden.len);
	buf_release(&meant);
	buf_release(&hidden);
	return is;
}

/* --- the text ----------------------------------------------------------------------------------- */

static size_t number_end(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] && strchr("+-.eE", s[i]))))
		i++;
	return i;
}

/* Copy what hasn't come out yet, up to `at`. */
static void catch_up(struct buf *out, const char *s, size_t *done, size_t at, size_t next)
{
	buf_add(out, s + *done, at - *done);
	*done = next;
}

bool mask_json(const struct mask *m, const char *s, size_t n, struct buf *out)
{
	size_t done = 0, start = out->len;
	bool any = false, has_escapes;
	struct buf token = BUF_INIT;

	for (size_t at = 0, length; at < n; at += length) {
		buf_clear(&token);
		length = 1;
		if (s[at] == '"') {
			size_t end = string_end(s + at, n - at, &has_escapes);

			if (end == n - at) { /* no JSON */
				any = false;
				break;
			}
			length = end + 1;
			if (!mask_string(m, s + at + 1, end - 1, has_escapes, &token))
				continue;
		} else if (s[at] == '-' || (s[at] >= '0' && s[at] <= '9')) {
			length = number_end(s + at, n - at);
			if (mask_at(m, s + at, length).n != length)
				continue;
			buf_add_str(&token, "\"" MASK_SHOWN "\"");
		} else {
			continue;
		}
		catch_up(out, s, &done, at, at + length);
		buf_add(out, token.data, token.len);
		any = true;
	}
	buf_release(&token);
	if (!any) {
		out->len = start;
		return json_check(s, n) == JSON_INVALID && mask_text(m, s, n, out);
	}
	buf_add(out, s + done, n - done);
	return true;
}
