/*
 * yaml_events.c: require "runner.yaml_events": the C module of lua-yaml where it is linked (the
 * static build), else false. Runs in the worker.
 *
 *   parser(text), emitter()   of lua-yaml: libyaml's events
 */
#include "bindings.h"

#ifdef RUNNER_STATIC
int luaopen_runner_yaml_events(lua_State *L)
{
	return luaopen_yaml(L);
}
#else
int luaopen_runner_yaml_events(lua_State *L)
{
	lua_pushboolean(L, 0);
	return 1;
}
#endif
