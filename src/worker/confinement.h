/*
 * confinement.h: what a command and all that it starts may reach of files and network. Functions
 * of require "runner.host"; resource_limits.c registers them.
 */
#ifndef RUNNER_CONFINEMENT_H
#define RUNNER_CONFINEMENT_H

#include <lua.h>

/* confine_abi(): the version of Landlock that the kernel has; 0: none. */
int confinement_abi(lua_State *L);

/*
 * confine(spec): { write =, read =, network = } are true for what is confined, and the paths of
 * { writable = {…}, readable = {…} } stay within reach; those that don't exist are passed over.
 * Confines this process, irrevocably, as far as the kernel can: true; or nil, message.
 */
int confinement_enter(lua_State *L);

#endif
