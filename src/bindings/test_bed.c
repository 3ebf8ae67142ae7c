/*
 * test_bed.c: what `runner test` needs, in Lua: `require "runner.test_bed"`. Runs in the worker of
 * a test run. No call here blocks.
 *
 *   test_bed.page(root) → page | nil, message, NAME    memory shared with one call (engine/test_page.h);
 *                                      root: the lines of files below it are noted, "": of none
 *   page:waited_ms()                   how far the waits of the call have moved its clock
 *   page:lines() → { [path] = { line, … } }
 *   page:close()
 *   test_bed.variables() → { name, … }  of our environment, as a program of ours would inherit them
 *   test_bed.listen() → listener, port | nil, message, NAME      TCP, on 127.0.0.1, any free port
 *   listener:accept() → connection | nil, "wait" | nil, message, NAME
 *   connection:read() → bytes, "" at the end | nil, "wait" | nil, message, NAME
 *   connection:write(text, from) → count of bytes from there on, 0: wait | nil, message, NAME
 *   test_bed.terminal() → terminal | nil, message, NAME      80 columns, for process.start{ terminal = … }
 *   terminal:started()                 the program has its end: ours of it is closed
 *   terminal:read(), terminal:write(text, from)              what it shows; what a person types
 *   :fd()                              of listeners, connections and terminals, for scheduler.ready
 *   :close()
 */
#include "test_bed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <lauxlib.h>
#include <netinet/in.h>
#include <string.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/errno_name.h"
#include "../common/xio.h"
#include "../engine/test_page.h"
#include "bindings.h"

#define PAGE_TYPE "runner.test_page"
#define TERMINAL_TYPE "runner.test_terminal"
#define SOCKET_TYPE "runner.test_socket"
#define BACKLOG 64
#define CHUNK 65536

static int fail(lua_State *L)
{
	int number = errno;

	lua_pushnil(L);
	if (number == EAGAIN || number == EINTR)
		return lua_pushliteral(L, "wait"), 2;
	lua_pushstring(L, strerror(number));
	lua_pushstring(L, errno_name(number));
	return 3;
}

/* --- pages ------------------------------------------------------------------------------- */

struct shared {
	int fd;
	struct test_page *page;
};

static struct shared *check_page(lua_State *L, int index)
{
	return luaL_checkudata(L, index, PAGE_TYPE);
}

int test_bed_descriptor(lua_State *L, int index)
{
	return check_page(L, index)->fd;
}

static int l_page(lua_State *L)
{
	const char *root = luaL_optstring(L, 1, "");
	struct shared *s = lua_newuserdatauv(L, sizeof(*s), 0);

	*s = (struct shared){ .fd = -1 };
	luaL_setmetatable(L, PAGE_TYPE);
	s->fd = test_page_make(root, &s->page);
	return s->fd < 0 ? fail(L) : 1;
}

static int page_waited_ms(lua_State *L)
{
	const struct shared *s = check_page(L, 1);

	lua_pushinteger(L, s->page ? (s->page->later + 500000) / 1000000 : 0);
	return 1;
}

static void push_lines(lua_State *L, const struct test_file *file)
{
	lua_Integer n = 0;

	lua_newtable(L);
	for (int i = 0; i < TEST_PAGE_LINES; i++)
		if (file->ran[i / 8] & 1 << i % 8) {
			lua_pushinteger(L, i + 1);
			lua_rawseti(L, -2, ++n);
		}
}

/* The call that wrote it is over; even so, nothing of it is trusted to end. */
static int page_lines(lua_State *L)
{
	const struct shared *s = check_page(L, 1);

	lua_newtable(L);
	for (int i = 0; s->page && i < TEST_PAGE_FILES && s->page->files[i].path[0]; i++) {
		const struct test_file *file = &s->page->files[i];

		lua_pushlstring(L, file->path, strnlen(file->path, sizeof(file->path)));
		push_lines(L, file);
		lua_rawset(L, -3);
	}
	return 1;
}

static int page_close(lua_State *L)
{
	struct shared *s = check_page(L, 1);

	test_page_release(&s->fd, &s->page);
	return 0;
}

/* --- the environment ---------------------------------------------------------------------- */

extern char **environ;

static int l_variables(lua_State *L)
{
	lua_newtable(L);
	for (int i = 0; environ && environ[i]; i++) {
		lua_pushlstring(L, environ[i], strcspn(environ[i], "="));
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* --- sockets ----------------------------------------------------------------------------- */

static int *check_socket(lua_State *L)
{
	return luaL_checkudata(L, 1, SOCKET_TYPE);
}

/* A place for a descriptor, so that nothing leaks when Lua raises. */
static int *new_socket(lua_State *L)
{
	int *fd = lua_newuserdatauv(L, sizeof(*fd), 0);

	*fd = -1;
	luaL_setmetatable(L, SOCKET_TYPE);
	return fd;
}

static int l_listen(lua_State *L)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int *fd = new_socket(L);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(*fd, BACKLOG) < 0 ||
	    getsockname(*fd, (struct sockaddr *)&at, &size) < 0)
		return fail(L);
	lua_pushinteger(L, ntohs(at.sin_port));
	return 2;
}

static int socket_accept(lua_State *L)
{
	int from = *check_socket(L), *fd = new_socket(L);

	*fd = accept4(from, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return *fd < 0 ? fail(L) : 1;
}

static int socket_read(lua_State *L)
{
	char chunk[CHUNK];
	ssize_t n = recv(*check_socket(L), chunk, sizeof(chunk), 0);

	if (n < 0)
		return fail(L);
	lua_pushlstring(L, chunk, (size_t)n);
	return 1;
}

static int socket_write(lua_State *L)
{
	int fd = *check_socket(L);
	size_t n, from;
	const char *text = luaL_checklstring(L, 2, &n);
	ssize_t put;

	from = (size_t)luaL_optinteger(L, 3, 1) - 1;
	luaL_argcheck(L, from <= n, 3, "behind the end of the text");
	put = send(fd, text + from, n - from, MSG_NOSIGNAL);
	if (put < 0 && errno != EAGAIN)
		return fail(L);
	lua_pushinteger(L, MAX_OF(put, 0));
	return 1;
}

static int socket_fd(lua_State *L)
{
	lua_pushinteger(L, *check_socket(L));
	return 1;
}

static int socket_close(lua_State *L)
{
	xclose(check_socket(L));
	return 0;
}

/* --- terminals --------------------------------------------------------------------------- */

struct terminal {
	int ours, its;
};

static struct terminal *check_terminal(lua_State *L, int index)
{
	return luaL_checkudata(L, index, TERMINAL_TYPE);
}

int test_bed_terminal(lua_State *L, int index)
{
	return check_terminal(L, index)->its;
}

static int l_terminal(lua_State *L)
{
	struct terminal *t = lua_newuserdatauv(L, sizeof(*t), 0);
	int end[2];

	*t = (struct terminal){ -1, -1 };
	luaL_setmetatable(L, TERMINAL_TYPE);
	if (xopen_terminal(end, 80) < 0)
		return fail(L);
	*t = (struct terminal){ .ours = end[0], .its = end[1] };
	return 1;
}

static int terminal_started(lua_State *L)
{
	xclose(&check_terminal(L, 1)->its);
	return 0;
}

/* EIO: no process has the other end any more. */
static int terminal_read(lua_State *L)
{
	char chunk[4096];
	ssize_t n = xread(check_terminal(L, 1)->ours, chunk, sizeof(chunk));

	if (n < 0 && errno != EIO)
		return fail(L);
	lua_pushlstring(L, chunk, n < 0 ? 0 : (size_t)n);
	return 1;
}

static int terminal_write(lua_State *L)
{
	const struct terminal *t = check_terminal(L, 1);
	size_t n, from;
	const char *text = luaL_checklstring(L, 2, &n);
	ssize_t put;

	from = (size_t)luaL_optinteger(L, 3, 1) - 1;
	luaL_argcheck(L, from <= n, 3, "behind the end of the text");
	put = write(t->ours, text + from, n - from);
	if (put < 0 && errno != EAGAIN)
		return fail(L);
	lua_pushinteger(L, MAX_OF(put, 0));
	return 1;
}

static int terminal_fd(lua_State *L)
{
	lua_pushinteger(L, check_terminal(L, 1)->ours);
	return 1;
}

static int terminal_close(lua_State *L)
{
	struct terminal *t = check_terminal(L, 1);

	xclose(&t->its);
	xclose(&t->ours);
	return 0;
}

/* --- registration ------------------------------------------------------------------------ */

static const luaL_Reg page_methods[] = {
	{ "close", page_close },
	{ "lines", page_lines },
	{ "waited_ms", page_waited_ms },
	{ NULL, NULL },
};

static const luaL_Reg socket_methods[] = {
	{ "accept", socket_accept },
	{ "close", socket_close },
	{ "fd", socket_fd },
	{ "read", socket_read },
	{ "write", socket_write },
	{ NULL, NULL },
};

static const luaL_Reg terminal_methods[] = {
	{ "close", terminal_close },
	{ "fd", terminal_fd },
	{ "read", terminal_read },
	{ "started", terminal_started },
	{ "write", terminal_write },
	{ NULL, NULL },
};

static const luaL_Reg functions[] = {
	{ "listen", l_listen },
	{ "page", l_page },
	{ "terminal", l_terminal },
	{ "variables", l_variables },
	{ NULL, NULL },
};

static void add_type(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction close)
{
	luaL_newmetatable(L, name);
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, close);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, close);
	lua_setfield(L, -2, "__close");
	lua_pop(L, 1);
}

int luaopen_runner_test_bed(lua_State *L)
{
	add_type(L, PAGE_TYPE, page_methods, page_close);
	add_type(L, TERMINAL_TYPE, terminal_methods, terminal_close);
	add_type(L, SOCKET_TYPE, socket_methods, socket_close);
	luaL_newlib(L, functions);
	return 1;
}
