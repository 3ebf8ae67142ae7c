/*
 * child_env.h: host.export_environment, the environment of what a command starts.
 */
#ifndef RUNNER_CHILD_ENV_H
#define RUNNER_CHILD_ENV_H

#include <lua.h>

/* export_environment(no_color, preserve_locale): set the variables of child_env.def that
 * apply to this caller, for this process and all that it starts. */
int child_env_export(lua_State *L);

#endif
