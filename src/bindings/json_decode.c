/*
 * json_decode.c: JSON text as a Lua value, in two passes: json_scan.c has checked the
 * text and counted what its containers hold, so this one reads it without a doubt and
 * never grows a table. Only memory can fail here; what Lua doesn't own is in scratch
 * buffers that a collection frees.
 */
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "../common/base.h"
#include "../common/decimal.h"
#include "../common/json.h"
#include "../worker/scratch.h"
#include "json_lua.h"
#include "json_scan.h"

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

static void refuse(struct decoder *d, const char *at, const char *why)
{
	if (!d->why) {
		d->why = why;
		d->at = at;
	}
}

/* Of valid text: up to what isn't blank. */
static void skip_blanks(struct decoder *d)
{
	while ((unsigned char)*d->p <= ' ')
		d->p++;
}

/* --- strings ----------------------------------------------------------------------- */

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
static const char *unicode_escape(const char *s, char **to)
{
	unsigned c = (unsigned)json_hex4(s);

	s += 4;
	if (c >= 0xd800 && c <= 0xdbff) {
		c = 0x10000 + ((c & 0x3ff) << 10 | ((unsigned)json_hex4(s + 2) & 0x3ff));
		s += 6;
	}
	*to = put_utf8(*to, c);
	return s;
}

/* s is behind the backslash; what follows the escape. */
static const char *escape(const char *s, char **to)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";

	if (*s == 'u')
		return unicode_escape(s + 1, to);
	*(*to)++ = meant[strchr(letters, *s) - letters];
	return s + 1;
}

/* From `start` to the quote, with escapes from p on. No escape is shorter than what it means. */
static void push_escaped(struct decoder *d, const char *start, const char *p, const char *end)
{
	char *to = mempcpy(d->room, start, (size_t)(p - start));

	while (*p == '\\') {
		p = escape(p + 1, &to);
		start = p;
		p += json_unescaped(p, (size_t)(end - p));
		to = mempcpy(to, start, (size_t)(p - start));
	}
	lua_pushlstring(d->L, d->room, (size_t)(to - d->room));
	d->p = p + 1;
}

/* p is at the opening quote. */
static void push_string(struct decoder *d)
{
	const char *start = d->p + 1, *p = start + json_unescaped(start, (size_t)(d->end - start));

	if (*p == '\\') {
		push_escaped(d, start, p, d->end);
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
		refuse(d, d->p, "a number is too large (integers have 64 bits)");
		v = 0;
	}
	lua_pushinteger(d->L, negative ? v : -v);
}

static void push_real(struct decoder *d)
{
	const char *start = d->p;
	double v = decimal_read(start, &d->p);

	if (isinf(v))
		refuse(d, start, "a number is too large");
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
	for (lua_Integer i = 1; skip_blanks(d), *d->p != ']'; i++) {
		decode_value(d);
		lua_rawseti(L, -2, i);
		skip_blanks(d);
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
		refuse(d, at, "a duplicate key in an object");
	lua_pop(d->L, 1);
}

static void push_object(struct decoder *d)
{
	lua_State *L = d->L;
	int n = count_of(d);

	d->p++;
	lua_createtable(L, 0, n);
	while (skip_blanks(d), *d->p != '}') {
		const char *at = d->p;

		push_string(d);
		if (d->unique)
			check_new(d, at);
		skip_blanks(d);
		d->p++;
		skip_blanks(d);
		decode_value(d);
		lua_rawset(L, -3);
		skip_blanks(d);
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
		skip_blanks(&d);
		decode_value(&d);
		scan.why = d.why;
		scan.at = d.at;
	}
	buf_release(counts);
	buf_release(room);
	return scan.why ? push_failure(L, text, n, scan.at, scan.why) : 1;
}
