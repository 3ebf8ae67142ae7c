/*
 * json_values.c: a Lua value as JSON text, by its type: text and numbers here, tables in
 * json_encode.c. Runs in the worker.
 */
#include "json_encode.h"

#include <math.h>

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

int encode_value(struct encoder *e, int at)
{
	int type = lua_type(e->L, at);

	switch (type) {
	case LUA_TTABLE:  return encode_table(e, at);
	case LUA_TSTRING: return encode_string(e, at);
	case LUA_TNUMBER: return encode_number(e, at);
	default:          return encode_other(e, at, type);
	}
}

int encode_whole(struct encoder *e, int at)
{
	return encode_value(e, at) < 0 ? -1 : encode_check_size(e, 0);
}
