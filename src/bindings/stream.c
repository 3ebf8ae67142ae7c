/*
 * stream.c: our own stdin and stdout for a server, in Lua: `require "runner.stream"`. Runs in
 * the worker. No call here blocks, and none changes the flags of a descriptor that others
 * share (engine/nowait.h). A caller that has to wait hands :watch() to process.set.
 *
 *   stream.reader(fd, max) → reader     max: bytes of the longest line
 *   reader:line() → text | nil, "wait" | nil, "long", outline? | nil, "end" | nil, message
 *                       outline: the outermost object of the line (common/outline.h); nil: it has none
 *   stream.writer(fd) → writer
 *   writer:write(text, from) → count of bytes written from there on, 0: wait | nil, message, NAME
 *   reader:watch(), writer:watch() → fd, events to poll for
 *   stream.GONE                         events 0: only that the other side is gone
 *   stream.ENDED                        that the other side writes no more, though bytes are still unread
 *   :close()                            what we opened ourselves; the descriptor stays open
 */
#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <string.h>

#include "../common/buf.h"
#include "../common/errno_name.h"
#include "../common/outline.h"
#include "../common/xio.h"
#include "../engine/nowait.h"
#include "../worker/quiet_pipe.h"
#include "bindings.h"

#define STREAM_TYPE "runner.stream"
#define CHUNK 65536
#ifdef POLLRDHUP
#define ENDED POLLRDHUP /* of sockets; pipes say POLLHUP unasked */
#else
#define ENDED 0
#endif

struct stream {
	struct nowait at;
	short events;
	size_t max;       /* of a line, without its newline */
	struct buf bytes; /* read, and not yet handed out */
	size_t from;      /* where the next line begins */
	size_t scanned;   /* no newline before this */
	bool skipping;    /* within a line that is too long */
	struct outline outline; /* of that line */
	bool ended;
};

static struct stream *check_stream(lua_State *L)
{
	return luaL_checkudata(L, 1, STREAM_TYPE);
}

static int new_stream(lua_State *L, short events)
{
	int fd = (int)luaL_checkinteger(L, 1);
	struct stream *s = lua_newuserdatauv(L, sizeof(*s), 0);

	*s = (struct stream){ .at = { .fd = -1 }, .events = events, .bytes = BUF_INIT };
	luaL_setmetatable(L, STREAM_TYPE);
	(void)nowait_init(&s->at, fd); /* the first call says what is wrong */
	return 1;
}

static int reader(lua_State *L)
{
	lua_Integer max = luaL_checkinteger(L, 2);
	int pushed = new_stream(L, POLLIN);

	luaL_argcheck(L, max > 0, 2, "a line has at least one byte");
	((struct stream *)lua_touserdata(L, -1))->max = (size_t)max;
	return pushed;
}

static int writer(lua_State *L)
{
	return new_stream(L, POLLOUT);
}

static int fail(lua_State *L, const char *why)
{
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

static int fail_errno(lua_State *L)
{
	int number = errno;

	lua_pushnil(L);
	lua_pushstring(L, strerror(number));
	lua_pushstring(L, errno_name(number));
	return 3;
}

/* --- lines ---------------------------------------------------------------------------- */

/* All has been handed out, or can't be a line of its own any more. */
static void drop_read(struct stream *s)
{
	buf_consume(&s->bytes, s->from);
	s->scanned -= s->from;
	s->from = 0;
}

/* The bytes up to `end` belong to a line that is too long: keep none of them, the memory is bounded. */
static void skip(struct stream *s, size_t end)
{
	if (!s->skipping)
		s->outline = (struct outline)OUTLINE_INIT;
	s->skipping = true;
	outline_take(&s->outline, buf_cstr(&s->bytes) + s->from, end - s->from);
	s->from = end;
}

static int fail_long(lua_State *L, struct stream *s)
{
	s->skipping = false;
	(void)fail(L, "long");
	if (s->outline.failed)
		return 2;
	lua_pushlstring(L, s->outline.text, s->outline.n);
	return 3;
}

/* The bytes from `from` up to `end` are a line; it is as if the newline came next. */
static int take_line(lua_State *L, struct stream *s, size_t end, size_t newline)
{
	size_t from = s->from;

	if (s->skipping || end - from > s->max)
		skip(s, end);
	s->from = s->scanned = end + newline;
	if (s->skipping)
		return fail_long(L, s);
	lua_pushlstring(L, buf_cstr(&s->bytes) + from, end - from);
	return 1;
}

/* 0: there is no whole line yet. */
static int push_line(lua_State *L, struct stream *s)
{
	size_t left = s->bytes.len - s->scanned;
	const char *at = buf_cstr(&s->bytes) + s->scanned;
	const char *newline = left ? memchr(at, '\n', left) : NULL;

	if (newline)
		return take_line(L, s, (size_t)(newline - buf_cstr(&s->bytes)), 1);
	s->scanned = s->bytes.len;
	if (s->ended && (s->skipping || s->scanned > s->from))
		return take_line(L, s, s->scanned, 0);
	if (s->skipping || s->scanned - s->from > s->max)
		skip(s, s->scanned);
	drop_read(s);
	return 0;
}

/* 1: go on; 0: there is nothing now; -1 with errno. */
static int read_more(struct stream *s)
{
	char chunk[CHUNK];
	ssize_t n = nowait_read(&s->at, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	s->ended = n == 0;
	buf_add(&s->bytes, chunk, (size_t)n);
	if (s->bytes.failed)
		return errno = ENOMEM, -1;
	return 1;
}

static int line(lua_State *L)
{
	struct stream *s = check_stream(L);

	for (;;) {
		int pushed = push_line(L, s), more;

		if (pushed > 0)
			return pushed;
		if (s->ended)
			return fail(L, "end");
		more = read_more(s);
		if (more < 0)
			return fail_errno(L);
		if (more == 0)
			return fail(L, "wait");
	}
}

/* --- writing -------------------------------------------------------------------------- */

static int write_text(lua_State *L)
{
	struct stream *s = check_stream(L);
	size_t n, from;
	const char *text = luaL_checklstring(L, 2, &n);
	struct quiet_pipe quiet;
	ssize_t put;

	from = (size_t)luaL_optinteger(L, 3, 1) - 1;
	luaL_argcheck(L, from <= n, 3, "behind the end of the text");
	quiet_pipe_begin(&quiet);
	put = nowait_write(&s->at, text + from, n - from);
	quiet_pipe_end(&quiet);
	if (put < 0 && errno != EAGAIN)
		return fail_errno(L);
	lua_pushinteger(L, MAX_OF(put, 0));
	return 1;
}

/* --- both ----------------------------------------------------------------------------- */

static int watch(lua_State *L)
{
	struct stream *s = check_stream(L);

	lua_pushinteger(L, s->at.fd);
	lua_pushinteger(L, s->events);
	return 2;
}

static int close_stream(lua_State *L)
{
	struct stream *s = check_stream(L);

	nowait_release(&s->at);
	s->at = (struct nowait){ .fd = -1, .kind = NOWAIT_CAREFUL };
	buf_release(&s->bytes);
	s->from = s->scanned = 0;
	s->ended = true;
	return 0;
}

static const luaL_Reg methods[] = {
	{ "close", close_stream },
	{ "line", line },
	{ "watch", watch },
	{ "write", write_text },
	{ NULL, NULL },
};

static const luaL_Reg functions[] = {
	{ "reader", reader },
	{ "writer", writer },
	{ NULL, NULL },
};

int luaopen_runner_stream(lua_State *L)
{
	luaL_newmetatable(L, STREAM_TYPE);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, close_stream);
	lua_setfield(L, -2, "__gc");
	luaL_newlib(L, functions);
	lua_pushinteger(L, 0);
	lua_setfield(L, -2, "GONE");
	lua_pushinteger(L, ENDED);
	lua_setfield(L, -2, "ENDED");
	return 1;
}
