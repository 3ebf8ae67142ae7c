/*
 * sqlite.c: require "runner.sqlite": connections to SQLite databases, and
 * transactions on them. Runs in the worker. A wait for another process's lock
 * blocks in cancel_poll() alone; a cancellation never leaves half a transaction.
 *
 *   open(path[, {readonly=false, busy_ms=5000}])
 *                               conn; a new file has mode 0600; path may be "file:…?immutable=1"
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
#include <lua.h>
#include <string.h>

#include "../common/mono.h"
#include "../common/xio.h"
#include "../worker/cancel.h"
#include "bindings.h"
#include "sqlite_api.h"

/* User value 1 is the cache of statements: SQL → light userdata. */
struct sqlite_conn {
	const struct sqlite_api *api;
	sqlite3 *db; /* NULL: closed */
	int64_t busy_ms;
	mono_t busy_until;   /* deadline of the current wait */
	bool in_transaction; /* its function is running */
	bool in_query;       /* rows are being read */
};

/*
 * Room in the write-ahead log. A sync of a file that has grown also writes the
 * journal of the file system, and waits for that; a sync of bytes that were there before
 * doesn't. So the log grows in doublings, of zeros, before SQLite writes its pages there.
 *
 * SQLite takes zeros behind the last frame for the end of the log, as it does old frames after
 * it has started the log over (https://www.sqlite.org/fileformat2.html#walformat).
 */

#define SMALLEST ((sqlite3_int64)64 << 10) /* a short run isn't worth it */
#define LARGEST ((sqlite3_int64)4 << 20) /* SQLite starts over after 1,000 pages of 4 KiB */
#define CHUNK (64 << 10)

static const unsigned char magic[] = { 0x37, 0x7f, 0x06 }; /* the fourth byte is 0x82 or 0x83 */

/* The open file of the journal, of whatever kind; NULL: there is none. */
static sqlite3_file *journal_of(const struct sqlite_conn *c)
{
	sqlite3_file *file = NULL;
	int code = c->api->file_control(c->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);

	return code == SQLITE_OK && file != NULL && file->pMethods != NULL ? file : NULL;
}

static bool is_log(sqlite3_file *file)
{
	unsigned char head[sizeof(magic) + 1];

	return file->pMethods->xRead(file, head, sizeof(head), 0) == SQLITE_OK &&
	       memcmp(head, magic, sizeof(magic)) == 0;
}

/* No number of frames takes a power of two: a log of that size has been given room, by
 * whomever, and no commit has needed more. */
static sqlite3_int64 next_size(sqlite3_int64 size)
{
	sqlite3_int64 next = SMALLEST;

	while (next < size)
		next *= 2;
	return next;
}

static void extend(sqlite3_file *file, sqlite3_int64 from, sqlite3_int64 to)
{
	static const char zeros[CHUNK];

	for (; from < to; from += CHUNK)
		if (file->pMethods->xWrite(file, zeros, (int)MIN_OF(to - from, CHUNK), from) != SQLITE_OK)
			return; /* SQLite will say so, if it needs the room */
}

/* Make room in the write-ahead log. Inside a transaction that writes, when no other process can
 * extend the file. Best effort. */
static void sqlite_reserve_log(const struct sqlite_conn *c)
{
	sqlite3_file *file = journal_of(c);
	sqlite3_int64 size;

	if (file == NULL || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
		return;
	if (size > SMALLEST && size < LARGEST && size < next_size(size) && is_log(file))
		extend(file, size, next_size(size));
}

/*
 * statements of a connection: prepared once, kept in its cache,
 * given their parameters, stepped to the end and reset before Lua goes on, so
 * that none holds a snapshot of the database.
 */

#define SQL 2
#define FIRST_PARAMETER 3
#define CACHE_MAX 100

/* --- the cache: SQL → statement; [1] counts its entries ------------------------------ */

/* Finalize every statement; the cache must be emptied after it. */
static void sqlite_finalize_all(const struct sqlite_conn *c)
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

/* Push the last call's failure: nil, message, name; returns 3. errno must be the
 * call's, cleared before it. If the attempt was cancelled while waiting for a lock,
 * raises the cancellation instead. */
static int sqlite_fail(lua_State *L, const struct sqlite_conn *c);

/* The open connection at index 1; raises for anything else, and inside a query. */
static struct sqlite_conn *sqlite_check(lua_State *L);

static int sqlite_lua_run(lua_State *L)
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

static int sqlite_lua_rows(lua_State *L)
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

static int sqlite_fail(lua_State *L, const struct sqlite_conn *c)
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

static struct sqlite_conn *sqlite_check(lua_State *L)
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

/* Did another process remove or replace the file? Then our writes would be lost. */
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
	struct options o = { SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, BUSY_MS_DEFAULT };

	if (lua_isnoneornil(L, 2))
		return o;
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "readonly");
	lua_getfield(L, 2, "busy_ms");
	if (lua_toboolean(L, -2))
		o.flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
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
