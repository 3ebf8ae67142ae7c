/*
 * profile_stack.h: the Lua stack as one line of text: its frames, the outermost first, "a;b;c". Private
 * to profile.c.
 */
#ifndef RUNNER_PROFILE_STACK_H
#define RUNNER_PROFILE_STACK_H

#include <lua.h>

#include "../common/base.h"

#define PROFILE_STACK_MAX 8192 /* bytes; what is longer is cut */

struct text {
	char bytes[PROFILE_STACK_MAX];
	size_t used;
};

/* Append a name as a frame of its own. */
void profile_add_name(struct text *out, const char *name);
/* Append the frames of all coroutines that run, without the innermost `skipped` functions; of the library's
 * frames around the script none, if `of_script`. It takes no memory of Lua's. */
void profile_add_stack(struct text *out, bool of_script, int skipped);

#endif
