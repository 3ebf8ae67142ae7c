/*
 * child_env.h: the environment of what a command starts, and host.export_environment, host.is_configured.
 */
#ifndef RUNNER_CHILD_ENV_H
#define RUNNER_CHILD_ENV_H

#include <lua.h>
#include <stddef.h>

/* Put `count` entries "NAME=value" into the environment of this process and of all that it
 * starts, in one walk over it. They are kept as they are, so they must live as long as the
 * process; NULL is no entry. The array is used up. 0, or -1 with ENOMEM: some are missing. */
int child_env_put(const char **entries, size_t count);

/* setenv(3) for one that is copied; without a value, unsetenv(3). */
int child_env_set(const char *name, const char *value);

/* export_environment(no_color, preserve_locale, has_needs): set the variables of child_env.def that
 * apply to this caller, for this process and all that it starts; what a command without needs starts is no
 * part of what another one needs. */
int child_env_export(lua_State *L);

/* is_configured(): may a variable of the environment stand for a flag or a setting of runner's? Empty ones
 * count as not set. */
int child_env_is_configured(lua_State *L);

#endif
