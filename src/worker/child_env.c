/*
 * child_env.c: sets variables of the environment: those of child_env.def, once before `run`,
 * and others by name; says whether the caller has set one of ours. Runs in the worker. setenv(3)
 * would walk over the environment for each of them, and copy and index what it sets; that took a
 * tenth of a short command's time.
 */
#include "child_env.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/base.h"
#include "worker_launch.h"

#define SPARE 8 /* for variables that come one by one */

enum when { ALWAYS, NO_COLOR, UNSEEN, NO_PERSON, LOCALE, WHEN_COUNT };

static const struct {
	enum when when;
	char entry[40];
} rows[] = {
#define CHILD_ENV(when, name, value, meaning) { when, name "=" value },
#include "child_env.def"
};

/* --- putting ------------------------------------------------------------------------ */

static char **own; /* the list of variables, once we have put one */
static size_t own_size;

static bool have_same_name(const char *a, const char *b)
{
	while (*a == *b && *a != '=' && *a != '\0')
		a++, b++;
	return *a == '=' && *b == '=';
}

/* Which names there are, by their first letters: most variables are none of them. */
static unsigned letter(const char *entry)
{
	return 1U << ((unsigned char)entry[0] & 31);
}

/* Take the entry of a variable's name; NULL: there is none. */
static const char *take_entry(const char **entries, size_t count, const char *variable)
{
	for (size_t i = 0; i < count; i++) {
		const char *entry = entries[i];

		if (entry && have_same_name(variable, entry)) {
			entries[i] = NULL;
			return entry;
		}
	}
	return NULL;
}

/* The list gets room for `more` variables; it is ours from then on. */
static int make_room(size_t more)
{
	size_t n = 0;
	char **fresh;

	while (environ && environ[n])
		n++;
	if (environ && environ == own && n + more < own_size)
		return 0;
	fresh = malloc((n + more + SPARE + 1) * sizeof(*fresh));
	if (!fresh)
		return -1;
	for (size_t i = 0; i < n; i++)
		fresh[i] = environ[i];
	fresh[n] = NULL;
	free(own); /* ours alone: setenv(3) makes a list of its own */
	environ = own = fresh;
	own_size = n + more + SPARE + 1;
	return 0;
}

int child_env_put(const char **entries, size_t count)
{
	unsigned letters = 0;
	size_t n = 0;

	if (make_room(count) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		letters |= entries[i] ? letter(entries[i]) : 0;
	for (; environ[n]; n++) {
		const char *entry = letters & letter(environ[n]) ? take_entry(entries, count, environ[n]) : NULL;

		if (entry)
			environ[n] = (char *)entry;
	}
	for (size_t i = 0; i < count; i++)
		if (entries[i])
			environ[n++] = (char *)entries[i];
	environ[n] = NULL;
	return 0;
}

static void take_out(const char *name, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; environ && environ[i]; i++)
		if (environ[i][0] != name[0] || strncmp(environ[i], name, n) != 0 || environ[i][n] != '=')
			environ[kept++] = environ[i];
	if (environ && environ[kept])
		environ[kept] = NULL;
}

int child_env_set(const char *name, const char *value)
{
	size_t n = strlen(name);
	const char *entry;
	char *copy;
	int done;

	if (n == 0 || strchr(name, '=')) {
		errno = EINVAL;
		return -1;
	}
	if (!value)
		return take_out(name, n), 0;
	copy = malloc(n + strlen(value) + 2);
	if (!copy)
		return -1;
	stpcpy(stpcpy(stpcpy(copy, name), "="), value);
	entry = copy;
	done = child_env_put(&entry, 1);
	if (done < 0)
		free(copy);
	return done;
}

/* --- before `run` ----------------------------------------------------------------------- */

int child_env_export(lua_State *L)
{
	const struct launch *caller = worker_launch();
	const char *entries[ARRAY_LEN(rows)] = { NULL };
	bool applies[WHEN_COUNT] = {
		[ALWAYS] = true,
		[NO_COLOR] = caller->no_color || lua_toboolean(L, 1),
		[UNSEEN] = !(caller->seen || caller->in_lines) || caller->ci,
		[NO_PERSON] = !caller->person,
		[LOCALE] = !lua_toboolean(L, 2),
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (applies[rows[i].when])
			entries[i] = rows[i].entry;
	(void)child_env_put(entries, ARRAY_LEN(entries));
	if (caller->trace_id)
		(void)child_env_set("TOOL_TRACE_ID", caller->trace_id);
	if (!lua_toboolean(L, 3))
		(void)child_env_set("RUNNER_NEEDS", NULL);
	(void)child_env_set("RUNNER_TERMINAL", NULL);
	return 0;
}

/* --- what the caller has set -------------------------------------------------------------- */

#define OURS "RUNNER_"

/* What a run hands to its children, and where Lua comes from: no flag has these. */
static const char *const not_settings[] = { OURS "DEADLINE_MS=", OURS "LUA=", OURS "OUTER_RETRIES=", OURS "RETRY_BUDGET=", OURS "TEMPDIR=" };

static bool is_setting(const char *variable)
{
	const char *value = strchr(variable, '=');

	for (size_t i = 0; i < ARRAY_LEN(not_settings); i++)
		if (strncmp(variable, not_settings[i], strlen(not_settings[i])) == 0)
			return false;
	return value && value[1] != '\0';
}

int child_env_is_configured(lua_State *L)
{
	bool found = false;

	for (size_t i = 0; !found && environ && environ[i]; i++)
		found = environ[i][0] == OURS[0] && strncmp(environ[i], OURS, strlen(OURS)) == 0 && is_setting(environ[i]);
	lua_pushboolean(L, found);
	return 1;
}
