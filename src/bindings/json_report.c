/*
 * json_report.c: json.encode as Lua calls it, and the messages of its failures.
 * Runs in the worker.
 */
#include "json_lua.h"

#include <lauxlib.h>
#include <string.h>

#include "../worker/scratch.h"
#include "json_encode.h"

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

int encode_refuse(struct encoder *e, const char *format, ...)
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

int encode_refuse_cycle(struct encoder *e, int at)
{
	encode_refuse(e, "refers back to ");
	add_path(e, at);
	buf_add_str(e->message, "; JSON can't hold cycles");
	return -1;
}

int encode_refuse_size(struct encoder *e)
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
	e->max = (size_t)max;
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
