/*
 * confinement.h: what a command and all that it starts may reach. Functions of
 * require "runner.host"; resource_limits.c registers them.
 */
#ifndef RUNNER_CONFINEMENT_H
#define RUNNER_CONFINEMENT_H

#include <lua.h>

struct bounds;

/* confine_abi(): the version of Landlock that the kernel has (0: none), and whether it has seccomp. */
int confinement_abi(lua_State *L);

/*
 * bounds(spec): what a process can be confined to: a handle, or nil, message. { write =, read = } are true for what is
 * confined; `sockets` is "tcp", "tcp_udp", "given" or "local" where the network is. The paths of { writable = {…},
 * lockable = {…}, readable = {…} } and TCP connections to { ports = {…} } stay within reach; paths that don't exist are
 * passed over. The capabilities of { capabilities = } are kept, bit by bit.
 */
int confinement_make(lua_State *L);
/* Those of a handle, which owns them. */
const struct bounds *confinement_bounds(lua_State *L, int index);

/*
 * confine(spec): confines this process to that, irrevocably, as far as the kernel can: true; or nil, message. Where
 * spec.hosts names some ("name" or "name:port"), connections to them are still made (engine/gate.h).
 */
int confinement_enter(lua_State *L);

#endif
