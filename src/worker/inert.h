/*
 * inert.h: what a Lua file declares, without doing what it says: it runs in a state of its own with
 * no access to files, programs or C modules (lua/project/inert_state.lua), in a process of its own whose
 * processor time, instructions and memory are bounded. For files of a project that its user has
 * not called yet (docs/design.md#known-projects).
 *
 * Runs in the worker; the process is a child that wait(2) does not see, and it dies with the worker.
 */
#ifndef RUNNER_INERT_H
#define RUNNER_INERT_H

#include <lua.h>

/* Add read_inert(text, name, path) to the table on top of the stack. */
void inert_register(lua_State *L);
/* End the process, if there is one. It starts again when it is needed. */
void inert_dismiss(void);

#endif
