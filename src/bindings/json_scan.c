/*
 * json_scan.c: the first pass of json.decode (json_scan.h). One loop over the text; an
 * open container is an entry of a small stack. It allocates only the counts.
 */
#include "json_scan.h"

#include <stdbool.h>
#include <string.h>

#include "../common/base.h"
#include "../common/json.h"

struct reader {
	struct json_scan *scan;
	const char *p, *end;
	size_t depth;
	struct {
		size_t at; /* of its count */
		bool object;
	} open[JSON_SCAN_MAX_DEPTH];
};

static int refuse(struct reader *r, const char *at, const char *why)
{
	r->scan->why = why;
	r->scan->at = at;
	return -1;
}

static void skip_blanks(struct reader *r)
{
	while (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t')
		r->p++;
}

/* --- strings ------------------------------------------------------------------ */

/* p is behind "\u". */
static int check_unicode(struct reader *r)
{
	const char *at = r->p - 2;
	int low, v = json_hex4(r->p);

	if (v < 0)
		return refuse(r, at, "\\u needs four hexadecimal digits");
	if (v == 0)
		return refuse(r, at, "a string contains \\u0000 (NUL), which is not accepted");
	r->p += 4;
	if (v < 0xd800 || v > 0xdfff)
		return 0;
	low = v < 0xdc00 && r->p[0] == '\\' && r->p[1] == 'u' ? json_hex4(r->p + 2) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return refuse(r, at, "half of a surrogate pair");
	r->p += 6;
	return 0;
}

/* p is at the backslash. */
static int check_escape(struct reader *r)
{
	char letter = r->p[1];

	r->p += 2;
	if (letter == 'u')
		return check_unicode(r);
	if (letter == '\0' || strchr("\"\\/bfnrt", letter) == NULL)
		return refuse(r, r->p - 2, "invalid escape");
	return 0;
}

/* What isn't plain ASCII: not the string's end. */
static int check_special(struct reader *r)
{
	unsigned char c = (unsigned char)*r->p;
	size_t length;

	if (r->p == r->end)
		return refuse(r, r->p, "a string without its end");
	if (c < 0x20)
		return refuse(r, r->p, "a control character in a string: write it as an escape");
	length = utf8_length(r->p, (size_t)(r->end - r->p));
	if (length == 0)
		return refuse(r, r->p, "invalid UTF-8");
	r->p += length;
	return 0;
}

/* p is at the opening quote. */
static int scan_string(struct reader *r)
{
	const char *start = ++r->p;
	bool escapes = false;

	for (;;) {
		r->p += text_plain(r->p, (size_t)(r->end - r->p));
		if (*r->p == '"')
			break;
		escapes |= *r->p == '\\';
		if ((*r->p == '\\' ? check_escape(r) : check_special(r)) < 0)
			return -1;
	}
	if (escapes)
		r->scan->longest = MAX_OF(r->scan->longest, (size_t)(r->p - start));
	r->p++;
	return 0;
}

/* --- numbers and words ---------------------------------------------------------- */

static bool skip_digits(struct reader *r)
{
	const char *start = r->p;

	while (*r->p >= '0' && *r->p <= '9')
		r->p++;
	return r->p > start;
}

static bool skip_whole(struct reader *r)
{
	if (*r->p != '0')
		return skip_digits(r);
	r->p++;
	return *r->p < '0' || *r->p > '9';
}

static bool skip_fraction(struct reader *r)
{
	if (*r->p != '.')
		return true;
	r->p++;
	return skip_digits(r);
}

static bool skip_exponent(struct reader *r)
{
	if ((*r->p | 0x20) != 'e')
		return true;
	r->p++;
	r->p += *r->p == '+' || *r->p == '-';
	return skip_digits(r);
}

static int scan_number(struct reader *r)
{
	const char *start = r->p;

	r->p += *r->p == '-';
	return skip_whole(r) && skip_fraction(r) && skip_exponent(r) ? 0 : refuse(r, start, "invalid number");
}

static int scan_word(struct reader *r, const char *word, size_t n)
{
	if (strncmp(r->p, word, n) != 0) /* the NUL behind the text ends it */
		return refuse(r, r->p, "a value expected");
	r->p += n;
	return 0;
}

static int scan_scalar(struct reader *r)
{
	switch (*r->p) {
	case '"': return scan_string(r);
	case 't': return scan_word(r, "true", 4);
	case 'f': return scan_word(r, "false", 5);
	case 'n': return scan_word(r, "null", 4);
	case '-':
	case '0' ... '9':
		return scan_number(r);
	default: return refuse(r, r->p, "a value expected");
	}
}

/* --- containers ------------------------------------------------------------------- */

static int enter(struct reader *r)
{
	struct buf *counts = r->scan->counts;
	uint32_t none = 0;

	if (r->depth == JSON_SCAN_MAX_DEPTH)
		return refuse(r, r->p, "nested too deeply (more than 2048 levels)");
	r->open[r->depth].at = counts->len;
	buf_add(counts, &none, sizeof(none));
	if (counts->failed)
		return refuse(r, r->p, "not enough memory");
	r->open[r->depth++].object = *r->p++ == '{';
	return 0;
}

static void count_one(struct reader *r)
{
	uint32_t *count = (uint32_t *)(void *)(r->scan->counts->data + r->open[r->depth - 1].at);

	++*count;
}

/* A member's name and its colon. */
static int scan_name(struct reader *r, const char *otherwise)
{
	skip_blanks(r);
	if (*r->p != '"')
		return refuse(r, r->p, otherwise);
	if (scan_string(r) < 0)
		return -1;
	skip_blanks(r);
	if (*r->p != ':')
		return refuse(r, r->p, "':' expected");
	r->p++;
	return 0;
}

/* Behind a value: leave what ends here. 1: another value follows, 0: none does. */
static int after_value(struct reader *r)
{
	while (r->depth > 0) {
		bool object = r->open[r->depth - 1].object;

		count_one(r);
		skip_blanks(r);
		if (*r->p == ',') {
			r->p++;
			return object && scan_name(r, "a string expected") < 0 ? -1 : 1;
		}
		if (*r->p != (object ? '}' : ']'))
			return refuse(r, r->p, object ? "',' or '}' expected" : "',' or ']' expected");
		r->p++;
		r->depth--;
	}
	return 0;
}

/* A value, or the beginning of one: 1: a value follows, 0: it is whole. */
static int scan_value(struct reader *r)
{
	char c = *r->p;

	if (c != '{' && c != '[')
		return scan_scalar(r);
	if (enter(r) < 0)
		return -1;
	skip_blanks(r);
	if (*r->p == (c == '{' ? '}' : ']')) {
		r->p++;
		r->depth--;
		return 0;
	}
	return c == '{' && scan_name(r, "a string or '}' expected") < 0 ? -1 : 1;
}

int json_scan(struct json_scan *scan, const char *s, size_t n)
{
	struct reader r; /* `open` needs no value before its use */
	int more;

	r.scan = scan;
	r.p = s;
	r.end = s + n;
	r.depth = 0;
	if (n > UINT32_MAX)
		return refuse(&r, s, "longer than 4 GiB");
	do {
		skip_blanks(&r);
		more = scan_value(&r);
		if (more == 0)
			more = after_value(&r);
	} while (more > 0);
	if (more < 0)
		return -1;
	skip_blanks(&r);
	return r.p == r.end ? 0 : refuse(&r, r.p, "the end of the text expected");
}

/* --- how much a text becomes --------------------------------------------------------- */

#define CONTAINER_BYTES 128 /* an array or object, empty */
#define SCALAR_BYTES    64  /* a value or a key in one */

/* Behind the string that begins at `at`; `end` if it has no end. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

size_t json_weight(const char *s, size_t n)
{
	const char *end = s + n;
	size_t weight = SCALAR_BYTES;

	while (s < end) {
		const char *from = s;

		switch (*s) {
		case '"':
			s = skip_string(s, end);
			weight += 2 * (size_t)(s - from);
			continue;
		case '[':
		case '{': weight += CONTAINER_BYTES; break;
		case ',':
		case ':': weight += SCALAR_BYTES; break;
		default:  break;
		}
		s++;
	}
	return weight;
}
