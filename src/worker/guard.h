/*
 * guard.h: the death of the supervisor, where a C module may have shut out every
 * signal. A worker hears of that death by a signal (cancel.c); a script can't
 * block it, a C module can. So before the first C module is loaded, the worker
 * gets a small process beside it that waits for that death alone and then ends
 * the worker's children and the worker. Lua alone never needs it, nor pays for it.
 */
#ifndef RUNNER_GUARD_H
#define RUNNER_GUARD_H

#include <lua.h>

/* Let package.loadlib and require's searchers for C start the guard first. Where
 * the system can't (os_fork_unnoticed, os_watch_process) there is none. */
void guard_init(lua_State *L);
/* loadlib(path, name): package.loadlib without a guard, for those C modules that we load
 * ourselves and know to leave signals and processes alone. */
int guard_lua_loadlib(lua_State *L);
/* The worker ends by itself: nothing may look left behind. Exit handlers call it too. */
void guard_dismiss(void);

#endif
