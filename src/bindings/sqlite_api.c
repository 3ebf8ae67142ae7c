/*
 * sqlite_api.c: opens libsqlite3 and names its result codes. Runs in the
 * worker; it knows nothing of Lua or of connections.
 */
#include "sqlite_api.h"

#include <errno.h>

#include "library.h"

#define LIBRARY "libsqlite3.so.0"

static const struct library_symbol SYMBOLS[] = {
#define SQLITE_SYMBOL(name) LIBRARY_SYMBOL(struct sqlite_api, sqlite3_, name),
	SQLITE_FUNCTIONS(SQLITE_SYMBOL)
#undef SQLITE_SYMBOL
};

const struct sqlite_api *sqlite_api_open(const char **why)
{
	static struct sqlite_api api;
	static void *opened;

	if (opened == NULL)
		opened = library_open(LIBRARY, SYMBOLS, ARRAY_LEN(SYMBOLS), &api);
	if (opened != NULL)
		return &api;
	*why = library_why(LIBRARY " lacks a function that runner needs");
	return NULL;
}

/* --- names ------------------------------------------------------------------------- */

#define ROW(code) { code, #code }

static const struct {
	int code;
	const char *name;
} NAMES[] = {
	ROW(SQLITE_CONSTRAINT_FOREIGNKEY),
	ROW(SQLITE_CONSTRAINT_PRIMARYKEY),
	ROW(SQLITE_CONSTRAINT_UNIQUE),
	ROW(SQLITE_READONLY_DBMOVED),
	ROW(SQLITE_ABORT),
	ROW(SQLITE_AUTH),
	ROW(SQLITE_BUSY),
	ROW(SQLITE_CANTOPEN),
	ROW(SQLITE_CONSTRAINT),
	ROW(SQLITE_CORRUPT),
	ROW(SQLITE_ERROR),
	ROW(SQLITE_FULL),
	ROW(SQLITE_INTERNAL),
	ROW(SQLITE_INTERRUPT),
	ROW(SQLITE_IOERR),
	ROW(SQLITE_LOCKED),
	ROW(SQLITE_MISMATCH),
	ROW(SQLITE_MISUSE),
	ROW(SQLITE_NOLFS),
	ROW(SQLITE_NOMEM),
	ROW(SQLITE_NOTADB),
	ROW(SQLITE_PERM),
	ROW(SQLITE_PROTOCOL),
	ROW(SQLITE_RANGE),
	ROW(SQLITE_READONLY),
	ROW(SQLITE_SCHEMA),
	ROW(SQLITE_TOOBIG),
};

static const char *name_of(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
		if (NAMES[i].code == code)
			return NAMES[i].name;
	return NULL;
}

static const struct {
	int number;
	const char *name;
} SYSTEM_NAMES[] = {
	{ ENOSPC, "SQLITE_FULL" }, { EDQUOT, "SQLITE_FULL" }, { EFBIG, "SQLITE_FULL" },
	{ EACCES, "SQLITE_PERM" }, { EPERM, "SQLITE_PERM" },  { EROFS, "SQLITE_PERM" },
};

static const char *system_name(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(SYSTEM_NAMES); i++)
		if (SYSTEM_NAMES[i].number == number)
			return SYSTEM_NAMES[i].name;
	return NULL;
}

bool sqlite_error_is_system(int extended)
{
	int code = extended & 0xff;

	return code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
}

const char *sqlite_error_name(int extended, int os_error)
{
	const char *name = sqlite_error_is_system(extended) ? system_name(os_error) : NULL;

	if (name == NULL)
		name = name_of(extended);
	if (name == NULL)
		name = name_of(extended & 0xff);
	return name != NULL ? name : "SQLITE_ERROR";
}
