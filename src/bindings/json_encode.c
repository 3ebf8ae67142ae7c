/*
 * json_encode.c: a Lua table as JSON text. Runs in the worker. Reads tables
 * raw (no metamethod of a script runs) and allocates nothing in Lua while it
 * walks but room on the stack: no finalizer and no error can come in between.
 *
 * Members are written in the order of their written keys, and no key is ever looked up:
 * those of a small object are put on the stack, all at once, and sorted there.
 * Large ones are sorted in the text.
 */
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/json.h"
#include "../common/text_word.h"
#include "../worker/scratch.h"
#include "json_lua.h"

/* One level of the path to the value at hand. */
struct place {
	int at;          /* stack index of its table */
	const char *key; /* NULL in an array */
	size_t key_len;
	lua_Integer index;
};

#define JSON_FEW 16 /* members of an object that are sorted on the stack */

struct key {
	const char *s; /* written as it is */
	uint64_t word; /* its first bytes: text_word.h */
	size_t len;
	int value; /* its stack index */
};

struct encoder {
	lua_State *L;
	const void *mark; /* the array metatable */
	struct buf *out, *message;
	struct buf *members, *sorted; /* encode_many()'s own */
	int top, room; /* of the stack: what is in use, and what may be */
	size_t max;       /* bytes of the whole, */
	size_t limit;     /* which is where `out` ends at the latest */
	bool envelope;    /* its strings are output: clean, as json_quote() has it */
	bool keep;        /* `out` is the answer, in place of a copy */
	int out_at;       /* its stack index */
	const char *name; /* of the value as a whole, in messages */
	const char *code; /* of the failure */
	lua_Integer nonfinite, repaired;
	int depth;
	struct place *path; /* JSON_MAX_DEPTH + 1 of them */
	struct key *keys;   /* room for JSON_FEW of each level */
	struct json_writer scalar; /* of one number or word */
	size_t len;                /* of the string at hand */
};

/* There is no room for `more` bytes, or something was lost: say which. Always -1. */
static int encode_refuse_size(struct encoder *e);

/* Check that there is room for `more` bytes and nothing was lost. 0, or -1. */
static inline int encode_check_size(struct encoder *e, size_t more)
{
	if (!e->out->failed && more <= e->limit && e->out->len <= e->limit - more)
		return 0;
	return encode_refuse_size(e);
}

/* Append a quoted string. */
static inline void encode_text(struct encoder *e, const char *s, size_t n)
{
	e->repaired += (lua_Integer)(e->envelope ? json_quote : json_quote_exact)(e->out, s, n);
}

/* As memcmp(3), for keys of any length. */
static inline int encode_compare_keys(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, MIN_OF(a_len, b_len));

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* --- values by their types -------------------------------------------------------- */

static int encode_string(struct encoder *e, int at)
{
	const char *s = lua_tolstring(e->L, at, &e->len);

	if (encode_check_size(e, e->len) < 0)
		return -1;
	encode_text(e, s, e->len);
	return encode_check_size(e, 0);
}

static int encode_number(struct encoder *e, int at)
{
	e->scalar.need_comma = false;
	if (lua_isinteger(e->L, at)) {
		json_int(&e->scalar, lua_tointeger(e->L, at));
	} else {
		double v = lua_tonumber(e->L, at);

		e->nonfinite += !isfinite(v);
		json_double(&e->scalar, v);
	}
	return encode_check_size(e, 0);
}

/* The value at the path can't be written: "data.items[3].fn is a function".
 * Always -1. */
static int encode_refuse(struct encoder *e, const char *format, ...) PRINTF_LIKE(2, 3);

static int encode_other(struct encoder *e, int at, int type)
{
	e->scalar.need_comma = false;
	if (type == LUA_TNIL || (type == LUA_TLIGHTUSERDATA && !lua_touserdata(e->L, at)))
		json_write_null(&e->scalar);
	else if (type == LUA_TBOOLEAN)
		json_bool(&e->scalar, lua_toboolean(e->L, at));
	else
		return encode_refuse(e, "is a %s, which JSON can't hold", lua_typename(e->L, type));
	return encode_check_size(e, 0);
}

/* The same for a table. */
static int encode_table(struct encoder *e, int at);

/* The same for a value inside, whose end may still be too far: the size is looked at behind each
 * value that holds no other. */
static int encode_value(struct encoder *e, int at)
{
	int type = lua_type(e->L, at);

	switch (type) {
	case LUA_TTABLE:  return encode_table(e, at);
	case LUA_TSTRING: return encode_string(e, at);
	case LUA_TNUMBER: return encode_number(e, at);
	default:          return encode_other(e, at, type);
	}
}

/* Write the value at the stack index, which is e->top or below. 0, with the stack as it was, or
 * -1 with e->code and a message. */
static int encode_whole(struct encoder *e, int at)
{
	return encode_value(e, at) < 0 ? -1 : encode_check_size(e, 0);
}

/*
 * The members of an object with many, or with a key that can't be written
 * as it is. They are written in the order of lua_next() and sorted in the text. Two keys
 * that differ only in bytes that can't be written would become one key, and are refused.
 */

struct member {
	union {
		size_t start;    /* of `"key":value` in out */
		const char *key; /* while sorting: out may move until then */
	};
	size_t key_len; /* as written, without the quotes */
	size_t len;     /* of `"key":value` */
	uint64_t word;  /* while sorting: the key's first bytes behind those that all keys share */
};

/* Every key of the last table of the path, at the index, is one of 1..n, and none is missing. 0, or
 * -1 with a message. Values above e->top are popped. */
static int encode_check_items(struct encoder *e, int at, lua_Integer n);

/* The key on the stack below its value is neither a string nor an array's. Always -1. */
static int encode_refuse_key(struct encoder *e);

/* Its key and value are on the stack. */
static int put_member(struct encoder *e, int at, struct member *m)
{
	struct place *here = &e->path[e->depth - 1];

	if (lua_type(e->L, -2) != LUA_TSTRING) {
		lua_Integer n = (lua_Integer)lua_rawlen(e->L, at);

		return n > 0 ? encode_check_items(e, at, n) : encode_refuse_key(e);
	}
	here->key = lua_tolstring(e->L, -2, &here->key_len);
	m->start = e->out->len;
	encode_text(e, here->key, here->key_len);
	m->key_len = e->out->len - m->start - 2;
	buf_add_char(e->out, ':');
	if (encode_value(e, e->top) < 0)
		return -1;
	m->len = e->out->len - m->start;
	return 0;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->word != b->word)
		return a->word < b->word ? -1 : 1;
	return encode_compare_keys(a->key, a->key_len, b->key, b->key_len);
}

/* How many bytes all keys begin with. */
static size_t count_shared(const struct member *m, size_t count)
{
	size_t shared = m[0].key_len;

	for (size_t i = 1; i < count && shared > 0; i++) {
		size_t same = 0, max = MIN_OF(shared, m[i].key_len);

		while (same < max && m[i].key[same] == m[0].key[same])
			same++;
		shared = same;
	}
	return shared;
}

/* Their words, so that most need no second look: as numbers they have the order of the bytes. */
static void set_words(struct member *m, size_t count)
{
	size_t shared = count_shared(m, count);

	for (size_t i = 0; i < count; i++) {
		const char *rest = m[i].key + shared;
		size_t n = m[i].key_len - shared;

		m[i].word = __builtin_bswap64(n < sizeof(m->word) ? text_short_word(rest, n) : text_word(rest));
	}
}

#define MANY 256 /* members that are put in order by the bytes of their words */

/* Put them in the order of one byte of their words; those with the same byte keep theirs. */
static void put_by_byte(struct member *to, const struct member *m, size_t count, unsigned shift)
{
	size_t next[256] = { 0 }, at = 0;

	for (size_t i = 0; i < count; i++)
		next[m[i].word >> shift & 0xff]++;
	for (size_t i = 0; i < ARRAY_LEN(next); i++) {
		size_t n = next[i];

		next[i] = at;
		at += n;
	}
	for (size_t i = 0; i < count; i++)
		to[next[m[i].word >> shift & 0xff]++] = m[i];
}

/* Sort by word, the last byte first, and only by bytes that differ. `other` has room for as many. */
static void sort_by_word(struct member *m, struct member *other, size_t count)
{
	struct member *from = m, *to = other, *done;
	uint64_t differ = 0;

	for (size_t i = 1; i < count; i++)
		differ |= m[i].word ^ m[0].word;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if ((differ >> shift & 0xff) == 0)
			continue;
		put_by_byte(to, from, count, shift);
		done = to;
		to = from;
		from = done;
	}
	if (from != m)
		memcpy(m, from, count * sizeof(*m));
}

/* Sort by key. 0, or -1. */
static int sort_keys(struct encoder *e, struct member *m, size_t count)
{
	struct member *other;
	size_t same;

	set_words(m, count);
	if (count < MANY) {
		qsort(m, count, sizeof(*m), compare_members);
		return 0;
	}
	buf_clear(e->sorted);
	other = (struct member *)(void *)buf_begin(e->sorted, count * sizeof(*m));
	if (!other)
		return encode_refuse_size(e);
	sort_by_word(m, other, count);
	for (size_t i = 0; i < count; i += same) {
		for (same = 1; i + same < count && m[i + same].word == m[i].word; same++)
			;
		if (same > 1)
			qsort(&m[i], same, sizeof(*m), compare_members);
	}
	return 0;
}

/* Refuse equal keys, which are neighbours after sorting. 0, or -1. */
static int check_members(struct encoder *e, const struct member *m, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_members(&m[i - 1], &m[i]) != 0)
			continue;
		e->depth--;
		return encode_refuse(e, "has two keys that both become \"%.*s\" when cleaned: rename one",
		                     (int)MIN_OF(m[i].key_len, (size_t)200), m[i].key);
	}
	return 0;
}

/* Sort the members written since `base` by key. */
static int sort_members(struct encoder *e, size_t base)
{
	size_t count = (e->members->len - base) / sizeof(struct member);
	struct member *m;
	size_t start;
	char *to;

	if (e->members->failed)
		return encode_refuse_size(e);
	if (encode_check_size(e, 0) < 0)
		return -1;
	m = (struct member *)(void *)(e->members->data + base);
	start = m[0].start;
	for (size_t i = 0; i < count; i++)
		m[i].key = e->out->data + m[i].start + 1;
	if (sort_keys(e, m, count) < 0 || check_members(e, m, count) < 0)
		return -1;
	buf_clear(e->sorted);
	to = buf_begin(e->sorted, e->out->len - start + 1);
	if (!to)
		return encode_refuse_size(e);
	for (size_t i = 0; i < count; i++) {
		to = mempcpy(to, m[i].key - 1, m[i].len);
		*to++ = ',';
	}
	buf_end(e->sorted, to - 1);
	memcpy(e->out->data + start, e->sorted->data, e->sorted->len);
	e->members->len = base;
	return 0;
}

/* The object at the index. Its first members may be on the stack above e->top. */
static int encode_many(struct encoder *e, int at)
{
	size_t base = e->members->len, count = 0;
	struct member m;

	lua_settop(e->L, e->top);
	e->top += 2;
	for (lua_pushnil(e->L); lua_next(e->L, at); lua_pop(e->L, 1)) {
		buf_add_char(e->out, count++ ? ',' : '{');
		if (put_member(e, at, &m) < 0)
			return -1;
		buf_add(e->members, &m, sizeof(m));
	}
	e->top -= 2;
	if (sort_members(e, base) < 0)
		return -1;
	buf_add_char(e->out, '}');
	return 0;
}

/* --- the path ------------------------------------------------------------------ */

#define ROOM (2 * JSON_FEW + 8) /* values that one table needs on the stack */

static int make_room(struct encoder *e)
{
	if (e->top + ROOM <= e->room)
		return 0;
	if (!lua_checkstack(e->L, 8 * ROOM))
		e->out->failed = true;
	e->room = e->top + 8 * ROOM;
	return encode_check_size(e, 0);
}

/* The level above `level` whose table is the same, -1 if none is. */
static int find_again(const struct encoder *e, int level)
{
	const void *table = lua_topointer(e->L, e->path[level].at);

	for (int i = 0; i < level; i++)
		if (lua_topointer(e->L, e->path[i].at) == table)
			return i;
	return -1;
}

/* The same for the table at the path that is level `at` of the path again. */
static int encode_refuse_cycle(struct encoder *e, int at);

/* The path has a table twice: say so of the first that it has twice. Always -1. */
static int refuse_cycle(struct encoder *e)
{
	int again;

	for (e->depth = 1; (again = find_again(e, e->depth)) < 0; e->depth++)
		;
	return encode_refuse_cycle(e, again);
}

/* A cycle that has begun goes on, so that a look at a few levels finds it. */
static bool is_looked_at(int level)
{
	return level % 8 == 0 && (level == 8 || level == 32 || level == JSON_MAX_DEPTH);
}

/* Begin the table at the stack index. */
static int enter(struct encoder *e, int at)
{
	e->path[e->depth].at = at;
	if (is_looked_at(e->depth) && find_again(e, e->depth) >= 0)
		return refuse_cycle(e);
	if (e->depth == JSON_MAX_DEPTH)
		return encode_refuse(e, "is nested more than %d levels deep", JSON_MAX_DEPTH);
	e->depth++;
	return make_room(e);
}

/* --- arrays --------------------------------------------------------------------- */

/* The items that put_in_order() didn't come to. */
static int put_rest(struct encoder *e, int at, lua_Integer n)
{
	struct place *here = &e->path[e->depth - 1];

	e->top++;
	for (here->index++; here->index <= n; here->index++) {
		buf_add_char(e->out, here->index == 1 ? '[' : ',');
		lua_rawgeti(e->L, at, here->index);
		if (encode_value(e, e->top) < 0)
			return -1;
		lua_pop(e->L, 1);
	}
	e->top--;
	buf_add_char(e->out, ']');
	return 0;
}

static int encode_check_items(struct encoder *e, int at, lua_Integer n)
{
	lua_Integer found = 0;

	lua_settop(e->L, e->top);
	for (lua_pushnil(e->L); lua_next(e->L, at); found++) {
		lua_Integer i = lua_isinteger(e->L, -2) ? lua_tointeger(e->L, -2) : 0;
		const char *key = lua_type(e->L, -2) == LUA_TSTRING ? lua_tostring(e->L, -2) : NULL;

		if (i >= 1 && i <= n) {
			lua_pop(e->L, 1);
			continue;
		}
		e->depth--;
		if (key)
			return encode_refuse(e, "is an array that also has the key '%s': split it into two tables", key);
		return encode_refuse(e, "is an array with holes or other keys: JSON arrays have the keys 1 to n");
	}
	e->depth -= found != n;
	return found == n ? 0 : encode_refuse(e, "is an array with holes: JSON arrays have the keys 1 to n");
}

static int encode_refuse_key(struct encoder *e)
{
	e->depth--;
	return encode_refuse(e, "has a %s as a key: object keys are strings, array keys 1 to n",
	                     luaL_typename(e->L, -2));
}

/* The items as lua_next() gives them, which for most arrays is their order. 1: another key came
 * behind that of the path. */
static int put_in_order(struct encoder *e, int at)
{
	struct place *here = &e->path[e->depth - 1];

	here->key = NULL;
	here->index = 0;
	e->top += 2;
	do {
		if (!lua_isinteger(e->L, -2) || lua_tointeger(e->L, -2) != here->index + 1) {
			e->top -= 2;
			return 1;
		}
		buf_add_char(e->out, here->index++ == 0 ? '[' : ',');
		if (encode_value(e, e->top) < 0)
			return -1;
		lua_pop(e->L, 1);
	} while (lua_next(e->L, at));
	e->top -= 2;
	buf_add_char(e->out, ']');
	return 0;
}

/* Its first key and value are on the stack. No item is written twice: in nested arrays each level
 * would double the time. */
static int put_array(struct encoder *e, int at, bool marked)
{
	lua_Integer n;
	int status = put_in_order(e, at);

	if (status <= 0)
		return status;
	n = (lua_Integer)lua_rawlen(e->L, at);
	if (n == 0 && !marked)
		return encode_refuse_key(e);
	return encode_check_items(e, at, n) < 0 ? -1 : put_rest(e, at, n);
}

/* --- objects --------------------------------------------------------------------- */

/* Does a come before b? No key has a NUL inside. */
static bool comes_before(const struct key *a, const struct key *b)
{
	if (a->word != b->word)
		return __builtin_bswap64(a->word) < __builtin_bswap64(b->word);
	return encode_compare_keys(a->s, a->len, b->s, b->len) < 0;
}

/* Put the last key where it belongs. */
static void move_up(const struct key *first, struct key *last)
{
	struct key moved = *last;

	do
		*last = last[-1];
	while (--last > first && comes_before(&moved, last - 1));
	*last = moved;
}

/* The string at the top but one of the stack as a key. False: it can't be written as it is. */
static bool read_key(struct encoder *e, struct key *k)
{
	k->s = lua_tolstring(e->L, -2, &k->len);
	if (k->len < sizeof(k->word)) {
		k->word = text_short_word(k->s, k->len);
		return word_first(word_odd(k->word)) == k->len;
	}
	k->word = text_word(k->s);
	return text_plain(k->s, k->len) == k->len;
}

/* What is before its value, a comma or a brace as well. */
static void put_key(struct buf *out, const struct key *k, char before)
{
	char *to = buf_begin(out, k->len + 4 + sizeof(k->word));

	if (!to)
		return;
	*to++ = before;
	*to++ = '"';
	memcpy(to, &k->word, sizeof(k->word));
	if (k->len > sizeof(k->word))
		memcpy(to + sizeof(k->word), k->s + sizeof(k->word), k->len - sizeof(k->word));
	to += k->len;
	*to++ = '"';
	*to++ = ':';
	buf_end(out, to);
}

/* Write the members from first to e->keys, whose values are on the stack. */
static int put_members(struct encoder *e, const struct key *first)
{
	struct place *here = &e->path[e->depth - 1];
	const struct key *end = e->keys;
	char before = '{';

	for (const struct key *k = first; k < end; k++) {
		put_key(e->out, k, before);
		before = ',';
		here->key = k->s;
		here->key_len = k->len;
		if (encode_value(e, k->value) < 0)
			return -1;
	}
	buf_add_char(e->out, '}');
	return 0;
}

/* Its first key and value are on the stack. All members are put there, and their keys to e->keys, in
 * order, unless there are many, or one whose written key isn't the key itself. */
static int put_object(struct encoder *e, int at)
{
	struct key *first = e->keys, *k = first;
	int top = e->top, value = top;

	do {
		if (k == first + JSON_FEW || (k > first && lua_type(e->L, -2) != LUA_TSTRING) || !read_key(e, k))
			return encode_many(e, at);
		k->value = value += 2;
		if (k > first && comes_before(k, k - 1))
			move_up(first, k);
		k++;
		lua_pushvalue(e->L, -2);
	} while (lua_next(e->L, at));
	e->keys = k;
	e->top = value;
	if (put_members(e, first) < 0)
		return -1;
	e->keys = first;
	e->top = top;
	lua_settop(e->L, top);
	return 0;
}

/* --- tables -------------------------------------------------------------------- */

static bool is_marked(struct encoder *e, int at)
{
	bool marked = false;

	if (lua_getmetatable(e->L, at)) {
		marked = lua_topointer(e->L, -1) == e->mark;
		lua_pop(e->L, 1);
	}
	return marked;
}

/* The values in it look at the size. */
static int encode_table(struct encoder *e, int at)
{
	bool marked;
	int status;

	if (enter(e, at) < 0)
		return -1;
	marked = is_marked(e, at);
	lua_pushnil(e->L);
	if (!lua_next(e->L, at)) {
		buf_add(e->out, marked ? "[]" : "{}", 2);
		status = encode_check_size(e, 0);
	} else if (!marked && lua_type(e->L, -2) == LUA_TSTRING) {
		status = put_object(e, at);
	} else {
		status = put_array(e, at, marked);
	}
	e->depth -= status == 0;
	return status;
}

/* json.encode as Lua calls it, and the messages of its failures. */

#define ENCODE_MAX_DEFAULT ((lua_Integer)1 << 30)

/* --- failures ----------------------------------------------------------------- */

static bool is_identifier(const char *s, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return n > 0 && strspn(s, letters) >= n && (s[0] < '0' || s[0] > '9');
}

static void add_path(struct encoder *e, int depth)
{
	buf_add_str(e->message, e->name);
	for (int i = 0; i < depth; i++) {
		const struct place *p = &e->path[i];

		if (!p->key) {
			buf_add_fmt(e->message, "[%lld]", (long long)p->index);
		} else if (is_identifier(p->key, p->key_len)) {
			buf_add_char(e->message, '.');
			buf_add(e->message, p->key, p->key_len);
		} else {
			buf_add_char(e->message, '[');
			json_quote(e->message, p->key, p->key_len);
			buf_add_char(e->message, ']');
		}
	}
}

static int encode_refuse(struct encoder *e, const char *format, ...)
{
	va_list ap;

	add_path(e, e->depth);
	buf_add_char(e->message, ' ');
	va_start(ap, format);
	buf_add_vfmt(e->message, format, ap);
	va_end(ap);
	e->code = "INVALID_RESULT";
	return -1;
}

static int encode_refuse_cycle(struct encoder *e, int at)
{
	encode_refuse(e, "refers back to ");
	add_path(e, at);
	buf_add_str(e->message, "; JSON can't hold cycles");
	return -1;
}

static int encode_refuse_size(struct encoder *e)
{
	if (e->out->failed || e->members->failed || e->sorted->failed) {
		buf_add_str(e->message, "not enough memory to write JSON");
		e->code = "MEMORY_LIMIT";
	} else {
		buf_add_fmt(e->message, "%s is larger than %zu bytes as JSON", e->name, e->max);
		e->code = "OUTPUT_TOO_LARGE";
	}
	return -1;
}

/* --- json.encode ---------------------------------------------------------------- */

static void read_options(lua_State *L, struct encoder *e)
{
	lua_Integer max = ENCODE_MAX_DEFAULT;

	if (!lua_isnil(L, 2)) {
		luaL_checktype(L, 2, LUA_TTABLE);
		lua_getfield(L, 2, "max");
		max = luaL_optinteger(L, -1, max);
		luaL_argcheck(L, max >= 0, 2, "max must not be negative");
		lua_getfield(L, 2, "envelope");
		e->envelope = lua_toboolean(L, -1);
		lua_getfield(L, 2, "buffer");
		e->keep = lua_toboolean(L, -1);
		lua_getfield(L, 2, "name"); /* all stay on the stack: e->name points into it */
		e->name = luaL_optstring(L, -1, e->name);
	}
	e->max = e->limit = (size_t)max;
}

static int push_failure(struct encoder *e)
{
	lua_pushnil(e->L);
	lua_pushlstring(e->L, buf_cstr(e->message), e->message->len);
	lua_pushstring(e->L, e->code);
	return 3;
}

static int push_text(struct encoder *e)
{
	lua_State *L = e->L;

	if (e->keep)
		lua_pushvalue(L, e->out_at);
	else
		lua_pushlstring(L, buf_cstr(e->out), e->out->len);
	if (lua_isnil(L, 2)) /* one value only: encode(x) may stand among arguments */
		return 1;
	lua_pushnil(L);
	lua_createtable(L, 0, 2);
	lua_pushinteger(L, e->nonfinite);
	lua_setfield(L, -2, "nonfinite");
	lua_pushinteger(L, e->repaired);
	lua_setfield(L, -2, "repaired");
	return 3;
}

static void release_all(struct encoder *e, bool failed)
{
	if (failed || !e->keep)
		scratch_release(e->out);
	scratch_release(e->members);
	scratch_release(e->sorted);
	scratch_release(e->message);
}

int json_lua_append(lua_State *L, int at, const void *mark, size_t max, struct json_room *room)
{
	struct place path[JSON_MAX_DEPTH + 1];
	struct key keys[JSON_MAX_DEPTH * JSON_FEW];
	int status, top = lua_gettop(L);
	struct encoder e = {
		.L = L, .mark = mark, .name = "data", .path = path, .keys = keys, .envelope = true, .max = max, .top = top, .room = top,
		.limit = room->out.len + max, .out = &room->out, .members = &room->members, .sorted = &room->sorted,
		.message = &room->message, .scalar = JSON_WRITER_INIT(&room->out),
	};

	status = encode_whole(&e, at);
	room->nonfinite = e.nonfinite;
	room->repaired = e.repaired;
	lua_settop(L, top);
	return status;
}

int json_lua_encode(lua_State *L)
{
	struct place path[JSON_MAX_DEPTH + 1];
	struct key keys[JSON_MAX_DEPTH * JSON_FEW];
	struct encoder e = { .L = L, .name = "data", .path = path, .keys = keys };
	int status, results, top;

	luaL_checkany(L, 1);
	lua_settop(L, 2);
	read_options(L, &e);
	e.out = scratch_push(L);
	e.out_at = lua_gettop(L);
	e.members = scratch_push(L);
	e.sorted = scratch_push(L);
	e.message = scratch_push(L);
	json_push_array_mark(L);
	e.mark = lua_topointer(L, -1);
	e.scalar.out = e.out;
	e.top = e.room = top = lua_gettop(L);
	status = encode_whole(&e, 1);
	lua_settop(L, top);
	results = status < 0 ? push_failure(&e) : push_text(&e);
	release_all(&e, status < 0);
	return results;
}
