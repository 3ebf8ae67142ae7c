/*
 * masker.c: texts without secrets (masker.h), and the values for the supervisor, in whose streams they are hidden.
 */
#include "masker.h"

#include <lauxlib.h>
#include <string.h>

#include "../common/mask.h"
#include "channel.h"
#include "picture.h"

#define MASKER "runner.masker"
#define STREAM "runner.masker.stream"

/* --- a masker ------------------------------------------------------------------------------- */

static const struct mask *masker_at(lua_State *L, int at)
{
	return *(struct mask **)luaL_checkudata(L, at, MASKER);
}

static int masker_gc(lua_State *L)
{
	struct mask **m = luaL_checkudata(L, 1, MASKER);

	mask_free(*m);
	*m = NULL;
	return 0;
}

/* m:text(text, key): the text without them, or that of a key */
static int masker_text(lua_State *L)
{
	bool key = lua_toboolean(L, 3);
	const struct mask *m = masker_at(L, 1);
	size_t n;
	const char *s = luaL_checklstring(L, 2, &n);
	struct buf out = BUF_INIT;

	lua_settop(L, 2);
	if ((key ? mask_key : mask_text)(m, s, n, &out) && !out.failed)
		lua_pushlstring(L, buf_cstr(&out), out.len);
	else if (out.failed)
		lua_pushliteral(L, MASK_SHOWN);
	buf_release(&out);
	return 1;
}

/* m:begun(text): how many bytes at its end may begin one; m:ended(text): at its start end one */
static int masker_begun(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 2, &n);

	lua_pushinteger(L, (lua_Integer)mask_begun(masker_at(L, 1), s, n));
	return 1;
}

static int masker_ended(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 2, &n);

	lua_pushinteger(L, (lua_Integer)mask_ended(masker_at(L, 1), s, n));
	return 1;
}

/* --- a text in pieces --------------------------------------------------------------------------- */

static int stream_gc(lua_State *L)
{
	mask_stream_release(luaL_checkudata(L, 1, STREAM));
	return 0;
}

/* stream(piece | nil): what may come out; nil ends it. */
static int stream_call(lua_State *L)
{
	struct mask_stream *s = luaL_checkudata(L, 1, STREAM);
	size_t n;
	const char *bytes = luaL_optlstring(L, 2, NULL, &n);
	struct mask_piece piece = bytes ? mask_stream_feed(s, bytes, n) : mask_stream_end(s, false);

	lua_pushlstring(L, piece.s, piece.n);
	return 1;
}

/* m:stream(): a function */
static int masker_stream(lua_State *L)
{
	const struct mask *m = masker_at(L, 1);
	struct mask_stream *s = lua_newuserdatauv(L, sizeof(*s), 1);

	*s = (struct mask_stream){ .m = m };
	if (luaL_newmetatable(L, STREAM)) {
		lua_pushcfunction(L, stream_gc);
		lua_setfield(L, -2, "__gc");
		lua_pushcfunction(L, stream_call);
		lua_setfield(L, -2, "__call");
	}
	lua_setmetatable(L, -2);
	lua_pushvalue(L, 1); /* it lives as long as its streams */
	lua_setiuservalue(L, -2, 1);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "begun", masker_begun },
	{ "ended", masker_ended },
	{ "stream", masker_stream },
	{ "text", masker_text },
	{ NULL, NULL },
};

/* --- from values ------------------------------------------------------------------------------------ */

static const char *value_at(lua_State *L, lua_Integer i, size_t *n)
{
	lua_rawgeti(L, 1, i);
	return luaL_checklstring(L, -1, n);
}

/* masker(values): raises when they are too many bytes. */
static int l_masker(lua_State *L)
{
	struct mask **m;
	size_t n;

	luaL_checktype(L, 1, LUA_TTABLE);
	m = lua_newuserdatauv(L, sizeof(struct mask *), 0);
	*m = NULL;
	if (luaL_newmetatable(L, MASKER)) {
		lua_pushcfunction(L, masker_gc);
		lua_setfield(L, -2, "__gc");
		luaL_newlib(L, methods);
		lua_setfield(L, -2, "__index");
	}
	lua_setmetatable(L, -2);
	*m = mask_new();
	for (lua_Integer i = 1; *m && i <= (lua_Integer)lua_rawlen(L, 1); i++) {
		const char *value = value_at(L, i, &n);

		if (mask_add(*m, value, n) < 0)
			return luaL_error(L, "more than 16 MiB of secrets, or no memory for them");
		lua_pop(L, 1);
	}
	return *m ? 1 : luaL_error(L, "no memory");
}

/* hide(values): from here on they are hidden in all that leaves the run. Raises when that can't be promised. */
static int l_hide(lua_State *L)
{
	size_t n;

	luaL_checktype(L, 1, LUA_TTABLE);
	if (lua_rawlen(L, 1) == 0)
		return 0;
	for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 1); i++) {
		const char *value = value_at(L, i, &n);

		if (channel_secret(value, n) < 0)
			return luaL_error(L, "can't hide a secret");
		lua_pop(L, 1);
	}
	if (channel_secrets_end() < 0)
		return luaL_error(L, "can't hide the secrets: the supervisor doesn't answer, or has no memory for them");
	picture_begin(L); /* what is written to io.stderr on a terminal goes by the supervisor */
	return 0;
}

static const luaL_Reg functions[] = {
	{ "hide", l_hide },
	{ "masker", l_masker },
	{ NULL, NULL },
};

void masker_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
