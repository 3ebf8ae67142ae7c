/*
 * guard.c: the process that ends a worker whose supervisor was killed, when the
 * worker itself can't hear of it any more. It is a child of the worker that
 * wait(2) does not see, with no descriptor but one for the supervisor, and it
 * dies with the worker. It runs no Lua and takes nothing that could be locked.
 */
#include "guard.h"

#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/child.h"
#include "../engine/os.h"
#include "adopted.h"
#include "libm.h"
#include "source.h"
#include "worker_launch.h"

#define PATIENCE_MS 100 /* a worker that learns of it ends itself, and us */
#define ROUNDS 3000     /* of 1 ms */
#define QUIET_ROUNDS 2  /* what a dead one left may join the list behind our look */
#define MAX_CHILDREN 32768

static pid_t guard, guarded;

/* --- in the guard -------------------------------------------------------------- */

/* Its children, and in time all that descends from them: a subreaper gets what
 * they leave. A stopped one reaps nobody, so the dead stay in the list. */
static bool kill_children(pid_t worker)
{
	static pid_t pids[MAX_CHILDREN];
	int count = os_children(worker, pids, MAX_CHILDREN);
	bool alive = false;

	if (count < 0 && getpgid(worker) == worker)
		kill(-worker, SIGKILL); /* nobody can be listed: its group is all we know */
	for (int i = count - 1; i >= 0; i--) /* the youngest first: it may be forking */
		if (pids[i] != getpid() && !spared_has(worker_spared(), pids[i]) &&
		    kill(pids[i], SIGKILL) == 0)
			alive |= os_process_lives(pids[i]);
	return alive;
}

/* Stopped, it forks no more; dead before its children, it would lose them to init. */
static void end_worker(pid_t worker)
{
	for (int i = 0, quiet = 0; i < ROUNDS && quiet < QUIET_ROUNDS; i++) {
		kill(worker, SIGSTOP);
		quiet = kill_children(worker) ? 0 : quiet + 1;
		poll(NULL, 0, 1);
	}
	kill(worker, SIGKILL);
}

NO_RETURN static void keep_watch(pid_t worker, int supervisor)
{
	struct pollfd death = { .fd = supervisor, .events = POLLIN };

	os_parent_death_signal(SIGKILL);
	if (getppid() != worker)
		_exit(0);
	setsid();
	os_close_from(0, &supervisor, 1);
	while (poll(&death, 1, -1) <= 0)
		;
	poll(NULL, 0, PATIENCE_MS);
	end_worker(worker);
	_exit(0);
}

/* --- in the worker --------------------------------------------------------------- */

/* Every signal stays blocked in it: those to the worker's session are not for it. */
static pid_t start(int supervisor)
{
	sigset_t all, before;
	pid_t pid, worker = getpid();

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = os_fork_unnoticed();
	if (pid == 0)
		keep_watch(worker, supervisor);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* If no guard can be started, the module is loaded anyway. */
static void begin(void)
{
	pid_t supervisor = worker_launch()->supervisor;
	int watched;

	if (guarded || !supervisor || worker_share_spared() < 0)
		return;
	guarded = getpid();
	watched = os_watch_process(supervisor);
	if (watched >= 0 && getppid() == supervisor)
		guard = start(watched);
	xclose(&watched);
	if (guard <= 0)
		return;
	spared_add(worker_spared(), guard);
	atexit(guard_dismiss);
}

void guard_dismiss(void)
{
	if (guard <= 0 || getpid() != guarded)
		return;
	kill(guard, SIGKILL);
	os_reap_unnoticed(guard);
	guard = 0;
}

/* Upvalue: the function that loads a C module. */
static int guarded_call(lua_State *L)
{
	begin();
	adopted_before_module();
	libm_open();
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* Stack: …, function → …, the same behind a guard. */
static void push_guarded(lua_State *L)
{
	lua_pushcclosure(L, guarded_call, 1);
}

#define PLAIN_LOADLIB "runner.loadlib" /* in the registry; absent: nothing is guarded */

int guard_lua_loadlib(lua_State *L)
{
	const char *why;
	bool missing;

	lua_settop(L, 2);
	if (lua_getfield(L, LUA_REGISTRYINDEX, PLAIN_LOADLIB) == LUA_TNIL) {
		lua_getglobal(L, LUA_LOADLIBNAME);
		lua_getfield(L, -1, "loadlib");
	}
	lua_insert(L, 1);
	lua_settop(L, 3);
	why = source_refuse_module(L, luaL_checkstring(L, 2), &missing);
	if (why)
		return lua_pushnil(L), lua_pushstring(L, why), 2;
	libm_open();
	lua_call(L, 2, LUA_MULTRET);
	return lua_gettop(L);
}

/* Its searchers are {preload, Lua, C, all in one}. */
#define SEARCHER_C 3
#define SEARCHER_ALL_IN_ONE 4

void guard_init(lua_State *L)
{
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_getfield(L, -1, "loadlib");
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, PLAIN_LOADLIB);
	push_guarded(L);
	lua_setfield(L, -2, "loadlib");
	lua_getfield(L, -1, "searchers");
	for (int i = SEARCHER_C; i <= SEARCHER_ALL_IN_ONE; i++) {
		lua_rawgeti(L, -1, i);
		push_guarded(L);
		lua_rawseti(L, -2, i);
	}
	lua_pop(L, 2);
}
