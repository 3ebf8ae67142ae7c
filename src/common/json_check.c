/*
 * json_check.c: the strict checker of json.h. The supervisor checks every
 * fragment from a worker with it before inserting it into the envelope.
 *
 * It neither allocates nor recurses: an open container is one bit. A state says
 * what may come next; each state is a function that consumes one token.
 */
#include "json.h"

#include <string.h>

#include "text_word.h"

enum state {
	WANT_VALUE,
	WANT_FIRST_VALUE, /* or ] */
	WANT_KEY,
	WANT_FIRST_KEY, /* or } */
	WANT_NEXT,      /* a comma, or the container's end */
	REFUSED,
};

struct check {
	const char *p;
	const char *end;
	unsigned depth;
	uint64_t is_object[JSON_MAX_DEPTH / 64]; /* one bit for each open container */
};

static int peek(const struct check *c)
{
	return c->p < c->end ? (unsigned char)*c->p : -1;
}

static bool eat(struct check *c, char wanted)
{
	if (c->p >= c->end || *c->p != wanted)
		return false;
	c->p++;
	return true;
}

/* No newline: the envelope is one line. */
static void skip_blanks(struct check *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

/* --- strings -------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int json_hex4(const char *s)
{
	int v = 0;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(s[i]);
		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

/* The four digits of \uXXXX, or -1. */
static int eat_hex4(struct check *c)
{
	if (c->end - c->p < 4)
		return -1;
	c->p += 4;
	return json_hex4(c->p - 4);
}

static bool eat_unicode_escape(struct check *c)
{
	int v = eat_hex4(c);
	if (v <= 0 || v == 0x1b || v == 0x9b)
		return false;
	if (v < 0xd800 || v > 0xdfff)
		return true;
	if (v > 0xdbff || !eat(c, '\\') || !eat(c, 'u'))
		return false;
	v = eat_hex4(c);
	return v >= 0xdc00 && v <= 0xdfff;
}

/* After the backslash. */
static bool eat_escape(struct check *c)
{
	int letter = peek(c);
	if (letter <= 0 || strchr("\"\\/bfnrtu", letter) == NULL)
		return false;
	c->p++;
	return letter != 'u' || eat_unicode_escape(c);
}

/* One character beyond ASCII; a raw C1 CSI starts an ANSI sequence as \u009b does. */
static bool eat_wide(struct check *c)
{
	size_t length = utf8_length(c->p, (size_t)(c->end - c->p));
	if (length < 2 || (length == 2 && memcmp(c->p, "\xc2\x9b", 2) == 0))
		return false;
	c->p += length;
	return true;
}

/* Up to a byte of a string that needs a second look. */
static inline void skip_plain(struct check *c)
{
	const char *p = c->p, *end = c->end;
	uint64_t odd = 0;

	for (; end - p >= (ptrdiff_t)sizeof(odd) && (odd = word_odd(text_word(p))) == 0; p += sizeof(odd))
		;
	c->p = p + (odd ? word_first(odd) : text_plain(p, (size_t)(end - p)));
}

static inline bool eat_string(struct check *c)
{
	if (!eat(c, '"'))
		return false;
	for (int next;;) {
		skip_plain(c);
		if ((next = peek(c)) == '"')
			break;
		if (next < 0x20)
			return false;
		if (next >= 0x80) {
			if (!eat_wide(c))
				return false;
			continue;
		}
		c->p++;
		if (next == '\\' && !eat_escape(c))
			return false;
	}
	c->p++;
	return true;
}

/* --- numbers and words ---------------------------------------------------------------- */

static inline bool eat_digits(struct check *c)
{
	const char *start = c->p;
	while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
		c->p++;
	return c->p > start;
}

static bool eat_number(struct check *c)
{
	eat(c, '-');
	if (!eat(c, '0') && !eat_digits(c))
		return false;
	if (eat(c, '.') && !eat_digits(c))
		return false;
	if (eat(c, 'e') || eat(c, 'E')) {
		if (!eat(c, '+'))
			eat(c, '-');
		return eat_digits(c);
	}
	return true;
}

static bool eat_word(struct check *c, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return false;
	c->p += n;
	return true;
}

static inline bool eat_scalar(struct check *c)
{
	switch (peek(c)) {
	case '"':
		return eat_string(c);
	case 't':
		return eat_word(c, "true");
	case 'f':
		return eat_word(c, "false");
	case 'n':
		return eat_word(c, "null");
	default:
		return eat_number(c);
	}
}

/* --- structure -------------------------------------------------------------------------- */

static bool in_object(const struct check *c)
{
	unsigned top = c->depth - 1;
	return c->is_object[top / 64] >> (top % 64) & 1;
}

static enum state enter(struct check *c, bool object)
{
	unsigned top = c->depth;
	if (top == JSON_MAX_DEPTH)
		return REFUSED;
	uint64_t bit = UINT64_C(1) << (top % 64);
	c->is_object[top / 64] = object ? c->is_object[top / 64] | bit : c->is_object[top / 64] & ~bit;
	c->depth++;
	return object ? WANT_FIRST_KEY : WANT_FIRST_VALUE;
}

static enum state leave(struct check *c)
{
	c->depth--;
	return WANT_NEXT;
}

static enum state want_value(struct check *c)
{
	if (eat(c, '{'))
		return enter(c, true);
	if (eat(c, '['))
		return enter(c, false);
	return eat_scalar(c) ? WANT_NEXT : REFUSED;
}

static enum state want_first_value(struct check *c)
{
	return eat(c, ']') ? leave(c) : want_value(c);
}

static enum state want_key(struct check *c)
{
	if (!eat_string(c))
		return REFUSED;
	skip_blanks(c);
	return eat(c, ':') ? WANT_VALUE : REFUSED;
}

static enum state want_first_key(struct check *c)
{
	return eat(c, '}') ? leave(c) : want_key(c);
}

static enum state want_next(struct check *c)
{
	bool object = in_object(c);
	if (eat(c, ','))
		return object ? WANT_KEY : WANT_VALUE;
	return eat(c, object ? '}' : ']') ? leave(c) : REFUSED;
}

/* (A switch, so that the compiler sees all of them at once.) */
static inline enum state eat_token(struct check *c, enum state state)
{
	switch (state) {
	case WANT_VALUE:
		return want_value(c);
	case WANT_FIRST_VALUE:
		return want_first_value(c);
	case WANT_KEY:
		return want_key(c);
	case WANT_FIRST_KEY:
		return want_first_key(c);
	case WANT_NEXT:
		return want_next(c);
	default:
		return REFUSED;
	}
}

/* One value and everything inside it. */
static bool eat_value(struct check *c)
{
	enum state state = WANT_VALUE;
	do {
		skip_blanks(c);
		state = eat_token(c, state);
	} while (state != REFUSED && (state != WANT_NEXT || c->depth > 0));
	return state != REFUSED;
}

static enum json_kind kind_of(int first)
{
	if (first == '{')
		return JSON_OBJECT;
	if (first == '[')
		return JSON_ARRAY;
	return first == 'n' ? JSON_NULL : JSON_SCALAR;
}

enum json_kind json_check(const char *s, size_t n)
{
	struct check c = { .p = s, .end = s + n };
	skip_blanks(&c);
	enum json_kind kind = kind_of(peek(&c));
	if (!eat_value(&c))
		return JSON_INVALID;
	skip_blanks(&c);
	return c.p == c.end ? kind : JSON_INVALID;
}
