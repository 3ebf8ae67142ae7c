/*
 * misbehave.c: a Lua C module for tests only: processes as bad as they come, which
 * Lua itself can't make. Each function says what it does; all of it is bounded in
 * time, so that a test that fails leaves nothing for ever. With MISBEHAVE_PROGRAM it is a
 * program, for a build that loads no module: misbehave FUNCTION [ARGUMENT…]
 */
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_S 60
#define STORM_MAX 4096 /* processes of a user */

static void live(void)
{
	alarm(LIFE_S);
	for (;;)
		pause();
}

static void ignore_all(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGALRM && sig != SIGCHLD)
			signal(sig, SIG_IGN);
}

static void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
}

/* --- the worker itself ------------------------------------------------------------ */

static int l_ignore(lua_State *L)
{
	(void)L;
	ignore_all();
	return 0;
}

static int l_block(lua_State *L)
{
	(void)L;
	block_all();
	return 0;
}

/* Past every wrapper that somebody may have put around libc's function. */
static int l_block_raw(lua_State *L)
{
	unsigned long long all = ~0ULL;

	(void)L;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	return 0;
}

static int l_stop(lua_State *L)
{
	(void)L;
	raise(SIGSTOP);
	return 0;
}

static int l_read_socket(lua_State *L)
{
	int fd[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
		return luaL_error(L, "socketpair");
	while (read(fd[0], &byte, 1) < 0)
		;
	return 0;
}

/* Close every descriptor, the frame socket included. */
static int l_close_all(lua_State *L)
{
	(void)L;
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	return 0;
}

/* Write bytes to every descriptor above stderr: a forged frame. */
static int l_forge(lua_State *L)
{
	size_t n;
	const char *bytes = luaL_checklstring(L, 1, &n);

	for (int fd = 3; fd < 64; fd++)
		(void)!write(fd, bytes, n);
	return 0;
}

/* Recurse until the C stack is gone. */
static int overflow(int depth)
{
	volatile char page[4096];

	page[0] = (char)depth;
	return overflow(depth + 1) + page[0];
}

static int l_overflow_stack(lua_State *L)
{
	lua_pushinteger(L, overflow(0));
	return 1;
}

/* Real faults, not kill(2). */
static int l_crash(lua_State *L)
{
	const char *how = luaL_checkstring(L, 1);
	volatile int zero = 0;

	if (strcmp(how, "SEGV") == 0)
		*(volatile int *)(long)zero = 1;
	else if (strcmp(how, "ABRT") == 0)
		abort();
	else if (strcmp(how, "FPE") == 0)
		zero = 7 / zero;
	else if (strcmp(how, "ILL") == 0)
		__builtin_trap();
	return 0;
}

/* --- its children ----------------------------------------------------------------- */

/* A daemon by the book: two forks, a session of its own. It keeps every descriptor. */
static int l_daemon(lua_State *L)
{
	const char *how = luaL_optstring(L, 1, "");

	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		if (strcmp(how, "deaf") == 0)
			ignore_all();
		if (strcmp(how, "blind") == 0)
			block_all();
		live();
	}
	return 0;
}

/* Fork and let the child keep everything, the frame socket included. */
static int l_fork_and_sleep(lua_State *L)
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

/* Wait for every child there is, as libraries do; how many there were. */
static int l_wait_all(lua_State *L)
{
	int count = 0;

	while (wait(NULL) > 0)
		count++;
	lua_pushinteger(L, count);
	return 1;
}

/* n children that sleep, each with a child of its own. */
static int l_crowd(lua_State *L)
{
	for (lua_Integer i = luaL_checkinteger(L, 1); i > 0; i -= 2)
		if (fork() == 0) {
			fork();
			live();
		}
	return 0;
}

/* Never the same process for longer than `us`: each forks its heir and dies. */
static int l_respawn(lua_State *L)
{
	useconds_t us = (useconds_t)luaL_checkinteger(L, 1);
	time_t end = time(NULL) + LIFE_S / 2;

	if (fork() != 0)
		return 0;
	setsid();
	ignore_all();
	while (time(NULL) < end) {
		if (fork() != 0)
			_exit(0);
		if (us)
			usleep(us);
	}
	_exit(0);
}

/* n of them at once; with a session of its own for each heir, no group holds them together. What is dead and not reaped yet counts
 * for an ordinary user's limit: where the supervisor gets no processor, others still find numbers for their processes. */
static int l_storm(lua_State *L)
{
	lua_Integer chains = luaL_checkinteger(L, 1);
	int sessions = lua_toboolean(L, 2);
	time_t end = time(NULL) + LIFE_S / 2;
	struct rlimit most = { STORM_MAX, STORM_MAX };

	for (lua_Integer i = 0; i < chains; i++) {
		if (fork() != 0)
			continue;
		setsid();
		ignore_all();
		setrlimit(RLIMIT_NPROC, &most);
		while (time(NULL) < end) {
			pid_t pid = fork();

			if (pid > 0)
				_exit(0);
			if (pid == 0 && sessions)
				setsid();
		}
		_exit(0);
	}
	return 0;
}

/* A child that was forked by another thread than its parent's first: it says in FILE.ready
 * that it is there, notes a TERM in the file and lives on. */
static void *fork_in_thread(void *path)
{
	if (fork() == 0) {
		char ready[256];
		sigset_t term;
		int sig;

		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		alarm(LIFE_S);
		snprintf(ready, sizeof(ready), "%s.ready", (const char *)path);
		close(open(ready, O_WRONLY | O_CREAT, 0600));
		for (;;)
			if (sigwait(&term, &sig) == 0)
				close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	pause();
	return NULL;
}

static int l_thread_child(lua_State *L)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fork_in_thread, strdup(luaL_checkstring(L, 1)));
	return 0;
}

/* … below a process of several threads that ignores every signal. */
static int l_thread_grandchild(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	pthread_t thread;

	if (fork() == 0) {
		setsid();
		ignore_all();
		pthread_create(&thread, NULL, fork_in_thread, (void *)path);
		live();
	}
	return 0;
}

/* A child that adopts what its own children leave, and never collects it. */
static int l_subreaper(lua_State *L)
{
	(void)L;
	if (fork() == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		ignore_all();
		for (int i = 0; i < 3; i++)
			if (fork() == 0) {
				setsid();
				if (fork() == 0)
					ignore_all();
				live();
			}
		live();
	}
	return 0;
}

/* A child that stops itself, and one below it. */
static int l_stopped_tree(lua_State *L)
{
	(void)L;
	if (fork() == 0) {
		setsid();
		alarm(LIFE_S);
		fork();
		for (;;)
			raise(SIGSTOP);
	}
	return 0;
}

static const luaL_Reg functions[] = {
	{ "block", l_block },
	{ "block_raw", l_block_raw },
	{ "close_all", l_close_all },
	{ "crash", l_crash },
	{ "crowd", l_crowd },
	{ "daemon", l_daemon },
	{ "forge", l_forge },
	{ "fork_and_sleep", l_fork_and_sleep },
	{ "ignore", l_ignore },
	{ "overflow_stack", l_overflow_stack },
	{ "read_socket", l_read_socket },
	{ "respawn", l_respawn },
	{ "stop", l_stop },
	{ "stopped_tree", l_stopped_tree },
	{ "storm", l_storm },
	{ "subreaper", l_subreaper },
	{ "thread_child", l_thread_child },
	{ "thread_grandchild", l_thread_grandchild },
	{ "wait_all", l_wait_all },
	{ NULL, NULL },
};

int luaopen_misbehave(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}

#ifdef MISBEHAVE_PROGRAM
int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();
	int n = argc - 2;

	luaL_requiref(L, "misbehave", luaopen_misbehave, 0);
	if (n < 0 || lua_getfield(L, -1, argv[1]) != LUA_TFUNCTION)
		return 2;
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "false") == 0)
			lua_pushboolean(L, 0);
		else
			lua_pushstring(L, argv[i]);
	return lua_pcall(L, n, 0, 0);
}
#endif
