/*
 * tty.c: prompts on the controlling terminal: require "runner.terminal". Runs in
 * the worker. lua/ctx/tty.lua decides whether prompting is allowed.
 *
 *   ask(question, secret)   the line without its newline | nil, message, CODE
 *   columns()               of the terminal on the caller's stdout, as it is now; nil: it is none
 *
 * The terminal's settings are restored on every path, cancellation included.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../worker/cancel.h"
#include "../worker/channel.h"
#include "../worker/picture.h"
#include "../worker/scratch.h"
#include "../worker/worker_launch.h"
#include "bindings.h"

#define LINE_MAX_BYTES 65536u

/* One line, as the terminal's line editing delivers it. 0, or -1 with errno:
 * ECANCELED, EPIPE at the end of input (Ctrl+D, hang-up). */
static int read_line(int fd, struct buf *out)
{
	char bytes[1024];
	ssize_t n;

	while (out->len == 0 || out->data[out->len - 1] != '\n') {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int ready = cancel_poll(&wait, 1, MONO_NEVER);

		if (ready < 0)
			return errno = ready == CANCEL_POLL_CANCELLED ? ECANCELED : errno, -1;
		n = xread(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			return errno = n < 0 ? errno : EPIPE, -1;
		buf_add(out, bytes, (size_t)n);
		if (out->failed || out->len > LINE_MAX_BYTES)
			return errno = EFBIG, -1;
	}
	return 0;
}

static int ask_openly(int fd, const char *question, size_t n, struct buf *out)
{
	return xwrite_all(fd, question, n) < 0 ? -1 : read_line(fd, out);
}

/* Nothing is echoed from before the question is there: whoever answers it at once is no slower than we are. */
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
	status = ask_openly(fd, question, n, out);
	saved = errno;
	tcsetattr(fd, TCSADRAIN, &before);
	xwrite_all(fd, "\n", 1);
	errno = saved;
	return status;
}

static int ask_terminal(const char *question, size_t n, bool secret, struct buf *out)
{
	int fd = xopen("/dev/tty", O_RDWR | O_NOCTTY, 0);
	int status;

	if (fd < 0)
		return -1;
	status = (secret ? ask_secret : ask_openly)(fd, question, n, out);
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
	bool secret = lua_toboolean(L, 2);
	struct buf *out = scratch_push(L);
	int status, saved;

	channel_hold(1);
	picture_lend(1);
	status = ask_terminal(question, n, secret, out);
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

static const luaL_Reg functions[] = {
	{ "ask", ask },
	{ "columns", columns },
	{ NULL, NULL },
};

int luaopen_runner_tty(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
