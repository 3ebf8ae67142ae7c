/*
 * json_decode.c: JSON text as a Lua value, in two passes: the first checks the
 * text and counts what its containers hold, so the second reads it without a doubt and
 * never grows a table. Only memory can fail here; what Lua doesn't own is in scratch
 * buffers that a collection frees.
 */
#include "json_decode.h"

#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../common/base.h"
#include "../common/decimal.h"
#include "../common/json.h"
#include "../worker/scratch.h"
#include "json_lua.h"

/*
 * The first pass of json.decode. One loop over the text; an
 * open container is an entry of a small stack. It allocates only the counts.
 */

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

#define NEAR_MAX 20 /* bytes of the text that a message shows */

struct decoder {
	lua_State *L;
	const char *p, *end;
	const uint32_t *counts; /* of the containers that are yet to open */
	char *room;             /* for a string with escapes */
	int mark;               /* stack index of the array metatable */
	bool unique;
	const char *why, *at;   /* the first value that can't be had, and where it is */
};

static void decode_value(struct decoder *d);

static void refuse_value(struct decoder *d, const char *at, const char *why)
{
	if (!d->why) {
		d->why = why;
		d->at = at;
	}
}

/* Of valid text: up to what isn't blank. */
static void pass_blanks(struct decoder *d)
{
	while ((unsigned char)*d->p <= ' ')
		d->p++;
}

/* --- strings ----------------------------------------------------------------------- */

/* From `start` to the quote, with escapes. */
static void push_escaped(struct decoder *d, const char *start)
{
	char *to = d->room;

	d->p = json_unescape(start, d->end, &to) + 1;
	lua_pushlstring(d->L, d->room, (size_t)(to - d->room));
}

/* p is at the opening quote. */
static void push_string(struct decoder *d)
{
	const char *start = d->p + 1, *p = start + json_unescaped(start, (size_t)(d->end - start));

	if (*p == '\\') {
		push_escaped(d, start);
		return;
	}
	lua_pushlstring(d->L, start, (size_t)(p - start));
	d->p = p + 1;
}

/* --- numbers ------------------------------------------------------------------------- */

#define SAFE_DIGITS 18 /* that fit into 63 bits, whatever they are */

/* The digits from s to end, negated: there is one negative number more. */
static void push_long_integer(struct decoder *d, const char *s, const char *end, bool negative)
{
	int64_t v = 0;
	bool over = false;

	for (; s < end; s++)
		over |= __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *s - '0', &v);
	if (over || (!negative && v == INT64_MIN)) {
		refuse_value(d, d->p, "a number is too large (integers have 64 bits)");
		v = 0;
	}
	lua_pushinteger(d->L, negative ? v : -v);
}

static void push_real(struct decoder *d)
{
	const char *start = d->p;
	double v = decimal_read(start, &d->p);

	if (isinf(v))
		refuse_value(d, start, "a number is too large");
	lua_pushnumber(d->L, v);
}

static void push_number(struct decoder *d)
{
	bool negative = *d->p == '-';
	const char *start = d->p + negative, *s = start;
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	if (*s == '.' || (*s | 0x20) == 'e') {
		push_real(d);
		return;
	}
	if (s - start > SAFE_DIGITS)
		push_long_integer(d, start, s, negative);
	else
		lua_pushinteger(d->L, negative ? -(lua_Integer)v : (lua_Integer)v);
	d->p = s;
}

/* --- containers ----------------------------------------------------------------------- */

static int count_of(struct decoder *d)
{
	uint32_t n = *d->counts++;

	return (int)MIN_OF(n, (uint32_t)INT32_MAX);
}

static void push_array(struct decoder *d)
{
	lua_State *L = d->L;
	int n = count_of(d);

	d->p++;
	lua_createtable(L, n, 0);
	for (lua_Integer i = 1; pass_blanks(d), *d->p != ']'; i++) {
		decode_value(d);
		lua_rawseti(L, -2, i);
		pass_blanks(d);
		d->p += *d->p == ',';
	}
	d->p++;
	lua_pushvalue(L, d->mark);
	lua_setmetatable(L, -2);
}

/* Two equal keys: readers differ in which of them counts. Stack: …, object, key. */
static void check_new(struct decoder *d, const char *at)
{
	lua_pushvalue(d->L, -1);
	if (lua_rawget(d->L, -3) != LUA_TNIL)
		refuse_value(d, at, "a duplicate key in an object");
	lua_pop(d->L, 1);
}

static void push_object(struct decoder *d)
{
	lua_State *L = d->L;
	int n = count_of(d);

	d->p++;
	lua_createtable(L, 0, n);
	while (pass_blanks(d), *d->p != '}') {
		const char *at = d->p;

		push_string(d);
		if (d->unique)
			check_new(d, at);
		pass_blanks(d);
		d->p++;
		pass_blanks(d);
		decode_value(d);
		lua_rawset(L, -3);
		pass_blanks(d);
		d->p += *d->p == ',';
	}
	d->p++;
}

/* Depth is bounded by the first pass. */
static void decode_value(struct decoder *d)
{
	switch (*d->p) {
	case '{':
		luaL_checkstack(d->L, 6, "JSON nested too deeply");
		push_object(d);
		break;
	case '[':
		luaL_checkstack(d->L, 6, "JSON nested too deeply");
		push_array(d);
		break;
	case '"': push_string(d); break;
	case 't': lua_pushboolean(d->L, 1), d->p += 4; break;
	case 'f': lua_pushboolean(d->L, 0), d->p += 5; break;
	case 'n': json_push_null(d->L), d->p += 4; break;
	default:  push_number(d); break;
	}
}

/* --- json.decode ------------------------------------------------------------------------ */

#define MEMORY_MAX ((size_t)512 << 20) /* default of opts.memory */

struct options {
	bool unique;
	size_t memory;
};

static struct options check_options(lua_State *L)
{
	struct options o = { .memory = MEMORY_MAX };

	lua_settop(L, 2);
	if (lua_isnil(L, 2))
		return o;
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "unique");
	o.unique = lua_toboolean(L, -1);
	if (lua_getfield(L, 2, "memory") != LUA_TNIL) {
		lua_Integer memory = luaL_checkinteger(L, -1);

		luaL_argcheck(L, memory > 0, 2, "memory must be a positive number of bytes");
		o.memory = (size_t)memory;
	}
	lua_pop(L, 2);
	return o;
}

static bool in_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' ||
	       c == '+' || c == '.';
}

/* nil, "line 1 column 5: why near 'what'". Columns count characters, from 1. */
static int push_failure(lua_State *L, const char *text, size_t n, const char *at, const char *why)
{
	size_t line = 1, column = 1, word = 0;
	const char *end = text + n;

	for (const char *s = text; s < at; s++) {
		bool over = *s == '\n';

		line += over;
		column = over ? 1 : column + (((unsigned char)*s & 0xc0) != 0x80);
	}
	while (word < NEAR_MAX && at + word < end && in_word(at[word]))
		word++;
	if (word == 0 && at < end && *at > ' ' && *at < 0x7f)
		word = 1;
	lua_pushnil(L);
	lua_pushfstring(L, "line %I column %I: %s", (LUAI_UACINT)line, (LUAI_UACINT)column, why);
	if (at == end) {
		lua_pushliteral(L, " at the end of the text");
		lua_concat(L, 2);
	} else if (word > 0) {
		lua_pushliteral(L, " near '");
		lua_pushlstring(L, at, word);
		lua_pushliteral(L, "'");
		lua_concat(L, 4);
	}
	return 2;
}

int json_lua_weight(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	lua_pushinteger(L, (lua_Integer)json_weight(text, n));
	return 1;
}

int json_lua_decode(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	struct options o = check_options(L);
	struct decoder d = { .L = L, .p = text, .end = text + n, .unique = o.unique };
	struct buf *counts, *room;
	struct json_scan scan;

	if (n > o.memory / JSON_WEIGHT_MAX && json_weight(text, n) > o.memory) {
		lua_pushnil(L);
		lua_pushfstring(L, "its values would take more than %d MiB of memory", (int)(o.memory >> 20));
		lua_pushliteral(L, "TOO_LARGE");
		return 3;
	}
	counts = scratch_push(L);
	room = scratch_push(L);
	scan = (struct json_scan){ .counts = counts };

	if (json_scan(&scan, text, n) == 0) {
		if (buf_reserve(room, scan.longest + 1) < 0)
			return luaL_error(L, "not enough memory");
		json_push_array_mark(L);
		d.mark = lua_gettop(L);
		d.counts = (const uint32_t *)(const void *)counts->data;
		d.room = room->data;
		pass_blanks(&d);
		decode_value(&d);
		scan.why = d.why;
		scan.at = d.at;
	}
	buf_release(counts);
	buf_release(room);
	return scan.why ? push_failure(L, text, n, scan.at, scan.why) : 1;
}
