/*
 * hostile.c: a Lua C module for tests only: what a script can't do from Lua
 * itself. Built by modules.bats.
 */
#include <lauxlib.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Close every descriptor, the frame socket included. */
static int close_all(lua_State *L)
{
	(void)L;
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	return 0;
}

static int block_all(lua_State *L)
{
	sigset_t all;

	(void)L;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return 0;
}

/* Recurse until the C stack is gone. */
static int overflow(int depth)
{
	volatile char page[4096];

	page[0] = (char)depth;
	return overflow(depth + 1) + page[0];
}

static int overflow_stack(lua_State *L)
{
	lua_pushinteger(L, overflow(0));
	return 1;
}

/* Fork and let the child keep everything, the frame socket included. */
static int fork_and_sleep(lua_State *L)
{
	lua_Integer seconds = luaL_checkinteger(L, 1);
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		sleep((unsigned)seconds);
		_exit(0);
	}
	lua_pushinteger(L, pid);
	return 1;
}

/* Write bytes to every descriptor above stderr: a forged frame. */
static int forge(lua_State *L)
{
	size_t n;
	const char *bytes = luaL_checklstring(L, 1, &n);

	for (int fd = 3; fd < 64; fd++)
		(void)!write(fd, bytes, n);
	return 0;
}

/* Wait for every child there is, as libraries do; how many there were. */
static int wait_all(lua_State *L)
{
	int count = 0;

	while (wait(NULL) > 0)
		count++;
	lua_pushinteger(L, count);
	return 1;
}

static const luaL_Reg functions[] = {
	{ "block_all", block_all },
	{ "close_all", close_all },
	{ "forge", forge },
	{ "fork_and_sleep", fork_and_sleep },
	{ "overflow_stack", overflow_stack },
	{ "wait_all", wait_all },
	{ NULL, NULL },
};

int luaopen_hostile(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
