/*
 * shell.c: os.execute and io.popen (shell.h). They behave as in loslib.c and
 * liolib.c over glibc, but register what they start, so that it is not mistaken for
 * an adopted child, and adopted children are reaped while they wait.
 */
#include "shell.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "adopted.h"
#include "picture.h"
#include "profile.h"

extern char **environ;

/* --- starting --------------------------------------------------------------------- */

/* Start sh -c command, with `fd` as its descriptor `as` and `err` as its stderr unless that is -1. 0 or an errno. */
static int start(const char *command, int fd, int as, int err, const posix_spawnattr_t *attributes, pid_t *pid)
{
	const char *const argv[] = { "sh", "-c", command, NULL };
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	if (fd >= 0)
		error = posix_spawn_file_actions_adddup2(&actions, fd, as);
	if (!error && err >= 0)
		error = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	adopted_hold();
	if (!error)
		error = posix_spawn(pid, "/bin/sh", &actions, attributes, (char *const *)argv, environ);
	if (!error) {
		adopted_expect(*pid);
		adopted_ends_by(*pid, ADOPTED_FOREGROUND);
	}
	adopted_release();
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Its wait status, or -1 with errno. */
static int wait_for(pid_t pid)
{
	int status, rc;

	if (profile_on())
		profile_wait_begin();
	do
		rc = waitpid(pid, &status, 0);
	while (rc < 0 && rest_again());
	if (profile_on())
		profile_wait_end();
	adopted_forget(pid);
	return rc < 0 ? -1 : status;
}

/* --- os.execute ------------------------------------------------------------------- */

/* Not waited for with SIGCHLD blocked, as system(3) would: adopted children die meanwhile. */
static int execute(const char *command)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, on_int, on_quit;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error, status = -1;
	pid_t pid;

	sigaction(SIGINT, &ignore, &on_int);
	sigaction(SIGQUIT, &ignore, &on_quit);
	sigemptyset(&defaults);
	if (on_int.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGINT);
	if (on_quit.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGQUIT);
	error = posix_spawnattr_init(&attributes);
	if (!error) {
		posix_spawnattr_setsigdefault(&attributes, &defaults);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
		error = start(command, -1, -1, -1, &attributes, &pid);
		posix_spawnattr_destroy(&attributes);
	}
	if (!error)
		status = wait_for(pid);
	sigaction(SIGINT, &on_int, NULL);
	sigaction(SIGQUIT, &on_quit, NULL);
	if (error)
		errno = error;
	return status;
}

static int l_execute(lua_State *L)
{
	const char *command = luaL_optstring(L, 1, NULL);

	if (command) {
		int status, saved;

		picture_lend(1);
		errno = 0;
		status = execute(command);
		saved = errno;
		picture_lend(-1);
		errno = saved;
		return luaL_execresult(L, status);
	}
	lua_pushboolean(L, access("/bin/sh", X_OK) == 0);
	return 1;
}

/* --- io.popen --------------------------------------------------------------------- */

struct pipe_stream {
	luaL_Stream stream; /* first: the library knows only this part */
	pid_t pid;
};

static int close_pipe(lua_State *L)
{
	struct pipe_stream *p = luaL_checkudata(L, 1, LUA_FILEHANDLE);

	errno = 0;
	fclose(p->stream.f);
	return luaL_execresult(L, wait_for(p->pid));
}

/* *ours: our end; 0 or an errno. */
static int open_pipe(const char *command, bool reads, pid_t *pid, int *ours)
{
	int fd[2], error;

	if (xpipe(fd) < 0)
		return errno;
	error = start(command, fd[reads ? 1 : 0], reads ? STDOUT_FILENO : STDIN_FILENO, picture_above(), NULL, pid);
	xclose(&fd[reads ? 1 : 0]);
	*ours = fd[reads ? 0 : 1];
	if (error)
		xclose(ours);
	return error;
}

static int l_popen(lua_State *L)
{
	const char *command = luaL_checkstring(L, 1);
	const char *mode = luaL_optstring(L, 2, "r");
	struct pipe_stream *p = lua_newuserdatauv(L, sizeof(*p), 0);
	int fd = -1;

	p->stream.closef = NULL; /* a closed file, until it is open */
	luaL_setmetatable(L, LUA_FILEHANDLE);
	luaL_argcheck(L, strcmp(mode, "r") == 0 || strcmp(mode, "w") == 0, 2, "invalid mode");
	fflush(NULL);
	errno = open_pipe(command, mode[0] == 'r', &p->pid, &fd);
	if (errno)
		return luaL_fileresult(L, 0, command);
	p->stream.f = fdopen(fd, mode);
	if (p->stream.f) {
		p->stream.closef = close_pipe;
		return 1;
	}
	xclose(&fd);
	(void)wait_for(p->pid);
	errno = ENOMEM;
	return luaL_fileresult(L, 0, command);
}

/* --- in place of ------------------------------------------------------------------ */

static void replace(lua_State *L, const char *library, const char *name, lua_CFunction f)
{
	lua_getglobal(L, library);
	lua_pushcfunction(L, f);
	lua_setfield(L, -2, name);
	lua_pop(L, 1);
}

void shell_init(lua_State *L)
{
	replace(L, LUA_OSLIBNAME, "execute", l_execute);
	replace(L, LUA_IOLIBNAME, "popen", l_popen);
}
