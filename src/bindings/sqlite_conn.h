/*
 * sqlite_conn.h: what the two halves of the sqlite binding share: sqlite.c has
 * connections and transactions, sqlite_query.c statements and their values.
 *
 * Every method has its connection at index 1. Prepared statements belong to
 * their connection and to nobody else, so an error that Lua throws midway
 * leaks none.
 */
#ifndef RUNNER_SQLITE_CONN_H
#define RUNNER_SQLITE_CONN_H

#include <lua.h>

#include "../common/mono.h"
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

/* The open connection at index 1; raises for anything else, and inside a query. */
struct sqlite_conn *sqlite_check(lua_State *L);
/* Push the last call's failure: nil, message, name; returns 3. errno must be the
 * call's, cleared before it. If the attempt was cancelled while waiting for a lock,
 * raises the cancellation instead. */
int sqlite_fail(lua_State *L, const struct sqlite_conn *c);

/* Make room in the write-ahead log. Inside a transaction that writes, when nobody else can
 * extend the file. Best effort. */
void sqlite_reserve_log(const struct sqlite_conn *c);

/* Finalize every statement; the cache must be emptied after it. */
void sqlite_finalize_all(const struct sqlite_conn *c);

/* conn:run(sql, …), conn:rows(sql, …): see sqlite.c */
int sqlite_lua_run(lua_State *L);
int sqlite_lua_rows(lua_State *L);

#endif
