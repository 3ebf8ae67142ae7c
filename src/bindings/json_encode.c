/*
 * json_encode.c: a Lua value as JSON text. Runs in the worker. Reads tables
 * raw (no metamethod of a script runs) and allocates nothing in Lua while it
 * walks: no collection, no finalizer and no error can come in between.
 *
 * An object's members are written in the order of lua_next() and then sorted by
 * their written keys, so no key is looked up twice. Two keys that differ only in
 * bytes that can't be written would become one key, and are refused.
 */
#include "json_encode.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct member {
	size_t key_len;    /* as written, without the quotes */
	size_t start, end; /* of `"key":value` in out */
	const char *key;   /* set for sorting: out may move until then */
};

/* --- tables ------------------------------------------------------------------- */

/* A table is inside itself: say so of the first that is there twice. Always -1. */
static int refuse_cycle(struct encoder *e, const void *table)
{
	int last = e->depth;

	for (e->depth = 0; e->depth < last; e->depth++)
		for (int i = 0; i < e->depth; i++)
			if (e->path[i].table == e->path[e->depth].table)
				return encode_refuse_cycle(e, i);
	for (int i = 0;; i++)
		if (e->path[i].table == table)
			return encode_refuse_cycle(e, i);
}

#define CYCLE_STEP 8 /* levels; a cycle that has begun goes on, so one in eight finds it */

/* Begin the table at the stack index. */
static int enter(struct encoder *e, int index)
{
	const void *table = lua_topointer(e->L, index);

	if (e->depth % CYCLE_STEP == CYCLE_STEP - 1 || e->depth == JSON_MAX_DEPTH)
		for (int i = 0; i < e->depth; i++)
			if (e->path[i].table == table)
				return refuse_cycle(e, table);
	if (e->depth == JSON_MAX_DEPTH)
		return encode_refuse(e, "is nested more than %d levels deep", JSON_MAX_DEPTH);
	e->path[e->depth++].table = table;
	return 0;
}

static int put_items(struct encoder *e, lua_Integer n)
{
	struct place *here = &e->path[e->depth - 1];

	here->key = NULL;
	for (here->index = 1; here->index <= n; here->index++) {
		lua_rawgeti(e->L, -1, here->index);
		if (encode_value(e) < 0)
			return -1;
		lua_pop(e->L, 1);
	}
	return 0;
}

/* Every key of the table is one of 1..n, and none is missing. */
static int check_items(struct encoder *e, lua_Integer n)
{
	lua_Integer found = 0;

	for (lua_pushnil(e->L); lua_next(e->L, -2); found++) {
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

/* The items as lua_next() gives them, which for most arrays is their order. 1: it isn't,
 * or there are other keys. */
static int put_in_order(struct encoder *e, lua_Integer n)
{
	struct place *here = &e->path[e->depth - 1];

	here->key = NULL;
	here->index = 0;
	for (lua_pushnil(e->L); lua_next(e->L, -2); lua_pop(e->L, 1)) {
		if (!lua_isinteger(e->L, -2) || lua_tointeger(e->L, -2) != here->index + 1) {
			lua_pop(e->L, 2);
			return 1;
		}
		here->index++;
		if (encode_value(e) < 0)
			return -1;
	}
	return here->index != n;
}

static int put_array(struct encoder *e)
{
	lua_Integer n = (lua_Integer)lua_rawlen(e->L, -1);
	size_t start;
	int status;

	if (enter(e, -1) < 0)
		return -1;
	json_begin_array(&e->w);
	start = e->out->len;
	status = put_in_order(e, n);
	if (status > 0) { /* begin again */
		e->out->len = start;
		e->w.need_comma = false;
		status = check_items(e, n) < 0 ? -1 : put_items(e, n);
	}
	if (status < 0)
		return -1;
	json_end_array(&e->w);
	e->depth--;
	return 0;
}

static void put_string(struct encoder *e, const char *s, size_t n)
{
	if (e->w.need_comma)
		buf_add_char(e->out, ',');
	e->repaired += (lua_Integer)(e->envelope ? json_quote : json_quote_exact)(e->out, s, n);
	e->w.need_comma = true;
}

/* Stack: …, key, value. */
static int put_member(struct encoder *e, struct member *m)
{
	struct place *here = &e->path[e->depth - 1];

	if (lua_type(e->L, -2) != LUA_TSTRING) {
		lua_Integer n = (lua_Integer)lua_rawlen(e->L, -3);

		if (n > 0) {
			lua_pop(e->L, 2);
			return check_items(e, n);
		}
		e->depth--;
		return encode_refuse(e, "has a %s as a key: object keys are strings, array keys 1 to n",
		              luaL_typename(e->L, -2));
	}
	here->key = lua_tolstring(e->L, -2, &here->key_len);
	m->start = e->out->len + e->w.need_comma;
	put_string(e, here->key, here->key_len);
	m->key_len = e->out->len - m->start - 2;
	buf_add_char(e->out, ':');
	e->w.need_comma = false;
	if (encode_value(e) < 0)
		return -1;
	m->end = e->out->len;
	m->key = NULL;
	return 0;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = memcmp(a->key, b->key, MIN_OF(a->key_len, b->key_len));

	return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

#define FEW 12 /* members that are sorted by insertion */

static void sort(struct member *m, size_t count)
{
	if (count > FEW) {
		qsort(m, count, sizeof(*m), compare_members);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		struct member moved = m[i];
		size_t at = i;

		for (; at > 0 && compare_members(&m[at - 1], &moved) > 0; at--)
			m[at] = m[at - 1];
		m[at] = moved;
	}
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

	if (encode_check_size(e, 0) < 0)
		return -1;
	m = (struct member *)(void *)(e->members->data + base);
	start = m[0].start;
	for (size_t i = 0; i < count; i++)
		m[i].key = e->out->data + m[i].start + 1;
	sort(m, count);
	if (check_members(e, m, count) < 0)
		return -1;
	buf_clear(e->sorted);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buf_add_char(e->sorted, ',');
		buf_add(e->sorted, e->out->data + m[i].start, m[i].end - m[i].start);
	}
	if (encode_check_size(e, 0) < 0)
		return -1;
	memcpy(e->out->data + start, e->sorted->data, e->sorted->len);
	e->members->len = base;
	return 0;
}

/* Stack: …, object, its first key and value, which are popped. */
static int put_object(struct encoder *e)
{
	size_t base = e->members->len, count = 0;
	struct member first, m;

	if (enter(e, -3) < 0)
		return -1;
	json_begin_object(&e->w);
	do {
		if (put_member(e, count ? &m : &first) < 0)
			return -1;
		if (count == 1) /* one alone need not be sorted */
			buf_add(e->members, &first, sizeof(first));
		if (count++ > 0)
			buf_add(e->members, &m, sizeof(m));
		lua_pop(e->L, 1);
	} while (lua_next(e->L, -2));
	if (count > 1 && sort_members(e, base) < 0)
		return -1;
	json_end_object(&e->w);
	e->depth--;
	return 0;
}

static bool is_marked(struct encoder *e)
{
	bool marked = false;

	if (lua_getmetatable(e->L, -1)) {
		marked = lua_rawequal(e->L, -1, e->mark);
		lua_pop(e->L, 1);
	}
	return marked;
}

/* --- values ------------------------------------------------------------------- */

static int encode_string(struct encoder *e)
{
	size_t n;
	const char *s = lua_tolstring(e->L, -1, &n);

	if (encode_check_size(e, n) < 0)
		return -1;
	put_string(e, s, n);
	return 0;
}

static int encode_number(struct encoder *e)
{
	if (lua_isinteger(e->L, -1)) {
		json_int(&e->w, lua_tointeger(e->L, -1));
	} else {
		double v = lua_tonumber(e->L, -1);

		e->nonfinite += !isfinite(v);
		json_double(&e->w, v);
	}
	return 0;
}

static int encode_table(struct encoder *e)
{
	if (is_marked(e))
		return put_array(e);
	lua_pushnil(e->L);
	if (!lua_next(e->L, -2)) {
		json_raw(&e->w, "{}", 2);
		return 0;
	}
	if (lua_type(e->L, -2) == LUA_TSTRING || lua_rawlen(e->L, -3) == 0)
		return put_object(e);
	lua_pop(e->L, 2);
	return put_array(e);
}

static int encode_other(struct encoder *e, int type)
{
	if (type == LUA_TNIL || (type == LUA_TLIGHTUSERDATA && !lua_touserdata(e->L, -1)))
		json_write_null(&e->w);
	else if (type == LUA_TBOOLEAN)
		json_bool(&e->w, lua_toboolean(e->L, -1));
	else
		return encode_refuse(e, "is a %s, which JSON can't hold", lua_typename(e->L, type));
	return 0;
}

int encode_value(struct encoder *e)
{
	int status, type = lua_type(e->L, -1);

	switch (type) {
	case LUA_TSTRING: status = encode_string(e); break;
	case LUA_TNUMBER: status = encode_number(e); break;
	case LUA_TTABLE:  status = encode_table(e); break;
	default:          status = encode_other(e, type); break;
	}
	return status < 0 ? -1 : encode_check_size(e, 0);
}
