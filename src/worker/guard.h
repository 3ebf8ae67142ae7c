/*
 * guard.h: ends a worker whose supervisor was killed when a C module has blocked
 * every signal. A worker learns of that death through a signal (cancel.c), which a
 * script can't block but a C module can. So before the first C module is loaded,
 * the worker starts a small process that waits for the supervisor's death and then
 * ends the worker and its children. Plain Lua neither needs it nor pays for it.
 */
#ifndef RUNNER_GUARD_H
#define RUNNER_GUARD_H

#include <lua.h>

/* Make package.loadlib and require's C searchers start the guard first. There is no
 * guard where the system lacks os_fork_unnoticed() or os_watch_process(). */
void guard_init(lua_State *L);
/* loadlib(path, name): package.loadlib without a guard, for those C modules that we load
 * ourselves and know to leave signals and processes alone. */
int guard_lua_loadlib(lua_State *L);
/* End the guard: the worker exits by itself, and nothing may look left behind. Exit
 * handlers call it, too. */
void guard_dismiss(void);

#endif
