/*
 * sqlite_api.h: libsqlite3, opened on first use (library.h), so that commands
 * without a database don't pay for it. Private to the sqlite binding. Functions
 * are called through the table; the headers are needed at build time only.
 */
#ifndef RUNNER_SQLITE_API_H
#define RUNNER_SQLITE_API_H

#include <sqlite3.h>

#include "../common/base.h"

/* Every function that we call: SQLITE_FUNCTION(name without the prefix sqlite3_). */
#define SQLITE_FUNCTIONS(SQLITE_FUNCTION)                                                          \
	SQLITE_FUNCTION(bind_double)                                                               \
	SQLITE_FUNCTION(bind_int64)                                                                \
	SQLITE_FUNCTION(bind_null)                                                                 \
	SQLITE_FUNCTION(bind_parameter_count)                                                      \
	SQLITE_FUNCTION(bind_text64)                                                               \
	SQLITE_FUNCTION(busy_handler)                                                              \
	SQLITE_FUNCTION(changes)                                                                   \
	SQLITE_FUNCTION(clear_bindings)                                                            \
	SQLITE_FUNCTION(close_v2)                                                                  \
	SQLITE_FUNCTION(column_bytes)                                                              \
	SQLITE_FUNCTION(column_count)                                                              \
	SQLITE_FUNCTION(column_double)                                                             \
	SQLITE_FUNCTION(column_int64)                                                              \
	SQLITE_FUNCTION(column_name)                                                               \
	SQLITE_FUNCTION(column_text)                                                               \
	SQLITE_FUNCTION(column_type)                                                               \
	SQLITE_FUNCTION(errmsg)                                                                    \
	SQLITE_FUNCTION(exec)                                                                      \
	SQLITE_FUNCTION(extended_errcode)                                                          \
	SQLITE_FUNCTION(file_control)                                                              \
	SQLITE_FUNCTION(finalize)                                                                  \
	SQLITE_FUNCTION(get_autocommit)                                                            \
	SQLITE_FUNCTION(libversion)                                                                \
	SQLITE_FUNCTION(next_stmt)                                                                 \
	SQLITE_FUNCTION(open_v2)                                                                   \
	SQLITE_FUNCTION(prepare_v2)                                                                \
	SQLITE_FUNCTION(reset)                                                                     \
	SQLITE_FUNCTION(step)                                                                      \
	SQLITE_FUNCTION(system_errno)

struct sqlite_api {
#define SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
	SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/* The opened library, the same pointer every time; NULL, with the loader's
 * reason in *why (static memory), when there is none that we can use. */
const struct sqlite_api *sqlite_api_open(const char **why);

/*
 * The name of a result code, "SQLITE_BUSY"; never NULL. Extended codes that callers
 * distinguish have their own names (SQLITE_CONSTRAINT_UNIQUE), others that of their
 * primary code. `os_error` is the errno of an I/O error: no space and too large a
 * file become SQLITE_FULL, no permission SQLITE_PERM, whatever the operation.
 */
const char *sqlite_error_name(int extended, int os_error);
/* Does the code stand for a system error, so that errno says more? */
bool sqlite_error_is_system(int extended);

#endif
