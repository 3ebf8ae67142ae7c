/*
 * sqlite.c: require "runner.sqlite": connections to SQLite databases, and
 * transactions on them. Runs in the worker. A wait for another process's lock
 * blocks in cancel_poll() alone; a cancellation never leaves half a transaction.
 *
 *   open(path[, {readonly=false, busy_ms=5000, uri=false}])
 *                               conn; a new file has mode 0600; uri: "file:…?immutable=1"
 *   conn:exec(sql)              true: any number of statements
 *   conn:run(sql, …)            changes: one statement, its rows are dropped
 *   conn:rows(sql, …)           { {column = value …} … }: one statement
 *   conn:transaction(f, …)      true, results of f(…): one transaction that writes;
 *                               what f raises undoes it and is raised again
 *   conn:close()                idempotent; the collector does it, too
 *
 * Failures are nil, message, name ("SQLITE_BUSY"; "LIBRARY": no libsqlite3).
 * Parameters: nil, boolean (0, 1), number, string. NULL is nil.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/xio.h"
#include "../worker/cancel.h"
#include "bindings.h"
#include "sqlite_conn.h"

#define CONN "runner.sqlite"
#define BUSY_MS_DEFAULT 5000
#define BUSY_MS_MAX 60000
#define BUSY_STEP_MS_MAX 20

/* --- failures -------------------------------------------------------------------- */

/* SQLite keeps the errno of a failure, except of a failed COMMIT: there errno itself
 * has it, which the caller cleared before. */
static int os_error_of(const struct sqlite_conn *c, int code, int since)
{
	if (!sqlite_error_is_system(code))
		return 0;
	return since != 0 ? since : c->api->system_errno(c->db);
}

/* nil, message, name. */
static int push_failure(lua_State *L, const struct sqlite_conn *c)
{
	int since = errno, code = c->api->extended_errcode(c->db);
	int os_error = os_error_of(c, code, since);

	lua_pushnil(L);
	if (os_error != 0)
		lua_pushfstring(L, "%s (%s)", c->api->errmsg(c->db), strerror(os_error));
	else
		lua_pushstring(L, c->api->errmsg(c->db));
	lua_pushstring(L, sqlite_error_name(code, os_error));
	return 3;
}

static bool is_cancelled(const struct sqlite_conn *c)
{
	return (c->api->extended_errcode(c->db) & 0xff) == SQLITE_BUSY && cancel_pending();
}

int sqlite_fail(lua_State *L, const struct sqlite_conn *c)
{
	return is_cancelled(c) ? cancel_raise(L) : push_failure(L, c);
}

static int fail_with(lua_State *L, const char *message, const char *name)
{
	lua_pushnil(L);
	lua_pushstring(L, message);
	lua_pushstring(L, name);
	return 3;
}

/* --- waiting for a lock ------------------------------------------------------------ */

/* SQLite's busy handler: 0 gives up. */
static int on_busy(void *data, int tries)
{
	struct sqlite_conn *c = data;
	mono_t now = mono_now(), next = mono_add_ms(now, MIN_OF(tries + 1, BUSY_STEP_MS_MAX));

	if (tries == 0)
		c->busy_until = mono_add_ms(now, c->busy_ms);
	if (now >= c->busy_until)
		return 0;
	return cancel_poll(NULL, 0, MIN_OF(next, c->busy_until)) != CANCEL_POLL_CANCELLED;
}

/* --- the connection ------------------------------------------------------------------ */

struct sqlite_conn *sqlite_check(lua_State *L)
{
	struct sqlite_conn *c = luaL_checkudata(L, 1, CONN);

	luaL_argcheck(L, c->db != NULL, 1, "the database is closed");
	luaL_argcheck(L, !c->in_query, 1, "the database is already running a query");
	return c;
}

static void release(struct sqlite_conn *c)
{
	if (c->db == NULL)
		return;
	sqlite_finalize_all(c);
	c->api->close_v2(c->db);
	c->db = NULL;
}

static int conn_gc(lua_State *L)
{
	release(luaL_checkudata(L, 1, CONN));
	return 0;
}

static int conn_close(lua_State *L)
{
	struct sqlite_conn *c = luaL_checkudata(L, 1, CONN);

	luaL_argcheck(L, !c->in_transaction && !c->in_query, 1, "the database is in use");
	release(c);
	lua_newtable(L);
	lua_setiuservalue(L, 1, 1);
	lua_pushboolean(L, 1);
	return 1;
}

static int execute(const struct sqlite_conn *c, const char *sql)
{
	errno = 0;
	return c->api->exec(c->db, sql, NULL, NULL, NULL);
}

static int conn_exec(lua_State *L)
{
	struct sqlite_conn *c = sqlite_check(L);

	if (execute(c, luaL_checkstring(L, 2)) != SQLITE_OK)
		return sqlite_fail(L, c);
	lua_pushboolean(L, 1);
	return 1;
}

/* --- transactions ---------------------------------------------------------------------- */

/* Did somebody remove or replace the file? Then our writes would be lost. */
static bool is_moved(const struct sqlite_conn *c)
{
	int moved = 0;

	return c->api->file_control(c->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved != 0;
}

static void roll_back(const struct sqlite_conn *c)
{
	if (!c->api->get_autocommit(c->db))
		execute(c, "ROLLBACK");
}

/* Stack: …, function, arguments. As lua_pcall. */
static int call_inside(lua_State *L, struct sqlite_conn *c)
{
	int status;

	c->in_transaction = true;
	status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
	c->in_transaction = false;
	return status;
}

/* Only f is Lua, so that no cancellation can come between f and the commit. */
static int conn_transaction(lua_State *L)
{
	struct sqlite_conn *c = sqlite_check(L);

	luaL_checktype(L, 2, LUA_TFUNCTION);
	luaL_argcheck(L, !c->in_transaction, 1, "transactions can't be nested");
	if (is_moved(c))
		return fail_with(L, "the file was moved or deleted while it was in use",
		                 "SQLITE_READONLY_DBMOVED");
	roll_back(c); /* anything left by an earlier error of ours */
	if (execute(c, "BEGIN IMMEDIATE") != SQLITE_OK)
		return sqlite_fail(L, c);
	sqlite_reserve_log(c);
	if (call_inside(L, c) != LUA_OK) {
		roll_back(c);
		return lua_error(L);
	}
	if (execute(c, "COMMIT") != SQLITE_OK) {
		push_failure(L, c);
		roll_back(c);
		return 3;
	}
	lua_pushboolean(L, 1);
	lua_replace(L, 1);
	return lua_gettop(L);
}

/* --- opening ------------------------------------------------------------------------------ */

static const luaL_Reg methods[] = {
	{ "__close", conn_gc },
	{ "__gc", conn_gc },
	{ "close", conn_close },
	{ "exec", conn_exec },
	{ "rows", sqlite_lua_rows },
	{ "run", sqlite_lua_run },
	{ "transaction", conn_transaction },
	{ NULL, NULL },
};

static struct sqlite_conn *new_conn(lua_State *L, const struct sqlite_api *api, int64_t busy_ms)
{
	struct sqlite_conn *c = lua_newuserdatauv(L, sizeof(*c), 1);

	*c = (struct sqlite_conn){ .api = api, .busy_ms = busy_ms };
	if (luaL_newmetatable(L, CONN)) {
		luaL_setfuncs(L, methods, 0);
		lua_pushvalue(L, -1);
		lua_setfield(L, -2, "__index");
	}
	lua_setmetatable(L, -2);
	lua_newtable(L);
	lua_setiuservalue(L, -2, 1);
	return c;
}

/* SQLite would make a file that everybody may read. Only a file that is new is
 * opened here: closing a second descriptor drops the process's locks on it
 * (fcntl(2)). Returns 0, or why it can't be made. */
static int make_private_file(const char *path)
{
	int fd;

	if (strcmp(path, ":memory:") == 0)
		return 0;
	fd = xopen(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : errno;
	xclose(&fd);
	return 0;
}

static int open_database(struct sqlite_conn *c, const char *path, int flags)
{
	int code, unmade = 0;

	if (flags & SQLITE_OPEN_CREATE)
		unmade = make_private_file(path);
	code = c->api->open_v2(path, &c->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK)
		c->api->busy_handler(c->db, on_busy, c);
	errno = unmade; /* SQLite would only report that there is no file to read */
	return code;
}

struct options {
	int flags;
	lua_Integer busy_ms;
};

/* Read the table at index 2, which is optional. */
static struct options read_options(lua_State *L)
{
	struct options o = { SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, BUSY_MS_DEFAULT };

	if (lua_isnoneornil(L, 2))
		return o;
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "readonly");
	lua_getfield(L, 2, "uri");
	lua_getfield(L, 2, "busy_ms");
	if (lua_toboolean(L, -3))
		o.flags = SQLITE_OPEN_READONLY;
	if (lua_toboolean(L, -2))
		o.flags |= SQLITE_OPEN_URI;
	o.busy_ms = luaL_optinteger(L, -1, BUSY_MS_DEFAULT);
	luaL_argcheck(L, o.busy_ms >= 0 && o.busy_ms <= BUSY_MS_MAX, 2, "busy_ms must be 0 to 60000");
	return o;
}

static int l_open(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *why = NULL;
	struct options o = read_options(L);
	const struct sqlite_api *api = sqlite_api_open(&why);
	struct sqlite_conn *c;

	if (api == NULL)
		return fail_with(L, why, "LIBRARY");
	c = new_conn(L, api, o.busy_ms);
	if (open_database(c, path, o.flags) == SQLITE_OK)
		return 1;
	if (c->db == NULL)
		return fail_with(L, "out of memory", "SQLITE_NOMEM");
	return sqlite_fail(L, c);
}

static const luaL_Reg functions[] = {
	{ "open", l_open },
	{ NULL, NULL },
};

int luaopen_runner_sqlite(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
