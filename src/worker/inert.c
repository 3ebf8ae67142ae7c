/*
 * inert.c: see inert.h. One process reads file after file, each in a new state. What can't be
 * bounded from inside (a pattern that backtracks, a finalizer that loops) the kernel ends, by
 * processor time; the next file gets a new process.
 */
#include "inert.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/os.h"
#include "modules.h"
#include "scratch.h"
#include "source.h"

#define STATE "project/inert_state"
#define MEMORY_MAX ((size_t)32 << 20) /* of one state */
#define HOOK_COUNT 10000              /* instructions from one look to the next */
#define HOOKS_MAX 1000                /* looks at one file */
#define FILE_SECONDS 1                /* of processor time for one file */
#define ENDED_MAX 8                   /* processes that a file used up; after that, none is started */
#define TEXT_MAX ((uint32_t)64 << 20)

static pid_t reader, owner;
static int channel = -1, ended, hooks;

/* --- texts through the channel --------------------------------------------------------- */

static int send_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static int send_text(int fd, const char *text, size_t n)
{
	uint32_t size = (uint32_t)n;

	return n > TEXT_MAX || send_all(fd, &size, sizeof(size)) < 0 ? -1 : send_all(fd, text, n);
}

static int receive_all(int fd, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		ssize_t got = xread(fd, at, n);

		if (got <= 0)
			return -1;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

static int receive_text(int fd, struct buf *out)
{
	uint32_t size;

	if (receive_all(fd, &size, sizeof(size)) < 0 || size > TEXT_MAX || buf_reserve(out, (size_t)size + 1) < 0 ||
	    receive_all(fd, out->data, size) < 0)
		return -1;
	out->len = size;
	return 0;
}

/* --- in the process that reads ------------------------------------------------------------ */

static void *bounded_alloc(void *used, void *ptr, size_t old, size_t new)
{
	size_t before = ptr ? old : 0, *sum = used;
	void *made;

	if (new == 0) {
		free(ptr);
		*sum -= before;
		return NULL;
	}
	if (new > before && *sum - before + new > MEMORY_MAX)
		return NULL;
	made = realloc(ptr, new);
	if (made)
		*sum = *sum - before + new;
	return made;
}

/* The file may catch an error, so it gets none: the process ends. */
static void count(lua_State *L UNUSED, lua_Debug *ar UNUSED)
{
	if (++hooks > HOOKS_MAX)
		_exit(0);
}

static void open_libraries(lua_State *L)
{
	static const luaL_Reg libraries[] = {
		{ LUA_GNAME, luaopen_base },          { LUA_COLIBNAME, luaopen_coroutine }, { LUA_TABLIBNAME, luaopen_table },
		{ LUA_STRLIBNAME, luaopen_string },   { LUA_MATHLIBNAME, luaopen_math },    { LUA_UTF8LIBNAME, luaopen_utf8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
		lua_pop(L, 1);
	}
}

/* read(text, name, path): what lua/project/inert_state.lua returns for them. */
static int read_file(lua_State *L)
{
	open_libraries(L);
	if (modules_load_plain(L, STATE) != LUA_OK)
		return lua_error(L);
	lua_insert(L, 1);
	lua_newtable(L);
	source_register(L);
	lua_getfield(L, -1, "source");
	lua_remove(L, -2);
	lua_sethook(L, count, LUA_MASKCOUNT, HOOK_COUNT);
	lua_call(L, 4, 1);
	luaL_checkstring(L, -1);
	return 1;
}

/* A finalizer may loop, too: the state is closed before anything is said. */
static void answer(int fd, const struct buf texts[3])
{
	const struct itimerval most = { .it_value = { .tv_sec = FILE_SECONDS } };
	struct buf said = BUF_INIT;
	size_t used = 0, n = 0;
	const char *text;
	lua_State *L = lua_newstate(bounded_alloc, &used);

	hooks = 0;
	setitimer(ITIMER_PROF, &most, NULL);
	if (!L)
		_exit(0);
	lua_pushcfunction(L, read_file);
	for (int i = 0; i < 3; i++)
		lua_pushlstring(L, buf_cstr(&texts[i]), texts[i].len); /* 4 MiB at most: it fits */
	if (lua_pcall(L, 3, 1, 0) != LUA_OK)
		buf_add_char(&said, 'E');
	text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &n) : "";
	buf_add(&said, text, n);
	lua_close(L);
	if (said.failed || send_text(fd, said.data, said.len) < 0)
		_exit(0);
	buf_release(&said);
}

NO_RETURN static void serve(int fd, pid_t worker)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	struct buf texts[3] = { BUF_INIT, BUF_INIT, BUF_INIT };
	sigset_t none;

	os_parent_death_signal(SIGKILL);
	if (getppid() != worker)
		_exit(0);
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	os_close_from(0, &fd, 1);
	for (;;) {
		for (int i = 0; i < 3; i++)
			if (receive_text(fd, &texts[i]) < 0)
				_exit(0);
		answer(fd, texts);
		for (int i = 0; i < 3; i++)
			buf_clear(&texts[i]);
	}
}

/* --- in the worker ---------------------------------------------------------------------- */

/* No signal may come to the child before it has its own handlers. */
static int start(void)
{
	sigset_t all, before;
	pid_t worker = getpid();
	int fd[2];

	if (xsocketpair(fd) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	reader = os_fork_unnoticed();
	if (reader == 0)
		serve(fd[1], worker);
	sigprocmask(SIG_SETMASK, &before, NULL);
	xclose(&fd[1]);
	channel = fd[0];
	owner = worker;
	if (reader < 0)
		xclose(&channel);
	return reader < 0 ? -1 : 0;
}

void inert_dismiss(void)
{
	if (reader <= 0 || owner != getpid())
		return;
	kill(reader, SIGKILL);
	os_reap_unnoticed(reader);
	xclose(&channel);
	reader = 0;
}

/* read_inert(text, name, path): the bytes that lua/project/inert_state.lua returns | nil, "start" | "work"
 * (the file took too much) | "spent" (earlier ones did, and no further file is read) */
static int l_read_inert(lua_State *L)
{
	bool sent = true;
	struct buf *out;

	if (ended >= ENDED_MAX)
		return lua_pushnil(L), lua_pushliteral(L, "spent"), 2;
	if (owner != getpid())
		reader = 0;
	if (reader <= 0 && start() < 0)
		return lua_pushnil(L), lua_pushliteral(L, "start"), 2;
	for (int i = 1; i <= 3 && sent; i++) {
		size_t n;
		const char *text = luaL_checklstring(L, i, &n);

		sent = send_text(channel, text, n) == 0;
	}
	out = scratch_push(L);
	if (!sent || receive_text(channel, out) < 0) {
		ended++;
		inert_dismiss();
		return lua_pushnil(L), lua_pushliteral(L, "work"), 2;
	}
	lua_pushlstring(L, buf_cstr(out), out->len);
	scratch_release(out);
	return 1;
}

void inert_register(lua_State *L)
{
	lua_pushcfunction(L, l_read_inert);
	lua_setfield(L, -2, "read_inert");
}
