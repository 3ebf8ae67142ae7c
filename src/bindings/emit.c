/*
 * emit.c: a row of ctx:emit as a frame, written where it is sent from. Runs in the worker. A stream has many rows, so
 * nothing is allocated for one: all are written in the same memory, which no error can leave half-written for the next.
 *
 *   row(t, shown)  nil: it has been sent; false: it may hold a token or a key, and has not (never with `shown`: the caller wants
 *                  to see them, or they are masked); a text: why it can't be written
 *   method(ctx, otherwise, shown)  ctx:emit itself, for rows that are written as they are: what is no plain row, or can't be
 *                  written so, is `otherwise`'s, which gets the same arguments
 *   changed()      how many numbers and strings of the rows that were sent are not what they were, as json.encode counts them
 *   MAX            bytes of a row at most
 */
#include <lauxlib.h>

#include "../common/frame.h"
#include "../common/secret.h"
#include "../worker/channel.h"
#include "bindings.h"
#include "json_lua.h"

#define TYPE     "runner.emit"
#define ROW_MAX  ((size_t)1 << 20)
#define ROOM     lua_upvalueindex(1) /* of all functions: the memory; the metatable of arrays */
#define MARK     lua_upvalueindex(2)
#define KEPT_MAX ((size_t)256 << 10) /* bytes of memory that the next row gets */

struct emitter {
	struct json_room room;
	lua_Integer nonfinite, repaired; /* of all rows that were sent */
};

static void release(struct json_room *room)
{
	buf_release(&room->out);
	buf_release(&room->members);
	buf_release(&room->sorted);
	buf_release(&room->message);
}

static int room_gc(lua_State *L)
{
	release(&((struct emitter *)luaL_checkudata(L, 1, TYPE))->room);
	return 0;
}

/* What the row before has left. A large one's memory isn't kept for small ones. */
static void make_empty(struct json_room *room)
{
	if (room->out.cap + room->members.cap + room->sorted.cap > KEPT_MAX)
		release(room);
	buf_clear(&room->out);
	buf_clear(&room->members);
	buf_clear(&room->sorted);
	buf_clear(&room->message);
}

enum written { SENT, HOLDS_SECRET, REFUSED };

/* The row at the index. Raises only when the supervisor can't be reached. */
static enum written write_row(lua_State *L, int at, bool shown)
{
	struct emitter *emitter = lua_touserdata(L, ROOM);
	struct json_room *room = &emitter->room;
	size_t start, text;

	make_empty(room);
	start = frame_begin(&room->out, FRAME_EMIT);
	text = frame_begin_field(&room->out, F_data);
	if (json_lua_append(L, at, lua_topointer(L, MARK), ROW_MAX, room) < 0)
		return REFUSED;
	if (!shown && secret_text(room->out.data + text, room->out.len - text))
		return HOLDS_SECRET;
	frame_end_field(&room->out, text);
	(void)frame_end(&room->out, start); /* its cap is larger than a row */
	channel_send(L, &room->out);
	emitter->nonfinite += room->nonfinite;
	emitter->repaired += room->repaired;
	return SENT;
}

static int l_row(lua_State *L)
{
	const struct emitter *emitter = lua_touserdata(L, ROOM);

	luaL_checktype(L, 1, LUA_TTABLE);
	switch (write_row(L, 1, lua_toboolean(L, 2))) {
	case SENT: return 0;
	case HOLDS_SECRET:
		lua_pushboolean(L, 0);
		return 1;
	default:
		lua_pushlstring(L, buf_cstr(&emitter->room.message), emitter->room.message.len);
		return 1;
	}
}

static int l_changed(lua_State *L)
{
	const struct emitter *emitter = lua_touserdata(L, ROOM);

	lua_pushinteger(L, emitter->nonfinite);
	lua_pushinteger(L, emitter->repaired);
	return 2;
}

/* --- ctx:emit ------------------------------------------------------------------------- */

/* Fields that some rows may not have: the function that is called otherwise decides. */
static const char *const special[] = { "_seq", "_summary", "attempt", "heartbeat", "ok" };

enum { CTX_UP = 3, OTHERWISE_UP, SHOWN_UP, SPECIAL_UP };

/* A table in which what is read is what is written, and nothing to be looked at twice. Leaves a few values on the stack. */
static bool is_plain(lua_State *L, int at)
{
	if (!lua_istable(L, at) || lua_rawlen(L, at) > 0 || lua_getmetatable(L, at))
		return false;
	for (int i = 0; i < (int)ARRAY_LEN(special); i++) {
		lua_pushvalue(L, lua_upvalueindex(SPECIAL_UP + i));
		if (lua_rawget(L, at) != LUA_TNIL)
			return false;
	}
	return true;
}

static int l_emit(lua_State *L)
{
	int given = lua_gettop(L);

	if (given == 2 && lua_rawequal(L, 1, lua_upvalueindex(CTX_UP)) && is_plain(L, 2) &&
	    write_row(L, 2, lua_toboolean(L, lua_upvalueindex(SHOWN_UP))) == SENT)
		return 0;
	lua_settop(L, given);
	lua_pushvalue(L, lua_upvalueindex(OTHERWISE_UP));
	lua_insert(L, 1);
	lua_call(L, given, 0);
	return 0;
}

static int l_method(lua_State *L)
{
	lua_settop(L, 3);
	lua_pushvalue(L, ROOM);
	lua_pushvalue(L, MARK);
	lua_rotate(L, 1, 2);
	for (size_t i = 0; i < ARRAY_LEN(special); i++)
		lua_pushstring(L, special[i]);
	lua_pushcclosure(L, l_emit, SPECIAL_UP - 1 + (int)ARRAY_LEN(special));
	return 1;
}

/* --- the module ------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {
	{ "changed", l_changed },
	{ "method", l_method },
	{ "row", l_row },
	{ NULL, NULL },
};

int luaopen_runner_emit(lua_State *L)
{
	struct emitter *emitter;

	luaL_newlibtable(L, functions);
	lua_pushinteger(L, (lua_Integer)ROW_MAX);
	lua_setfield(L, -2, "MAX");
	emitter = lua_newuserdatauv(L, sizeof(*emitter), 0);
	*emitter = (struct emitter){ .room = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, 0, 0 } };
	luaL_newmetatable(L, TYPE);
	lua_pushcfunction(L, room_gc);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, -2);
	json_push_array_mark(L);
	luaL_setfuncs(L, functions, CTX_UP - 1);
	return 1;
}
