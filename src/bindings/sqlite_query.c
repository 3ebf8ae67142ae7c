/*
 * sqlite_query.c: statements of a connection: prepared once, kept in its cache,
 * given their parameters, stepped to the end and reset before Lua goes on, so
 * that none holds a snapshot of the database. Runs in the worker.
 */
#include "sqlite_conn.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#define SQL 2
#define FIRST_PARAMETER 3
#define CACHE_MAX 100

/* --- the cache: SQL → statement; [1] counts its entries ------------------------------ */

void sqlite_finalize_all(const struct sqlite_conn *c)
{
	sqlite3_stmt *s;

	while ((s = c->api->next_stmt(c->db, NULL)) != NULL)
		c->api->finalize(s);
}

/* Push the cache, emptied if it is full. Statements are freed after they leave the
 * cache: the other order would leave freed ones in it. */
static void push_cache(lua_State *L, const struct sqlite_conn *c)
{
	lua_getiuservalue(L, 1, 1);
	lua_rawgeti(L, -1, 1);
	if (lua_tointeger(L, -1) >= CACHE_MAX) {
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_setiuservalue(L, 1, 1);
		lua_replace(L, -3);
		sqlite_finalize_all(c);
	}
	lua_pop(L, 1);
}

static sqlite3_stmt *cached(lua_State *L, const struct sqlite_conn *c)
{
	sqlite3_stmt *s;

	push_cache(L, c);
	lua_pushvalue(L, SQL);
	lua_rawget(L, -2);
	s = lua_touserdata(L, -1);
	lua_pop(L, 2);
	return s;
}

/* Call after cached(), which makes room. */
static void remember(lua_State *L, sqlite3_stmt *s)
{
	lua_getiuservalue(L, 1, 1);
	lua_rawgeti(L, -1, 1);
	lua_pushinteger(L, lua_tointeger(L, -1) + 1);
	lua_rawseti(L, -3, 1);
	lua_pop(L, 1);
	lua_pushvalue(L, SQL);
	lua_pushlightuserdata(L, s);
	lua_rawset(L, -3);
	lua_pop(L, 1);
}

/* NULL: SQLite has the reason. */
static sqlite3_stmt *compile(lua_State *L, const struct sqlite_conn *c)
{
	const char *text = lua_tostring(L, SQL), *rest = "";
	sqlite3_stmt *s = NULL;

	errno = 0;
	if (c->api->prepare_v2(c->db, text, -1, &s, &rest) != SQLITE_OK)
		return NULL;
	if (s == NULL || rest[strspn(rest, " \t\r\n;")] != '\0') {
		c->api->finalize(s);
		luaL_argerror(L, SQL, "expected exactly one SQL statement");
	}
	remember(L, s);
	return s;
}

static sqlite3_stmt *prepare(lua_State *L, const struct sqlite_conn *c)
{
	sqlite3_stmt *s;

	luaL_checktype(L, SQL, LUA_TSTRING);
	s = cached(L, c);
	return s != NULL ? s : compile(L, c);
}

/* --- parameters ------------------------------------------------------------------------ */

static int bind_nil(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s, int i)
{
	(void)L;
	return c->api->bind_null(s, i);
}

static int bind_boolean(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s, int i)
{
	return c->api->bind_int64(s, i, lua_toboolean(L, SQL + i));
}

static int bind_number(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s, int i)
{
	if (lua_isinteger(L, SQL + i))
		return c->api->bind_int64(s, i, lua_tointeger(L, SQL + i));
	return c->api->bind_double(s, i, lua_tonumber(L, SQL + i));
}

/* The bytes stay on the stack until the statement is done. */
static int bind_string(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s, int i)
{
	size_t n;
	const char *text = lua_tolstring(L, SQL + i, &n);

	return c->api->bind_text64(s, i, text, n, SQLITE_STATIC, SQLITE_UTF8);
}

typedef int bind_fn(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s, int i);

static bind_fn *const BINDERS[LUA_NUMTYPES] = {
	[LUA_TNIL] = bind_nil,
	[LUA_TBOOLEAN] = bind_boolean,
	[LUA_TNUMBER] = bind_number,
	[LUA_TSTRING] = bind_string,
};

static void check_parameters(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s)
{
	int given = lua_gettop(L) - SQL, wanted = c->api->bind_parameter_count(s);

	if (given != wanted)
		luaL_error(L, "the SQL statement takes %d parameters, got %d", wanted, given);
	for (int i = FIRST_PARAMETER; i <= lua_gettop(L); i++)
		if (BINDERS[lua_type(L, i)] == NULL)
			luaL_typeerror(L, i, "nil, boolean, number or string");
}

static int bind_all(lua_State *L, const struct sqlite_conn *c, sqlite3_stmt *s)
{
	int code = SQLITE_OK;

	for (int i = 1; code == SQLITE_OK && i <= lua_gettop(L) - SQL; i++)
		code = BINDERS[lua_type(L, SQL + i)](L, c, s, i);
	return code;
}

/* The statement of this call, ready for stepping; NULL: SQLite has the reason. */
static sqlite3_stmt *begin(lua_State *L, const struct sqlite_conn *c)
{
	sqlite3_stmt *s = prepare(L, c);

	if (s == NULL)
		return NULL;
	check_parameters(L, c, s);
	errno = 0;
	return bind_all(L, c, s) == SQLITE_OK ? s : NULL;
}

/* Release locks and parameters. Returns the result of the last step. */
static int finish(const struct sqlite_conn *c, sqlite3_stmt *s)
{
	int code = c->api->reset(s);

	c->api->clear_bindings(s);
	return code;
}

/* --- run ---------------------------------------------------------------------------------- */

int sqlite_lua_run(lua_State *L)
{
	struct sqlite_conn *c = sqlite_check(L);
	sqlite3_stmt *s = begin(L, c);

	if (s == NULL)
		return sqlite_fail(L, c);
	while (c->api->step(s) == SQLITE_ROW)
		; /* drop the rows of RETURNING or PRAGMA */
	if (finish(c, s) != SQLITE_OK)
		return sqlite_fail(L, c);
	lua_pushinteger(L, c->api->changes(c->db));
	return 1;
}

/* --- rows --------------------------------------------------------------------------------- */

static void push_column(lua_State *L, const struct sqlite_api *api, sqlite3_stmt *s, int i)
{
	const char *text;

	switch (api->column_type(s, i)) {
	case SQLITE_INTEGER:
		lua_pushinteger(L, api->column_int64(s, i));
		break;
	case SQLITE_FLOAT:
		lua_pushnumber(L, api->column_double(s, i));
		break;
	case SQLITE_NULL:
		lua_pushnil(L);
		break;
	default: /* text, blob: bytes */
		text = (const char *)api->column_text(s, i);
		lua_pushlstring(L, text, (size_t)api->column_bytes(s, i));
	}
}

static void push_row(lua_State *L, const struct sqlite_api *api, sqlite3_stmt *s)
{
	int columns = api->column_count(s);

	lua_createtable(L, 0, columns);
	for (int i = 0; i < columns; i++) {
		lua_pushstring(L, api->column_name(s, i));
		push_column(L, api, s, i);
		lua_rawset(L, -3);
	}
}

/* Arguments: connection, statement. Leaves the list. */
static int collect(lua_State *L)
{
	const struct sqlite_conn *c = lua_touserdata(L, 1);
	sqlite3_stmt *s = lua_touserdata(L, 2);
	lua_Integer n = 0;

	lua_newtable(L);
	while (c->api->step(s) == SQLITE_ROW) {
		push_row(L, c->api, s);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

int sqlite_lua_rows(lua_State *L)
{
	struct sqlite_conn *c = sqlite_check(L);
	sqlite3_stmt *s = begin(L, c);
	int status;

	if (s == NULL)
		return sqlite_fail(L, c);
	lua_pushcfunction(L, collect);
	lua_pushvalue(L, 1);
	lua_pushlightuserdata(L, s);
	c->in_query = true;
	status = lua_pcall(L, 2, 1, 0);
	c->in_query = false;
	if (finish(c, s) != SQLITE_OK)
		return sqlite_fail(L, c);
	return status == LUA_OK ? 1 : lua_error(L);
}
