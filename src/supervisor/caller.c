/*
 * caller.c: what the caller's environment says of the caller. Runs in the supervisor.
 */
#include "caller.h"

#include <stdlib.h>
#include <string.h>

#define TRACE_ID_MAX 128

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

/* RUNNER_PLAIN, as lua/core/surroundings.lua reads it. */
static bool wants_plain(void)
{
	const char *v = getenv("RUNNER_PLAIN");

	return v && *v && strcmp(v, "0") != 0 && strcmp(v, "false") != 0;
}

static bool is_dumb(const char *term)
{
	return term && strcmp(term, "dumb") == 0;
}

/* An identifier of somebody else's, repeated in our answers: plain text only. */
static const char *trace_id(void)
{
	const char *v = is_set("TOOL_TRACE_ID") ? getenv("TOOL_TRACE_ID") : getenv("RUNNER_TRACE_ID");

	if (!v || !*v || strlen(v) > TRACE_ID_MAX)
		return NULL;
	for (const char *c = v; *c; c++)
		if (*c < ' ' || *c > '~')
			return NULL;
	return v;
}

void caller_read(struct launch *launch)
{
	launch->ci = is_set("CI") || is_set("GITHUB_ACTIONS") || is_set("JENKINS_URL");
	launch->no_color = getenv("NO_COLOR") || launch->ci || is_dumb(getenv("TERM")) || wants_plain();
	launch->person = launch->stdin_is_tty && launch->stdout_is_tty && !launch->ci;
	launch->headless = !launch->stdout_is_tty || launch->ci || is_set("SSH_TTY") ||
	                   !(is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
	launch->log_kept = is_set("RUNNER_LOG_KEPT");
	launch->trace_id = trace_id();
	launch->format = launch->stdout_is_tty && !launch->ci ? FORMAT_TEXT : FORMAT_JSON;
	launch->exit_table = name_parse(NAMES_EXIT_TABLE, getenv("RUNNER_EXIT_TABLE"));
}
