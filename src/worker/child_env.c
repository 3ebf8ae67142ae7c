/*
 * child_env.c: sets the variables of child_env.def. Runs in the worker, once, before `run`.
 */
#include "child_env.h"

#include <stdlib.h>

#include "worker_launch.h"

enum when { ALWAYS, NO_COLOR, UNSEEN, NO_PERSON, LOCALE, WHEN_COUNT };

static const struct {
	enum when when;
	const char *name, *value;
} rows[] = {
#define CHILD_ENV(when, name, value, meaning) { when, name, value },
#include "child_env.def"
};

int child_env_export(lua_State *L)
{
	const struct launch *caller = worker_launch();
	bool applies[WHEN_COUNT] = {
		[ALWAYS] = true,
		[NO_COLOR] = caller->no_color || lua_toboolean(L, 1),
		[UNSEEN] = !caller->stdout_is_tty || caller->ci,
		[NO_PERSON] = !caller->person,
		[LOCALE] = !lua_toboolean(L, 2),
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (applies[rows[i].when])
			setenv(rows[i].name, rows[i].value, 1);
	if (caller->trace_id)
		setenv("TOOL_TRACE_ID", caller->trace_id, 1);
	return 0;
}
