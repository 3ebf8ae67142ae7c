/*
 * loadlib.h: a C module may block every signal, and so the one by which a worker learns that its
 * supervisor was killed (cancel.c), and may start processes. So before the first one is loaded the
 * supervisor has a guard (supervisor/guard.h), and SIGCHLD is left to the modules (adopted.h).
 */
#ifndef RUNNER_LOADLIB_H
#define RUNNER_LOADLIB_H

#include <lua.h>

/* Make package.loadlib and require's C searchers see to that first. */
void loadlib_init(lua_State *L);
/* loadlib(path, name): package.loadlib without it, for those C modules that we load
 * ourselves and know to leave signals and processes alone. */
int loadlib_plain(lua_State *L);

#endif
