/*
 * profile_stack.c: names the functions of the Lua stack (profile_stack.h). Runs in the worker, in a hook or
 * where it begins to wait.
 */
#include "profile_stack.h"

#include <stdio.h>

#include "cancel.h"

#define MAX_FRAMES 100 /* of a coroutine: its innermost ones */
#define MAX_STATES 16  /* coroutines that have resumed each other: the innermost ones */

/* What is too long is cut: a stack that has no end is still a stack. */
static void add(struct text *out, const char *s)
{
	for (; *s && out->used < sizeof(out->bytes) - 1; s++)
		out->bytes[out->used++] = *s == ';' ? ',' : (unsigned char)*s < ' ' ? '?' : *s;
}

static void add_separator(struct text *out)
{
	if (out->used > 0 && out->used < sizeof(out->bytes) - 1)
		out->bytes[out->used++] = ';';
}

void profile_add_name(struct text *out, const char *name)
{
	add_separator(out);
	add(out, name);
}

static bool is_script(const lua_Debug *ar)
{
	return ar->source[0] == '@' && ar->source[1] == '/';
}

/* What was called by its name, where that is known: a tail call has none. */
static const char *name_of_call(const lua_Debug *ar, const char *otherwise)
{
	return ar->name && ar->name[0] != '?' ? ar->name : otherwise;
}

static void add_frame(struct text *out, const lua_Debug *ar)
{
	char line[32];

	add_separator(out);
	if (ar->what[0] == 'C') {
		add(out, name_of_call(ar, "function"));
		add(out, " [C]");
		return;
	}
	add(out, ar->what[0] == 'm' ? "main chunk" : name_of_call(ar, "function"));
	snprintf(line, sizeof(line), ":%d)", ar->linedefined);
	add(out, " (");
	add(out, ar->source[0] == '@' || ar->source[0] == '=' ? ar->source + 1 : "text");
	add(out, ar->what[0] == 'm' ? ")" : line);
}

static int depth_of(lua_State *L)
{
	lua_Debug ar;
	int n = 0;

	while (n < MAX_FRAMES && lua_getstack(L, n, &ar))
		n++;
	return n;
}

/* In `run`, the library's own frames around the script are the same for all, and left out: the
 * outermost level that is the script's, or -1. */
static int first_of_script(lua_State *L, int depth)
{
	lua_Debug ar;

	for (int level = depth - 1; level >= 0; level--)
		if (lua_getstack(L, level, &ar) && lua_getinfo(L, "S", &ar) && is_script(&ar))
			return level;
	return -1;
}

/* Without the innermost `skipped` functions. */
static void add_state(struct text *out, lua_State *L, int skipped, bool *inside)
{
	int depth = depth_of(L), from = *inside ? -1 : first_of_script(L, depth);
	lua_Debug ar;

	if (depth == MAX_FRAMES)
		profile_add_name(out, "(deeper)");
	*inside = *inside || from >= 0;
	for (int level = from >= 0 ? from : depth - 1; level >= skipped; level--)
		if (lua_getstack(L, level, &ar) && lua_getinfo(L, "Sn", &ar))
			add_frame(out, &ar);
}

void profile_add_stack(struct text *out, bool of_script, int skipped)
{
	lua_State *states[MAX_STATES];
	bool inside = !of_script;

	for (int n = cancel_coroutines(states, MAX_STATES) - 1; n >= 0; n--)
		add_state(out, states[n], n == 0 ? skipped : 0, &inside);
}
