/*
 * host.c: what lua/ needs of its C host: the frame channel, the facts of the
 * launch, time, trust in files, and the protected call. Runs in the worker.
 * Policy and exit codes have their own binding (rules.c).
 */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/frame.h"
#include "../common/json.h"
#include "../common/xio.h"
#include "../engine/os.h"
#include "cancel.h"
#include "rules.h"
#include "worker.h"

/* --- frames --------------------------------------------------------------------- */

int host_send(const struct buf *frame)
{
	return xwrite_all(worker_launch()->frame_fd, frame->data, frame->len);
}

void host_send_failure(const char *code, const char *message)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_RESULT);

	frame_add_int(&out, F_ok, 0);
	frame_add_bytes(&out, F_code, code, strlen(code));
	frame_add_bytes(&out, F_message, message, strlen(message));
	if (frame_end(&out, start) == 0)
		host_send(&out);
	buf_release(&out);
}

void host_hold(int change)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_HOLD);

	frame_add_int(&out, F_change, change);
	if (frame_end(&out, start) == 0)
		host_send(&out);
	buf_release(&out);
}

int worker_send_detach(pid_t pid)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_DETACH);
	int status;

	frame_add_int(&out, F_pid, pid);
	status = frame_end(&out, start) == 0 ? host_send(&out) : -1;
	buf_release(&out);
	return status;
}

/* A buffer that the collector frees: an error thrown midway can't leak it. */
static int buffer_gc(lua_State *L)
{
	buf_release(lua_touserdata(L, 1));
	return 0;
}

struct buf *host_push_buffer(lua_State *L)
{
	struct buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

	*b = (struct buf)BUF_INIT;
	if (luaL_newmetatable(L, "runner.buffer")) {
		lua_pushcfunction(L, buffer_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	return b;
}

static void add_list(lua_State *L, struct buf *out, enum field_id id)
{
	struct buf *list = host_push_buffer(L);

	for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -2); i++) {
		size_t n;
		const char *s;

		lua_rawgeti(L, -2, i);
		s = luaL_checklstring(L, -1, &n);
		buf_add(list, s, strlen(s) + 1);
		lua_pop(L, 1);
	}
	frame_add_bytes(out, id, list->data, list->len);
	buf_release(list);
	lua_pop(L, 1);
}

/* Stack: …, value. Adds it as the field's type asks. */
static void add_field(lua_State *L, struct buf *out, enum field_id id, enum field_type type)
{
	size_t n;
	const char *s;

	switch (type) {
	case FIELD_INT:
		frame_add_int(out, id, lua_isboolean(L, -1) ? lua_toboolean(L, -1)
		                                            : luaL_checkinteger(L, -1));
		return;
	case FIELD_LIST:
		luaL_checktype(L, -1, LUA_TTABLE);
		add_list(L, out, id);
		return;
	default:
		s = luaL_checklstring(L, -1, &n);
		frame_add_bytes(out, id, s, n);
	}
}

/* send(kind, fields): true | nil, message. An unknown kind or field is a bug
 * of ours and raises. */
static int l_send(lua_State *L)
{
	int kind = frame_kind_find(luaL_checkstring(L, 1));
	struct buf *out;
	size_t start;

	luaL_argcheck(L, kind > 0, 1, "no such frame");
	lua_settop(L, 2);
	out = host_push_buffer(L);
	start = frame_begin(out, (enum frame_kind)kind);
	for (lua_pushnil(L); lua_istable(L, 2) && lua_next(L, 2); lua_pop(L, 1)) {
		enum field_type type;
		int id = frame_field_find((enum frame_kind)kind, lua_tostring(L, -2), &type);

		if (id < 0)
			return luaL_error(L, "frame %s has no field %s", lua_tostring(L, 1),
			                  lua_tostring(L, -2));
		add_field(L, out, (enum field_id)id, type);
	}
	if (frame_end(out, start) < 0 || host_send(out) < 0) {
		lua_pushnil(L);
		lua_pushliteral(L, "the frame is too large or nobody listens");
		return 2;
	}
	lua_pushboolean(L, 1);
	return 1;
}

/* --- facts ---------------------------------------------------------------------- */

static void set_string(lua_State *L, const char *key, const char *value)
{
	lua_pushstring(L, value);
	lua_setfield(L, -2, key);
}

static void set_int(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static void set_bool(lua_State *L, const char *key, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, key);
}

/* launch(): what this worker was told at its fork, as a table. */
static int l_launch(lua_State *L)
{
	const struct launch *told = worker_launch();

	lua_newtable(L);
	lua_createtable(L, told->argc, 0);
	for (int i = 1; i < told->argc; i++) {
		lua_pushstring(L, told->argv[i]);
		lua_rawseti(L, -2, i);
	}
	lua_setfield(L, -2, "argv");
	set_int(L, "attempt", told->attempt);
	set_int(L, "repeats_made", told->repeats_made);
	set_bool(L, "stdin_is_tty", told->stdin_is_tty);
	set_bool(L, "stdout_is_tty", told->stdout_is_tty);
	set_bool(L, "stderr_is_tty", told->stderr_is_tty);
	set_string(L, "request_id", told->request_id);
	set_string(L, "session_dir", told->session_dir);
	set_string(L, "seed_text", told->seed_text);
	set_string(L, "digest", told->digest);
	set_string(L, "previous_code", told->previous_code);
	set_string(L, "previous_message", told->previous_message);
	set_string(L, "previous_steps", told->previous_steps);
	set_string(L, "previous_progress", told->previous_progress);
	set_string(L, "version", RUNNER_VERSION);
	return 1;
}

/* set_limits(timeout_ms, attempt_timeout_ms): the attempt's own deadline, for
 * waits of ours; 0 is no limit. */
static int l_set_limits(lua_State *L)
{
	mono_t total = mono_deadline(worker_launch()->started, luaL_checkinteger(L, 1));
	mono_t own = mono_deadline(worker_launch()->attempt_started, luaL_checkinteger(L, 2));

	cancel_set_deadline(MIN_OF(total, own));
	return 0;
}

/* remaining(): ms (a float) until the attempt's deadline, nil without one. */
static int l_remaining(lua_State *L)
{
	mono_t deadline = cancel_deadline();

	if (deadline == MONO_NEVER)
		return 0;
	lua_pushnumber(L, (lua_Number)(deadline - mono_now()) / 1e6);
	return 1;
}

/* now(): ms on the monotonic clock, a float. */
static int l_now(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)mono_now() / 1e6);
	return 1;
}

/* sleep(ms): false when cancelled is never returned: cancellation raises. */
static int l_sleep(lua_State *L)
{
	lua_Number ms = luaL_checknumber(L, 1);
	mono_t until = mono_now() + (mono_t)(ms < 0 ? 0 : ms > 1e12 ? 1e18 : ms * 1e6);
	int status;

	host_hold(1);
	status = cancel_poll(NULL, 0, until);
	if (status == CANCEL_POLL_CANCELLED)
		return cancel_raise(L);
	host_hold(-1);
	return 0;
}

static int l_hold(lua_State *L)
{
	host_hold((int)luaL_checkinteger(L, 1));
	return 0;
}

/* duration(text): ms | nil */
static int l_duration(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	int64_t ms;

	if (duration_parse(text, n, &ms) < 0)
		return 0;
	lua_pushinteger(L, ms);
	return 1;
}

static int l_duration_text(lua_State *L)
{
	char text[32];

	lua_pushstring(L, duration_format(luaL_checkinteger(L, 1), text));
	return 1;
}

/* random(): 63 random bits from the system. */
static int l_random(lua_State *L)
{
	uint64_t bits = 0;

	os_random(&bits, sizeof(bits));
	lua_pushinteger(L, (lua_Integer)(bits >> 1));
	return 1;
}

/* digest(text): FNV-1a, 64 bits in hex: has a source changed? Not for security. */
static int l_digest(lua_State *L)
{
	size_t n;
	const unsigned char *s = (const unsigned char *)luaL_checklstring(L, 1, &n);
	uint64_t h = 0xcbf29ce484222325u;
	char text[17];

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * 0x100000001b3u;
	for (int i = 15; i >= 0; i--, h >>= 4)
		text[i] = "0123456789abcdef"[h & 15];
	lua_pushlstring(L, text, 16);
	return 1;
}

/* clean(text): without ANSI sequences, control and invalid bytes. */
static int l_clean(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 1, &n);
	struct buf *out = host_push_buffer(L);

	text_clean(out, s, n);
	lua_pushlstring(L, buf_cstr(out), out->len);
	buf_release(out);
	return 1;
}

static int l_setenv(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const char *value = luaL_optstring(L, 2, NULL);

	lua_pushboolean(L, (value ? setenv(name, value, 1) : unsetenv(name)) == 0);
	return 1;
}

static int l_getcwd(lua_State *L)
{
	char *path = getcwd(NULL, 0);

	lua_pushstring(L, path);
	free(path);
	return 1;
}

static int l_memory_limit(lua_State *L)
{
	worker_set_memory_limit((size_t)luaL_checkinteger(L, 1));
	return 0;
}

/* --- command files ---------------------------------------------------------------- */

/* Files and folders of commands are believed when they belong to the caller or
 * to root and not everybody may write them (design §2). */
static const char *distrust(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it belongs neither to you nor to root";
	if ((st->st_mode & S_IWOTH) && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return "everybody may write to it";
	return NULL;
}

/* probe(path): "file" | "directory" | "other" | nil, then why it can't be trusted. */
static int l_probe(lua_State *L)
{
	struct stat st;
	const char *why;

	if (stat(luaL_checkstring(L, 1), &st) < 0)
		return 0;
	lua_pushstring(L, S_ISREG(st.st_mode) ? "file" : S_ISDIR(st.st_mode) ? "directory" : "other");
	why = distrust(&st);
	lua_pushstring(L, why);
	return 2;
}

#define SOURCE_MAX ((off_t)4 << 20)

static const char *read_source(int fd, struct buf *out, struct stat *st)
{
	ssize_t n = 0;

	if (fstat(fd, st) < 0)
		return strerror(errno);
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (distrust(st))
		return distrust(st);
	if (st->st_size > SOURCE_MAX)
		return "it is larger than 4 MiB, no command file";
	if (buf_reserve(out, (size_t)st->st_size + 1) < 0)
		return "not enough memory";
	while (out->len <= (size_t)SOURCE_MAX && buf_reserve(out, 4096) == 0 &&
	       (n = xread(fd, out->data + out->len, out->cap - out->len - 1)) > 0)
		out->len += (size_t)n;
	return n < 0 ? strerror(errno) : NULL;
}

/* source(path): the text of a trusted file | nil, why not, errno name "ENOENT"
 * when it does not exist. Checked on the open file: no race with a rename. */
static int l_source(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct buf *out = host_push_buffer(L);
	int fd = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;
	const char *why = fd < 0 ? strerror(errno) : NULL;
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	if (!why)
		why = read_source(fd, out, &st);
	xclose(&fd);
	if (why) {
		lua_pushnil(L);
		lua_pushstring(L, why);
		lua_pushstring(L, missing ? "ENOENT" : NULL);
		return 3;
	}
	lua_pushlstring(L, buf_cstr(out), out->len);
	buf_release(out);
	return 1;
}

/* --- phases ---------------------------------------------------------------------- */

/* enter_run(stdin, interactive): the moment before `run`. The script gets the
 * caller's stdin when it declared it; it leaves the terminal's session unless
 * it is interactive on one (design §6, Fork). */
static int l_enter_run(lua_State *L)
{
	bool wants_stdin = lua_toboolean(L, 1);
	bool interactive = lua_toboolean(L, 2);
	const struct launch *told = worker_launch();

	if (wants_stdin && told->stdin_fd >= 0) {
		struct stat st;

		if (fstat(told->stdin_fd, &st) == 0 && S_ISREG(st.st_mode))
			lseek(told->stdin_fd, 0, SEEK_SET);
		dup2(told->stdin_fd, 0);
	}
	if (!interactive)
		setsid();
	return 0;
}

static int message_handler(lua_State *L)
{
	luaL_traceback(L, L, NULL, 1);
	lua_replace(L, lua_upvalueindex(1));
	return 1;
}

/*
 * protect(f, …): true, results… | false, raised value, traceback, cancelled.
 * The boundary at which a cancellation is caught: from here on cleanup may run.
 */
static int l_protect(lua_State *L)
{
	int status;

	lua_pushnil(L);
	lua_pushcclosure(L, message_handler, 1);
	lua_insert(L, 1);
	status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
	if (status == LUA_OK && !cancel_pending()) {
		lua_pushboolean(L, 1);
		lua_replace(L, 1);
		return lua_gettop(L);
	}
	bool cancelled = cancel_pending();
	cancel_caught();
	lua_settop(L, 2);
	lua_pushboolean(L, 0);
	lua_insert(L, 2); /* handler, false, raised */
	if (lua_getupvalue(L, 1, 1) == NULL)
		lua_pushnil(L);
	lua_pushboolean(L, cancelled);
	return 4;
}

static const luaL_Reg functions[] = {
	{ "clean", l_clean },
	{ "digest", l_digest },
	{ "duration", l_duration },
	{ "duration_text", l_duration_text },
	{ "enter_run", l_enter_run },
	{ "getcwd", l_getcwd },
	{ "hold", l_hold },
	{ "launch", l_launch },
	{ "memory_limit", l_memory_limit },
	{ "now", l_now },
	{ "probe", l_probe },
	{ "protect", l_protect },
	{ "random", l_random },
	{ "remaining", l_remaining },
	{ "send", l_send },
	{ "set_limits", l_set_limits },
	{ "setenv", l_setenv },
	{ "sleep", l_sleep },
	{ "source", l_source },
	{ NULL, NULL },
};

int luaopen_runner_host(lua_State *L)
{
	luaL_newlib(L, functions);
	rules_register(L);
	return 1;
}
