/*
 * cancel.c: from the TERM handler to an error in the running script. Runs in
 * the worker. Everything the handlers touch is async-signal-safe; lua_sethook
 * is made for being called from one.
 */
#include "cancel.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "../engine/child.h"
#include "../engine/fork_server.h"
#include "../engine/gate.h"
#include "../engine/os.h"
#include "../engine/shepherd.h"
#include "../engine/test_page.h"
#include "adopted.h"
#include "channel.h"
#include "profile.h"
#include "worker_launch.h"

static volatile sig_atomic_t pending;
static volatile sig_atomic_t seen;
static lua_State *volatile running;
static int wake[2] = { -1, -1 };
static pid_t self;
static volatile sig_atomic_t cause;
static volatile sig_atomic_t postponed;
static const char sentinel;

/* --- raising ---------------------------------------------------------------- */

static void hook(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	if (pending && !postponed)
		cancel_raise(L);
	lua_sethook(L, NULL, 0, 0);
}

static void arm(lua_State *L)
{
	lua_sethook(L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

int cancel_raise(lua_State *L)
{
	postponed = 0;
	arm(L);
	lua_pushlightuserdata(L, (void *)&sentinel);
	return lua_error(L);
}

bool cancel_pending(void)
{
	return pending;
}

bool cancel_seen(void)
{
	return seen;
}

void cancel_caught(void)
{
	pending = 0;
}

void cancel_postpone(void)
{
	postponed = 1;
}

int cancel_cause(void)
{
	return cause;
}

/* --- waiting ---------------------------------------------------------------- */

/* Only the handler writes to it, after it has set `pending`. A script may have closed an end of our pipe, or its
 * number is another file's, as where code makes itself a daemon: poll(2) would report that forever. A signal still interrupts a wait without it. */
static bool lost_wake(const struct pollfd *p)
{
	if (!p->revents || pending)
		return false;
	wake[0] = -1;
	return errno = EINTR, true;
}

/* In a test, no call waits for time alone (docs/design.md#virtual-time). Not past our own
 * deadline: that is for the supervisor to see, which has to look at the clock again. */
static void skip_wait(mono_t until)
{
	mono_t end = cancel_deadline();

	if (!test_page() || until == MONO_NEVER || until <= mono_now() || adopted_programs_run())
		return;
	test_page_skip(MIN_OF(until, mono_add_ms(end, 1)));
	kill(worker_launch()->supervisor, SIGCHLD);
}

int cancel_poll(struct pollfd *fds, int n, mono_t until)
{
	struct pollfd all[CANCEL_POLL_MAX + 1];
	bool looks = until <= mono_now(); /* it doesn't wait */
	struct rest_cause busy;
	int ready;

	if (n < 0 || n > CANCEL_POLL_MAX)
		return errno = EINVAL, -1;
	if (n > 0)
		memcpy(all, fds, (size_t)n * sizeof(*fds));
	else
		skip_wait(until);
	if (profile_on())
		profile_wait_begin();
	adopted_begin_wait();
	do {
		all[n] = (struct pollfd){ .fd = wake[0], .events = POLLIN };
		/* once caught, the wake-up pipe stays readable: leave it out */
		all[n].revents = 0;
		ready = pending ? 0 : looks ? poll(all, (nfds_t)n, 0) : rest_poll(all, n + !seen, until, NULL);
		if (ready > 0 && lost_wake(&all[n]))
			ready = -1;
		if (!looks && rest_tell(&busy))
			channel_warn_busy(&busy);
	} while (!pending && (ready == 0 || (ready < 0 && errno == EINTR)) && mono_now() < until);
	adopted_end_wait();
	if (profile_on())
		profile_wait_end();
	if (ready < 0 && errno == EINTR)
		ready = 0; /* signals kept arriving, and the deadline has passed */
	if (pending)
		return CANCEL_POLL_CANCELLED;
	if (ready > 0 && n > 0)
		memcpy(fds, all, (size_t)n * sizeof(*fds));
	return ready;
}

/* --- signals ---------------------------------------------------------------- */

/* The supervisor says with its TERM what ended the attempt; the terminal's INT may come first. */
static int cause_of(int sig, const siginfo_t *info)
{
	int told = info->si_value.sival_int;

	if (sig == SIGINT)
		return sig | (info->si_code > 0 ? CHILD_FROM_TERMINAL : 0);
	return info->si_code == SI_QUEUE ? told : sig;
}

/* A fork that a C module has made is another process with this handler. */
static void on_term(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (!seen) {
		seen = pending = 1;
		cause = cause_of(sig, info);
		cancel_begin_end(true);
		if (running)
			arm(running);
		(void)!write(wake[1], "", 1);
		if (getpid() == self)
			adopted_ask_all(cause);
	}
	errno = saved;
}

#define SHEPHERDS_MS 200 /* for shepherds to end their trees before we kill them */

/* Our own session, once we lead one; we must not end the caller's. */
static void kill_session(void)
{
	if (getpgrp() == getpid())
		kill(0, SIGKILL);
	_exit(1);
}

/* The supervisor is gone: no other process is left to end our children
 * (docs/design.md#dead-supervisor). */
NO_RETURN static void end_as_orphan(void)
{
	bool asked;

	shepherd_dismiss(); /* nothing is forked any more, and only shepherds are to be waited for */
	gate_dismiss();
	zygote_dismiss();
	/* we may be killed ourselves before the tree of a shepherd is empty: it ends it */
	asked = shepherd_was_started() && child_signal_direct(SHEPHERD_KILL, worker_spared()) > 0;
	for (int i = 0; i < 2000; i++) {
		if ((!asked || i >= SHEPHERDS_MS) && child_kill_all(worker_spared()) < 0)
			kill_session();
		if (child_reap(worker_spared(), NULL, NULL))
			break;
		poll(NULL, 0, 1);
	}
	_exit(1);
}

/* The news of the supervisor's death is a CONT: no other signal reaches a worker
 * that is stopped. Most CONTs are only what they seem; and what a C module has
 * forked has another parent. */
static void on_continued(int sig)
{
	int saved = errno;

	(void)sig;
	if (getpid() == self && getppid() != worker_launch()->supervisor)
		end_as_orphan();
	errno = saved;
}

static int install(int sig, struct sigaction act)
{
	sigfillset(&act.sa_mask);
	return sigaction(sig, &act, NULL);
}

/* TERM and INT without SA_RESTART: a blocking read must return. */
static int install_handlers(void)
{
	const struct sigaction term = { .sa_sigaction = on_term, .sa_flags = SA_SIGINFO };
	const struct sigaction continued = { .sa_handler = on_continued, .sa_flags = SA_RESTART };

	self = getpid();
	if (install(SIGTERM, term) < 0 || install(SIGCONT, continued) < 0)
		return -1;
	if (!child_was_ignored(SIGINT) && install(SIGINT, term) < 0)
		return -1;
	os_parent_death_signal(SIGCONT);
	if (getppid() != worker_launch()->supervisor)
		end_as_orphan(); /* the supervisor died before the request took effect */
	return 0;
}

/* --- coroutines: which one runs ----------------------------------------------
 *
 * A hook belongs to one coroutine, so the signal handler must know which one runs.
 * resume, wrap and close behave as in lcorolib.c and also keep `running`.
 */

static void switch_to(lua_State *L)
{
	running = L;
	if (pending)
		arm(L);
}

/* Coroutines that wait for one that they have resumed: the innermost first. */
static struct resumed {
	lua_State *by;
	struct resumed *before;
} *volatile resumed;

int cancel_coroutines(lua_State **out, int most)
{
	int n = 0;

	if (running && most > 0)
		out[n++] = running;
	for (const struct resumed *r = resumed; r && n < most; r = r->before)
		out[n++] = r->by;
	return n;
}

static lua_State *check_coroutine(lua_State *L)
{
	lua_State *co = lua_tothread(L, 1);

	luaL_argexpected(L, co, 1, "coroutine");
	return co;
}

/* Stack of L: …, args. Leaves the results or the error on L; -1 on error. */
static int resume(lua_State *L, lua_State *co, int args)
{
	struct resumed link = { L, resumed };
	int status, results;

	if (!lua_checkstack(co, args)) {
		lua_pushliteral(L, "too many arguments to resume");
		return -1;
	}
	lua_xmove(L, co, args);
	resumed = &link;
	switch_to(co);
	status = lua_resume(co, L, args, &results);
	switch_to(L);
	resumed = link.before;
	if (status != LUA_OK && status != LUA_YIELD) {
		lua_xmove(co, L, 1);
		return -1;
	}
	if (!lua_checkstack(L, results + 1)) {
		lua_pop(co, results);
		lua_pushliteral(L, "too many results to resume");
		return -1;
	}
	lua_xmove(co, L, results);
	return results;
}

static int co_resume(lua_State *L)
{
	lua_State *co = check_coroutine(L);
	int results = resume(L, co, lua_gettop(L) - 1);

	lua_pushboolean(L, results >= 0);
	lua_insert(L, results >= 0 ? -(results + 1) : -2);
	return results >= 0 ? results + 1 : 2;
}

static int wrap_failed(lua_State *L, lua_State *co)
{
	int status = lua_status(co);

	if (status != LUA_OK && status != LUA_YIELD) {
		status = lua_resetthread(co);
		lua_xmove(co, L, 1);
	}
	if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
		luaL_where(L, 1);
		lua_insert(L, -2);
		lua_concat(L, 2);
	}
	return lua_error(L);
}

static int call_wrapped(lua_State *L)
{
	lua_State *co = lua_tothread(L, lua_upvalueindex(1));
	int results = resume(L, co, lua_gettop(L));

	return results >= 0 ? results : wrap_failed(L, co);
}

static int co_wrap(lua_State *L)
{
	lua_State *co;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	co = lua_newthread(L);
	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	lua_pushcclosure(L, call_wrapped, 1);
	return 1;
}

/* The __close handlers of its variables run in the closed coroutine. */
static int co_close(lua_State *L)
{
	lua_State *co = check_coroutine(L);
	int status;

	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	switch_to(co);
	status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
	switch_to(L);
	return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static const luaL_Reg tracked[] = {
	{ "resume", co_resume },
	{ "wrap", co_wrap },
	{ NULL, NULL },
};

void cancel_track(lua_State *L)
{
	lua_getglobal(L, LUA_COLIBNAME);
	luaL_setfuncs(L, tracked, 0);
	lua_getfield(L, -1, "close");
	lua_pushcclosure(L, co_close, 1);
	lua_setfield(L, -2, "close");
	lua_pop(L, 1);
}

int cancel_init(lua_State *L)
{
	if (xpipe(wake) < 0 || xnonblock(wake[1]) < 0)
		return -1;
	running = L;
	return install_handlers();
}
