/*
 * picture.c: hands the terminal over (picture.h). Runs in the worker; the supervisor alone
 * draws, and answers each TERMINAL frame with `change` by one byte.
 */
#include "picture.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "worker_launch.h"

static bool drawn; /* there may be lines */
static int lent;   /* to how many */

/* --- lending ------------------------------------------------------------------------ */

void picture_lend(int change)
{
	lent += change;
	if (drawn)
		(void)channel_terminal(change, NULL, 0);
}

static int l_lend_terminal(lua_State *L)
{
	picture_lend((int)luaL_checkinteger(L, 1));
	return 0;
}

/* --- io.stderr ------------------------------------------------------------------------ */

/* All of it: stdio takes fewer bytes for an error. */
static ssize_t write_above(void *unused UNUSED, const char *bytes, size_t n)
{
	for (size_t done = 0, piece; done < n; done += piece) {
		piece = MIN_OF(n - done, (size_t)60000);
		if (channel_terminal(0, bytes + done, piece) < 0)
			return 0;
	}
	return (ssize_t)n;
}

static void take_stderr(lua_State *L)
{
	FILE *above = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_above });
	luaL_Stream *stream;

	if (!above)
		return;
	setvbuf(above, NULL, _IONBF, 0);
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	lua_getfield(L, -1, LUA_IOLIBNAME);
	if (lua_istable(L, -1) && lua_getfield(L, -1, "stderr") && (stream = luaL_testudata(L, -1, LUA_FILEHANDLE)) &&
	    stream->f == stderr)
		stream->f = above;
	else
		fclose(above);
}

int picture_above(void)
{
	return drawn ? worker_launch()->above_fd : -1;
}

void picture_begin(lua_State *L)
{
	int top = lua_gettop(L);

	if (drawn || !worker_launch()->stderr_is_tty)
		return;
	drawn = true;
	for (int i = 0; i < lent; i++) /* a program that began before there were lines has it still */
		(void)channel_terminal(1, NULL, 0);
	take_stderr(L);
	lua_settop(L, top);
}

void picture_register(lua_State *L)
{
	lua_pushcfunction(L, l_lend_terminal);
	lua_setfield(L, -2, "lend_terminal");
}
