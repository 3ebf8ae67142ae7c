/*
 * caller.c: what the caller's environment says of the caller. Runs in the supervisor.
 */
#include "caller.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define TRACE_ID_MAX 128

#define VARIABLES(ROW) \
	ROW(CI) ROW(DISPLAY) ROW(GITHUB_ACTIONS) ROW(JENKINS_URL) ROW(NO_COLOR) ROW(RUNNER_EXIT_TABLE) ROW(RUNNER_LOG_KEPT) \
	ROW(RUNNER_PLAIN) ROW(RUNNER_TERMINAL) ROW(RUNNER_TRACE_ID) ROW(SSH_TTY) ROW(TERM) ROW(TOOL_TRACE_ID) ROW(WAYLAND_DISPLAY)

#define INDEX(name) AT_##name,
enum { VARIABLES(INDEX) COUNT };

#define NAME(name) #name "=",
static const char *const names[] = { VARIABLES(NAME) };

/* What the environment has for each, NULL: nothing. */
struct variables {
	const char *values[COUNT];
};

static unsigned letter(const char *entry)
{
	return 1U << ((unsigned char)entry[0] & 31);
}

static void take(struct variables *v, const char *entry)
{
	for (int i = 0; i < COUNT; i++)
		if (entry[0] == names[i][0] && !v->values[i] && strncmp(entry, names[i], strlen(names[i])) == 0)
			v->values[i] = entry + strlen(names[i]);
}

/* All of them in one walk over the environment, however large it is. */
static void read_variables(struct variables *v)
{
	unsigned letters = 0;

	*v = (struct variables){ { NULL } };
	for (int i = 0; i < COUNT; i++)
		letters |= letter(names[i]);
	for (char **entry = environ; entry && *entry; entry++)
		if (letters & letter(*entry))
			take(v, *entry);
}

static bool is_set(const struct variables *v, int at)
{
	return v->values[at] && *v->values[at];
}

/* RUNNER_TERMINAL: a call that another one needs has the terminal as that has it ("own"), though stdout is a pipe; or its
 * stderr is one only for colours and width ("lines"). */
static bool is_called(const struct variables *v, const char *how)
{
	return v->values[AT_RUNNER_TERMINAL] && strcmp(v->values[AT_RUNNER_TERMINAL], how) == 0;
}

/* RUNNER_PLAIN, as lua/core/requirements.lua reads it. */
static bool wants_plain(const char *text)
{
	return text && *text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

static bool is_dumb(const char *term)
{
	return term && strcmp(term, "dumb") == 0;
}

/* An identifier of another program's, repeated in our answers: plain text only. */
static const char *trace_id(const struct variables *v)
{
	const char *id = v->values[is_set(v, AT_TOOL_TRACE_ID) ? AT_TOOL_TRACE_ID : AT_RUNNER_TRACE_ID];

	if (!id || !*id || strlen(id) > TRACE_ID_MAX)
		return NULL;
	for (const char *c = id; *c; c++)
		if (*c < ' ' || *c > '~')
			return NULL;
	return id;
}

void caller_read(struct launch *launch)
{
	struct variables v;

	read_variables(&v);
	launch->ci = is_set(&v, AT_CI) || is_set(&v, AT_GITHUB_ACTIONS) || is_set(&v, AT_JENKINS_URL);
	launch->no_color = v.values[AT_NO_COLOR] || launch->ci || is_dumb(v.values[AT_TERM]) || wants_plain(v.values[AT_RUNNER_PLAIN]);
	launch->in_lines = launch->stderr_is_tty && is_called(&v, "lines");
	launch->seen = launch->stdout_is_tty || (launch->stderr_is_tty && is_called(&v, "own"));
	launch->person = launch->stdin_is_tty && launch->seen && !launch->ci;
	launch->headless = !launch->seen || launch->ci || is_set(&v, AT_SSH_TTY) ||
	                   !(is_set(&v, AT_DISPLAY) || is_set(&v, AT_WAYLAND_DISPLAY));
	launch->log_kept = is_set(&v, AT_RUNNER_LOG_KEPT);
	launch->trace_id = trace_id(&v);
	launch->format = launch->stdout_is_tty && !launch->ci ? FORMAT_TEXT : FORMAT_JSON;
	launch->exit_table = name_parse(NAMES_EXIT_TABLE, v.values[AT_RUNNER_EXIT_TABLE]);
}
