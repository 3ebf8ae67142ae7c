/*
 * json_encode.c: a Lua table as JSON text. Runs in the worker. Reads tables
 * raw (no metamethod of a script runs) and allocates nothing in Lua while it
 * walks but room on the stack: no finalizer and no error can come in between.
 *
 * Members are written in the order of their written keys, and no key is ever looked up:
 * those of a small object are put on the stack, all at once, and sorted there.
 * json_members.c does the others, json_values.c what is no table.
 */
#include "json_encode.h"

#include <lauxlib.h>
#include <string.h>

#include "../common/text_word.h"

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

int encode_check_items(struct encoder *e, int at, lua_Integer n)
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

int encode_refuse_key(struct encoder *e)
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
int encode_table(struct encoder *e, int at)
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
