/*
 * only.c: the text of a file of tasks without those that a call doesn't name, each thing on its own line, so that a thousand
 * need not be compiled for one. Left out are tables that call nothing while they are made, which nothing else can see. All
 * else stays, and so does the whole of a file whose form isn't known. Runs in the worker.
 *
 *   only(text, list, names)  without what `list` ("tasks") has under other names
 *   lines(text, at)          how many lines end in front of that byte
 */
#include "only.h"

#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/base.h"
#include "../common/buf.h"
#include "scratch.h"

#define NAMES_MAX 4

enum kind { END, WORD, TEXT, SIGN, BAD };

struct token {
	enum kind kind;
	char sign;
	const char *from, *to;
};

struct scan {
	const char *at, *end;
	struct token t;
	const char *list;
	const char *names[NAMES_MAX]; /* ends with NULL, unless full */
	struct buf *out;
	const char *copied;
};

/* --- tokens ------------------------------------------------------------------------------------ */

enum { BLANK = 1, LETTER = 2, STOP = 4 }; /* a digit is a letter here */

static unsigned char classes[256];

static void fill_classes(void)
{
	for (int c = 0; c < 256; c++)
		classes[c] = (unsigned char)((c == ' ' || (c >= '\t' && c <= '\r') ? BLANK : 0) | (c == '_' || isalnum(c) ? LETTER : 0) |
		                             (c && strchr("{}\"'[-(", c) ? STOP : 0));
}

static unsigned class_of(const char *c)
{
	return classes[(unsigned char)*c];
}

/* "[[" or "[=[" at `at`: behind its end; NULL: it is none, or has no end. */
static const char *long_end(const struct scan *s, const char *at)
{
	const char *open = at + 1;
	size_t level;

	while (open < s->end && *open == '=')
		open++;
	if (open >= s->end || *open != '[')
		return NULL;
	level = (size_t)(open - at - 1);
	for (const char *c = open; (c = memchr(c, ']', (size_t)(s->end - c))) != NULL; c++) {
		size_t n = 0;
		while (c + 1 + n < s->end && c[1 + n] == '=')
			n++;
		if (n == level && c + 1 + n < s->end && c[1 + n] == ']')
			return c + n + 2;
	}
	return NULL;
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end) {
		if (class_of(s->at) == BLANK) {
			s->at++;
		} else if (*s->at == '-' && s->end - s->at > 1 && s->at[1] == '-') {
			const char *close = s->end - s->at > 2 && s->at[2] == '[' ? long_end(s, s->at + 2) : NULL;
			const char *newline = close ? NULL : memchr(s->at, '\n', (size_t)(s->end - s->at));
			s->at = close ? close : newline ? newline : s->end;
		} else {
			return;
		}
	}
}

/* Behind the text that begins there; NULL: none does, or it has no end. */
static const char *text_end(const struct scan *s, const char *at)
{
	if (*at == '[')
		return long_end(s, at);
	for (const char *c = at + 1; c < s->end && *c != '\n'; c++) {
		if (*c == *at)
			return c + 1;
		c += *c == '\\';
	}
	return NULL;
}

static void next(struct scan *s)
{
	const char *close;

	skip_blanks(s);
	s->t = (struct token){ .kind = END, .from = s->at };
	if (s->at < s->end && (*s->at == '"' || *s->at == '\'' || *s->at == '[')) {
		close = text_end(s, s->at);
		s->t.kind = close ? TEXT : *s->at == '[' ? SIGN : BAD;
		s->t.sign = *s->at;
		s->at = close ? close : s->at + 1;
	} else if (s->at < s->end && class_of(s->at) == LETTER) {
		s->t.kind = WORD;
		while (s->at < s->end && class_of(s->at) == LETTER)
			s->at++;
	} else if (s->at < s->end) {
		s->t.kind = SIGN;
		s->t.sign = *s->at++;
	}
	s->t.to = s->at;
}

static bool is_sign(const struct scan *s, char sign)
{
	return s->t.kind == SIGN && s->t.sign == sign;
}

static bool is_separator(const struct scan *s)
{
	return is_sign(s, ',') || is_sign(s, ';');
}

static bool is_word(const struct scan *s, const char *const *words)
{
	size_t n = (size_t)(s->t.to - s->t.from);

	for (; s->t.kind == WORD && *words; words++)
		if (**words == *s->t.from && strncmp(*words, s->t.from, n) == 0 && (*words)[n] == '\0')
			return true;
	return false;
}

/* --- what is passed over -------------------------------------------------------------------------------- */

static const char *const opens[] = { "function", "if", "do", "repeat", NULL };
static const char *const closes[] = { "end", "until", NULL };
static const char *const returns[] = { "return", NULL };

static int step(const struct scan *s)
{
	if (s->t.kind == SIGN)
		return s->t.sign == '(' || s->t.sign == '{' || s->t.sign == '[' ? 1 : s->t.sign == ')' || s->t.sign == '}' || s->t.sign == ']' ? -1 : 0;
	return is_word(s, opens) ? 1 : is_word(s, closes) ? -1 : 0;
}

/* Up to the separator behind a value, or the end of the table that it is in; `until`: to that word. */
static bool pass_any(struct scan *s, const char *const *until)
{
	for (int depth = 0; s->t.kind != END && s->t.kind != BAD; next(s)) {
		if (depth == 0 && (until ? is_word(s, until) : is_separator(s) || is_sign(s, '}')))
			return true;
		depth += step(s);
		if (depth < 0)
			return false;
	}
	return false;
}

/* Is what is in front of it a value, so that this is a call? The end of a comment is taken for one. */
static bool is_called(const struct scan *s, const char *at)
{
	for (at--; at > s->copied && class_of(at) == BLANK; at--)
		;
	return class_of(at) == LETTER || *at == '"' || *at == '\'' || *at == ']' || *at == '}' || *at == ')';
}

/* The "function" in front of a "("; NULL: it is none. */
static const char *function_of(const struct scan *s, const char *at)
{
	static const char word[] = "function";
	size_t n = sizeof(word) - 1;

	while (at > s->copied && class_of(at - 1) == BLANK)
		at--;
	at -= MIN_OF(n, (size_t)(at - s->copied));
	return strncmp(at, word, n) == 0 && class_of(at - 1) != LETTER ? at : NULL;
}

/* A function: what is in it is for its own call. */
static bool pass_function(struct scan *s, const char *at)
{
	int depth = 0;

	s->at = at;
	do {
		next(s);
		depth += step(s);
	} while (depth > 0 && s->t.kind != END && s->t.kind != BAD);
	return depth == 0;
}

/* A table that calls nothing, whatever else it says. */
static bool pass_calm(struct scan *s)
{
	int depth = 0;

	for (const char *c = s->t.from, *close; c < s->end; c++) {
		if (!(class_of(c) & STOP))
			continue;
		if (*c == '{') {
			if (depth++ > 0 && is_called(s, c))
				return false;
		} else if (*c == '}') {
			if (--depth == 0) {
				s->at = c + 1;
				next(s);
				return true;
			}
		} else if (*c == '"' || *c == '\'' || *c == '[') {
			close = text_end(s, c);
			if (close ? is_called(s, c) : *c != '[' || (c + 1 < s->end && (c[1] == '[' || c[1] == '=')))
				return false;
			c = close ? close - 1 : c;
		} else if (*c == '(') {
			if (!(close = function_of(s, c)) || !pass_function(s, close))
				return false;
			c = s->at - 1;
		} else if (c + 1 < s->end && c[1] == '-') {
			s->at = c;
			skip_blanks(s);
			c = s->at - 1;
		}
	}
	return false;
}

/* --- the file ---------------------------------------------------------------------------------------- */

/* "NAME =" or "[TEXT] =". */
static bool pass_key(struct scan *s, struct token *key)
{
	bool in_brackets = is_sign(s, '[');

	if (in_brackets)
		next(s);
	*key = s->t;
	next(s);
	if (key->kind != (in_brackets ? TEXT : WORD) || (in_brackets && !is_sign(s, ']')))
		return false;
	if (in_brackets)
		next(s);
	if (!is_sign(s, '='))
		return false;
	next(s);
	return true;
}

static bool is_wanted(const struct scan *s, const struct token *key)
{
	size_t quotes = key->kind == TEXT, n = (size_t)(key->to - key->from) - 2 * quotes;

	if (key->kind == TEXT && (*key->from == '[' || memchr(key->from, '\\', n + 1)))
		return true; /* another way to write it */
	for (int i = 0; i < NAMES_MAX && s->names[i]; i++)
		if (strncmp(s->names[i], key->from + quotes, n) == 0 && s->names[i][n] == '\0')
			return true;
	return false;
}

static void leave_out(struct scan *s, const char *from, const char *to)
{
	buf_add(s->out, s->copied, (size_t)(from - s->copied));
	for (const char *c = from; (c = memchr(c, '\n', (size_t)(to - c))) != NULL; c++)
		buf_add(s->out, "\n", 1);
	s->copied = to;
}

static bool pass_task(struct scan *s)
{
	const char *from = s->t.from;
	struct scan before = *s;
	struct token key;
	bool plain = pass_key(s, &key) && is_sign(s, '{') && pass_calm(s) && (is_separator(s) || is_sign(s, '}')) && !is_wanted(s, &key);

	if (!plain) {
		s->at = before.at;
		s->t = before.t;
		if (!pass_any(s, NULL))
			return false;
	}
	if (plain)
		leave_out(s, from, is_separator(s) ? s->t.to : s->t.from);
	if (is_separator(s))
		next(s);
	return true;
}

static bool pass_tasks(struct scan *s)
{
	next(s);
	while (!is_sign(s, '}'))
		if (!pass_task(s))
			return false;
	next(s);
	return is_separator(s) || is_sign(s, '}');
}

/* `return { tasks = { … } }` at the end of the file. */
static bool pass_file(struct scan *s)
{
	const char *const list[] = { s->list, NULL };
	int found = 0;

	next(s);
	if (!pass_any(s, returns))
		return false;
	next(s);
	if (!is_sign(s, '{'))
		return false;
	for (next(s); !is_sign(s, '}');) {
		struct scan before = *s;
		struct token key;
		bool is_list = is_word(s, list) && pass_key(s, &key) && is_sign(s, '{');

		if (!is_list) {
			s->at = before.at;
			s->t = before.t;
		}
		found += is_list;
		if (!(is_list ? pass_tasks(s) : pass_any(s, NULL)))
			return false;
		if (is_separator(s))
			next(s);
	}
	next(s);
	if (is_sign(s, ';'))
		next(s);
	return s->t.kind == END && found == 1;
}

static int l_only(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	struct scan s = { .at = text, .end = text + n, .list = luaL_checkstring(L, 2), .copied = text };

	fill_classes();
	luaL_checktype(L, 3, LUA_TTABLE);
	for (int i = 0; i < NAMES_MAX && lua_rawgeti(L, 3, i + 1) == LUA_TSTRING; i++)
		s.names[i] = lua_tostring(L, -1); /* the stack keeps it */
	s.out = scratch_push(L);
	if (pass_file(&s)) {
		buf_add(s.out, s.copied, (size_t)(s.end - s.copied));
		if (!s.out->failed)
			return lua_pushlstring(L, buf_cstr(s.out), s.out->len), 1;
	}
	lua_settop(L, 1);
	return 1;
}

static int l_lines(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n), *end = text + MIN_OF((size_t)MAX_OF(luaL_checkinteger(L, 2) - 1, 0), n);
	lua_Integer lines = 0;

	for (const char *c = text; c < end && (c = memchr(c, '\n', (size_t)(end - c))) != NULL; c++)
		lines++;
	lua_pushinteger(L, lines);
	return 1;
}

void only_register(lua_State *L)
{
	static const luaL_Reg functions[] = { { "lines", l_lines }, { "only", l_only }, { NULL, NULL } };

	luaL_setfuncs(L, functions, 0);
}
