/*
 * standard.c: the caller's stdin and stdout, which are unused until a command that declares
 * them begins to run. Runs in the worker.
 */
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/os.h"
#include "inert.h"
#include "known.h"
#include "worker_launch.h"

#define CHUNK 65536

static off_t used; /* bytes of a file on stdin that were not the command's */

static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int copy_rest(int from, off_t at, int to)
{
	char chunk[CHUNK];
	ssize_t n;

	while ((n = pread(from, chunk, sizeof(chunk), at)) > 0) {
		if (xwrite_all(to, chunk, (size_t)n) < 0)
			return -1;
		at += n;
	}
	return n < 0 || lseek(to, 0, SEEK_SET) < 0 ? -1 : 0;
}

/* What is behind the used bytes, in a file of its own: who has it can't read the others. */
static void take_rest(const struct launch *launch)
{
	int rest = os_memory_file();

	if (rest < 0 || copy_rest(launch->stdin_fd, launch->stdin_offset + used, rest) < 0) {
		xclose(&rest);
		rest = xopen_null();
	}
	dup2(rest, 0);
	xclose(&rest);
}

/* The caller's stdin becomes ours; a file is read from where the caller left it. */
static void take_stdin(void)
{
	const struct launch *launch = worker_launch();
	bool file = launch->stdin_fd >= 0 && is_file(launch->stdin_fd);

	if (launch->stdin_fd < 0)
		return;
	if (file && used > 0) {
		take_rest(launch);
		return;
	}
	if (file)
		lseek(launch->stdin_fd, launch->stdin_offset, SEEK_SET);
	dup2(launch->stdin_fd, 0);
}

/* take_stdin([wait_ms]): before `run`, what the caller hands over there. false: nothing came
 * within wait_ms, not even its end. */
static int l_take_stdin(lua_State *L)
{
	int wait_ms = (int)luaL_optinteger(L, 1, 0);
	struct pollfd fd = { .fd = 0, .events = POLLIN };

	take_stdin();
	lua_pushboolean(L, wait_ms == 0 || poll(&fd, 1, wait_ms) != 0);
	return 1;
}

/* used_stdin(n): the first n bytes were not the command's, and no reader finds them there from now
 * on. stdin is /dev/null again. */
static int l_used_stdin(lua_State *L)
{
	int null = xopen_null();

	used = (off_t)luaL_checkinteger(L, 1);
	if (null >= 0)
		dup2(null, 0);
	xclose(&null);
	return 0;
}

/* open_stdin(path): a file becomes stdin. true | nil, message */
static int l_open_stdin(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return lua_pushnil(L), lua_pushstring(L, strerror(errno)), 2;
	dup2(fd, 0);
	close(fd);
	lua_pushboolean(L, 1);
	return 1;
}

/* The caller's stdout becomes ours, or is closed: what was written so far is none of it. A
 * terminal stays open: a table asks for its width when the command is done. */
static void take_stdout(bool wants_it)
{
	int fd = worker_launch()->stdout_fd;

	if (fd < 3 || (!wants_it && worker_launch()->stdout_is_tty))
		return;
	if (wants_it) {
		fflush(stdout);
		dup2(fd, 1);
		setvbuf(stdout, NULL, _IONBF, 0);
	}
	close(fd);
}

/* enter_run(stdin, interactive, stdout, project): called just before `run`. Gives the script the
 * caller's stdin and stdout if it declared that. Unless interactive, leaves the terminal's
 * session, so that Ctrl+C reaches the supervisor alone (docs/design.md#terminal). A project
 * of which a command runs is known from now on (known.h). */
static int l_enter_run(lua_State *L)
{
	bool wants_stdin = lua_toboolean(L, 1);
	bool interactive = lua_toboolean(L, 2);

	if (wants_stdin)
		take_stdin();
	take_stdout(lua_toboolean(L, 3));
	inert_dismiss();
	if (lua_type(L, 4) == LUA_TSTRING)
		known_add(lua_tostring(L, 4));
	if (!interactive)
		setsid();
	return 0;
}

/* leave_terminal(): as enter_run of a command that isn't interactive, later. */
static int l_leave_terminal(lua_State *L)
{
	(void)L;
	setsid();
	return 0;
}

/* known(root): has this user called a command of the project in that folder (known.h)? */
static int l_known(lua_State *L)
{
	lua_pushboolean(L, known_has(luaL_checkstring(L, 1)));
	return 1;
}

static const luaL_Reg functions[] = {
	{ "enter_run", l_enter_run },
	{ "known", l_known },
	{ "leave_terminal", l_leave_terminal },
	{ "open_stdin", l_open_stdin },
	{ "take_stdin", l_take_stdin },
	{ "used_stdin", l_used_stdin },
	{ NULL, NULL },
};

void standard_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
