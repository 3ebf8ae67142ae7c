/*
 * tested.h: what is different in a call that `runner test` makes (engine/test_page.h).
 */
#ifndef RUNNER_TESTED_H
#define RUNNER_TESTED_H

#include <lua.h>

/* os.time() and os.date() follow the clock of the test, and the lines that run below its root are noted. */
void tested_init(lua_State *L);

#endif
