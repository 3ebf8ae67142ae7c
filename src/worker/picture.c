/*
 * picture.c: hands the terminal over (picture.h). Runs in the worker; the supervisor alone
 * draws, and answers each TERMINAL frame with `change` by one byte.
 */
#include "picture.h"

#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/xio.h"
#include "channel.h"
#include "worker_launch.h"

#define ANSWER_MS 1000 /* a supervisor that can't answer must not hold the command */

static bool drawn; /* there may be lines */

/* --- lending ------------------------------------------------------------------------ */

static void await_answer(int fd)
{
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	char byte;

	if (poll(&answer, 1, ANSWER_MS) == 1)
		(void)xread(fd, &byte, 1);
}

void picture_lend(int change)
{
	if (drawn && channel_terminal(change, NULL, 0) == 0)
		await_answer(worker_launch()->frame_fd);
}

static int l_lend_terminal(lua_State *L)
{
	picture_lend((int)luaL_checkinteger(L, 1));
	return 0;
}

/* --- io.stderr ------------------------------------------------------------------------ */

static ssize_t write_above(void *unused UNUSED, const char *bytes, size_t n)
{
	size_t piece = MIN_OF(n, (size_t)60000);

	return channel_terminal(0, bytes, piece) == 0 ? (ssize_t)piece : write(2, bytes, n);
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

void picture_begin(lua_State *L)
{
	int top = lua_gettop(L);

	if (drawn || !worker_launch()->stderr_is_tty)
		return;
	drawn = true;
	take_stderr(L);
	lua_settop(L, top);
}

void picture_register(lua_State *L)
{
	lua_pushcfunction(L, l_lend_terminal);
	lua_setfield(L, -2, "lend_terminal");
}
