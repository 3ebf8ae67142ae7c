/*
 * tty.c: prompts on the controlling terminal: require "runner.terminal". Runs in
 * the worker. lua/ctx/interaction.lua decides whether prompting is allowed.
 *
 *   ask(question, secret, many, path)   the line without its newline | nil, message, CODE;
 *                           `many`: lines up to an empty one or Ctrl+D, without the last newline; `path`: of a terminal
 *                           that is not that of our session
 *   marked(pid)             has something that runner runs started this process (os.h)?
 *   columns()               of the terminal on the caller's stdout, as it is now; nil: it is none
 *
 * The terminal's settings are restored on every path, cancellation included.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/os.h"
#include "../worker/cancel.h"
#include "../worker/channel.h"
#include "../worker/picture.h"
#include "../worker/scratch.h"
#include "../worker/worker_launch.h"
#include "bindings.h"

#define LINE_MAX_BYTES 65536u
#define TEXT_MAX_BYTES (1u << 20)

/* More, as the terminal's line editing delivers it. 0, or -1 with errno: ECANCELED, EPIPE at
 * the end of input (Ctrl+D, hang-up). */
static int read_more(int fd, struct buf *out, size_t most)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char bytes[1024];
	int ready = cancel_poll(&wait, 1, MONO_NEVER);
	ssize_t n;

	if (ready < 0)
		return errno = ready == CANCEL_POLL_CANCELLED ? ECANCELED : errno, -1;
	n = xread(fd, bytes, sizeof(bytes));
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return errno = n < 0 ? errno : EPIPE, -1;
	buf_add(out, bytes, (size_t)n);
	if (out->failed || out->len > most)
		return errno = EFBIG, -1;
	return 0;
}

static bool ends_line(const struct buf *out)
{
	return out->len > 0 && out->data[out->len - 1] == '\n';
}

static int read_line(int fd, struct buf *out)
{
	while (!ends_line(out))
		if (read_more(fd, out, LINE_MAX_BYTES) < 0)
			return -1;
	return 0;
}

#define PASTE_MS 100 /* between two pieces of a text that is pasted */

/* The last line is empty, and nothing comes behind it, as in a text that is pasted. */
static bool ends_text(int fd, const struct buf *out)
{
	struct pollfd more = { .fd = fd, .events = POLLIN };
	bool empty = ends_line(out) && (out->len == 1 || out->data[out->len - 2] == '\n');

	return empty && poll(&more, 1, PASTE_MS) == 0;
}

/* Ends with one newline, like a line. Ctrl+D ends it too, unless nothing has been typed. */
static int read_text(int fd, struct buf *out)
{
	while (!ends_text(fd, out)) {
		if (read_more(fd, out, TEXT_MAX_BYTES) == 0)
			continue;
		if (errno != EPIPE || out->len == 0)
			return -1;
		if (!ends_line(out)) {
			xwrite_all(fd, "\n", 1);
			buf_add_char(out, '\n');
		}
		return 0;
	}
	if (out->len > 1)
		out->len--;
	return 0;
}

static int ask_openly(int fd, const char *question, size_t n, bool many, struct buf *out)
{
	return xwrite_all(fd, question, n) < 0 ? -1 : (many ? read_text : read_line)(fd, out);
}

/* Nothing is echoed from before the question is there: a person who answers it at once is no slower than we are. */
static int ask_secret(int fd, const char *question, size_t n, struct buf *out)
{
	struct termios before, silent;
	int status, saved;

	if (tcgetattr(fd, &before) < 0)
		return -1;
	silent = before;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	silent.c_lflag |= ICANON;
	if (tcsetattr(fd, TCSADRAIN, &silent) < 0)
		return -1;
	status = ask_openly(fd, question, n, false, out);
	saved = errno;
	tcsetattr(fd, TCSADRAIN, &before);
	xwrite_all(fd, "\n", 1);
	errno = saved;
	return status;
}

/* The caller's stdin, if it is that terminal: one of another account (sudo -u) can't be opened anew. -1 with errno. */
static int as_inherited(const char *path)
{
	const int in = worker_launch()->stdin_fd;
	struct stat own, named;

	if (in < 0 || fstat(in, &own) < 0 || stat(path, &named) < 0 || !isatty(in) || own.st_rdev != named.st_rdev)
		return errno = EACCES, -1;
	return fcntl(in, F_DUPFD_CLOEXEC, 3);
}

static int ask_terminal(const char *path, const char *question, size_t n, bool secret, bool many, struct buf *out)
{
	int fd = xopen(path, O_RDWR | O_NOCTTY, 0);
	int status;

	if (fd < 0 && errno == EACCES)
		fd = as_inherited(path);
	if (fd < 0)
		return -1;
	if (strcmp(path, "/dev/tty") != 0)
		tcflush(fd, TCIFLUSH); /* there is no answer yet */
	status = secret ? ask_secret(fd, question, n, out) : ask_openly(fd, question, n, many, out);
	xclose(&fd);
	return status;
}

static int push_failure(lua_State *L, int number)
{
	lua_pushnil(L);
	if (number == EPIPE)
		lua_pushliteral(L, "the terminal reached the end of input");
	else
		lua_pushfstring(L, "can't prompt on the terminal: %s", strerror(number));
	lua_pushliteral(L, "INPUT_REQUIRED");
	return 3;
}

static int ask(lua_State *L)
{
	size_t n;
	const char *question = luaL_checklstring(L, 1, &n);
	const char *path = luaL_optstring(L, 4, "/dev/tty");
	bool secret = lua_toboolean(L, 2), many = lua_toboolean(L, 3);
	struct buf *out = scratch_push(L);
	int status, saved;

	channel_hold(1);
	picture_lend(1);
	status = ask_terminal(path, question, n, secret, many, out);
	saved = errno;
	if (status < 0 && saved == ECANCELED)
		return cancel_raise(L);
	picture_lend(-1);
	channel_hold(-1);
	if (status < 0)
		return push_failure(L, saved);
	lua_pushlstring(L, buf_cstr(out), out->len - 1);
	if (secret)
		memset(out->data, 0, out->len);
	buf_release(out);
	return 1;
}

static int columns(lua_State *L)
{
	struct winsize size;

	if (ioctl(worker_launch()->stdout_fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 0;
	lua_pushinteger(L, size.ws_col);
	return 1;
}

static int marked(lua_State *L)
{
	lua_pushboolean(L, os_is_marked((pid_t)luaL_checkinteger(L, 1)));
	return 1;
}

static const luaL_Reg functions[] = {
	{ "ask", ask },
	{ "columns", columns },
	{ "marked", marked },
	{ NULL, NULL },
};

int luaopen_runner_tty(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
