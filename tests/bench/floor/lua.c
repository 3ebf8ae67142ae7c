/*
 * lua: the least that a supervised Lua script costs: the worker has a Lua state and its standard libraries.
 */

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "pair.h"

static int work(void)
{
	lua_State *L = luaL_newstate();
	if (L == NULL)
		return EXIT_FAILURE;
	luaL_openlibs(L);
	return EXIT_SUCCESS;
}

int main(void)
{
	return pair(work);
}
