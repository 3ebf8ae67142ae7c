/*
 * words.c: see words.h. Runs in the worker.
 */
#include "words.h"

#include <lauxlib.h>
#include <string.h>

#include "../common/base.h"
#include "../common/json.h"

#define VIEW "runner.words"

struct view {
	char *const *words;
	lua_Integer count;
};

/* --- a view ------------------------------------------------------------------------- */

/* view[i]: nil beyond the last word */
static int l_index(lua_State *L)
{
	const struct view *v = luaL_checkudata(L, 1, VIEW);
	lua_Integer i = lua_tointeger(L, 2); /* 0 for a name */

	lua_pushstring(L, i >= 1 && i <= v->count ? v->words[i - 1] : NULL);
	return 1;
}

static int l_len(lua_State *L)
{
	const struct view *v = luaL_checkudata(L, 1, VIEW);

	lua_pushinteger(L, v->count);
	return 1;
}

static void push_view(lua_State *L, char *const *words, lua_Integer count)
{
	static const luaL_Reg methods[] = { { "__index", l_index }, { "__len", l_len }, { NULL, NULL } };
	struct view *v = lua_newuserdatauv(L, sizeof(*v), 0);

	*v = (struct view){ words, count };
	if (luaL_newmetatable(L, VIEW))
		luaL_setfuncs(L, methods, 0);
	lua_setmetatable(L, -2);
}

void words_push(lua_State *L, char *const *words, int count)
{
	if (count > WORDS_AS_TABLE) {
		push_view(L, words, count);
		return;
	}
	lua_createtable(L, count, 0);
	for (int i = 0; i < count; i++) {
		lua_pushstring(L, words[i]);
		lua_rawseti(L, -2, i + 1);
	}
}

/* have_flag(words, flags): is one of the flags, each between blanks (" --help -h "), in front of any "--"? */
static int l_have_flag(lua_State *L)
{
	const char *flags = luaL_checkstring(L, 2), *word, *at;
	bool found = false;

	for (lua_Integer i = 1; !found && lua_geti(L, 1, i) == LUA_TSTRING && strcmp(word = lua_tostring(L, -1), "--") != 0; i++) {
		size_t n = strlen(word);

		for (at = flags; !found && n > 0 && (at = strstr(at, word)) != NULL; at += n)
			found = at > flags && at[-1] == ' ' && at[n] == ' ' && !strchr(word, ' ');
		lua_pop(L, 1);
	}
	lua_pushboolean(L, found);
	return 1;
}

/* words_behind(words, n): those behind the first n, of a view as a view, of a table as a new table. n ≤ #words. */
static int l_words_behind(lua_State *L)
{
	const struct view *v = luaL_testudata(L, 1, VIEW);
	lua_Integer n = luaL_checkinteger(L, 2), count = v ? v->count : (lua_Integer)lua_rawlen(L, 1);

	luaL_argcheck(L, n >= 0 && n <= count, 2, "there are not so many words");
	if (v) {
		push_view(L, v->words + n, count - n);
		return 1;
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_createtable(L, (int)(count - n), 0);
	for (lua_Integer i = n; i < count; i++) {
		lua_rawgeti(L, 1, i + 1);
		lua_rawseti(L, -2, i - n + 1);
	}
	return 1;
}

/* --- the items of an array --------------------------------------------------------------- */

struct word {
	const char *s;
	size_t n;
};

/* Push the value of a word as an item, if it is one that nothing can be said against; else nothing. */
typedef bool item_fn(lua_State *L, struct word w);

/* Decimal digits alone, as tonumber reads them; what is too large would be a float. */
static bool push_integer(lua_State *L, struct word w)
{
	lua_Unsigned value = 0;

	for (size_t i = 0; i < w.n; i++) {
		unsigned digit = (unsigned)(unsigned char)w.s[i] - '0';

		if (digit > 9 || value > ((lua_Unsigned)LUA_MAXINTEGER - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (w.n > 0)
		lua_pushinteger(L, (lua_Integer)value);
	return w.n > 0;
}

static bool push_string(lua_State *L, struct word w)
{
	for (size_t i = 0, length; i < w.n; i += length)
		if (!(length = (unsigned char)w.s[i] < 0x80 ? 1 : utf8_length(w.s + i, w.n - i)))
			return false;
	lua_pushlstring(L, w.s, w.n);
	return true;
}

static bool push_path(lua_State *L, struct word w)
{
	return w.n > 0 && !memchr(w.s, '\0', w.n) && push_string(L, w);
}

static const char *const kinds[] = { "integer", "path", "string", NULL };
static item_fn *const items_of[] = { push_integer, push_path, push_string };

/* Word i of stack index 2; .s is NULL where there is none. A table's stays on the stack, which holds it. */
static struct word word_at(lua_State *L, const struct view *v, lua_Integer i)
{
	struct word w = { NULL, 0 };

	if (v && i <= v->count) {
		w.s = v->words[i - 1];
		w.n = strlen(w.s);
	} else if (!v && lua_rawgeti(L, 2, i) == LUA_TSTRING) {
		w.s = lua_tolstring(L, -1, &w.n);
	}
	return w;
}

/*
 * take_words(items, words, i, kind, options): next, items. Append the words from i on to `items` as values of
 * `kind` ("integer", "path", "string"), up to the first that is no plain one: invalid, with a sign or, where
 * there are `options`, with a "-" in front. `next` is the index of that word, #words + 1 if there is none.
 * Without items (nil) the first value makes the table.
 */
static int l_take_words(lua_State *L)
{
	const struct view *v = luaL_testudata(L, 2, VIEW);
	lua_Integer i = luaL_checkinteger(L, 3), count = v ? v->count : (lua_Integer)lua_rawlen(L, 2), n;
	item_fn *push = items_of[luaL_checkoption(L, 4, NULL, kinds)];
	bool options = lua_toboolean(L, 5);

	luaL_argexpected(L, v || lua_istable(L, 2), 2, "words");
	luaL_argexpected(L, lua_isnoneornil(L, 1) || lua_istable(L, 1), 1, "table");
	luaL_argcheck(L, i >= 1, 3, "not an index");
	n = (lua_Integer)lua_rawlen(L, 1);
	for (; i <= count; i++) {
		struct word w;

		lua_settop(L, 5);
		w = word_at(L, v, i);
		if (!w.s || (options && w.s[0] == '-') || !push(L, w))
			break;
		if (!lua_istable(L, 1)) {
			lua_createtable(L, (int)(count - i + 1), 0);
			lua_replace(L, 1);
		}
		lua_rawseti(L, 1, ++n);
	}
	lua_pushinteger(L, i);
	lua_pushvalue(L, 1);
	return 2;
}

static const luaL_Reg functions[] = {
	{ "take_words", l_take_words },
	{ "have_flag", l_have_flag },
	{ "words_behind", l_words_behind },
	{ NULL, NULL },
};

void words_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
