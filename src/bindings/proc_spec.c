/*
 * proc_spec.c: the Lua table from ctx/process_spec.lua → struct proc_spec. Runs in the worker.
 * Raises only for wrong types, and before anything is acquired; proc.lua has the
 * messages that users read.
 */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/outcome.h"
#include "../engine/test_page.h"
#include "../worker/confinement.h"
#include "fs.h"
#include "proc.h"
#include "test_bed.h"

extern char **environ;

static const char *c_string(lua_State *L, int index, const char *key)
{
	size_t n;
	const char *s = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &n) : NULL;

	if (!s || strlen(s) != n)
		luaL_error(L, "process.start: %s must contain only strings without NUL", key);
	return s;
}

/* An array of `room` pointers that the collector frees; stack: … array. */
static const char **new_array(lua_State *L, size_t room)
{
	return lua_newuserdatauv(L, room * sizeof(char *), 0);
}

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool is_overridden(const char *entry, const char **list, size_t n)
{
	size_t len = name_length(entry);

	for (size_t i = 0; i < n; i++)
		if (strncmp(list[i], entry, len) == 0 && name_length(list[i]) == len)
			return true;
	return false;
}

/* What no program that we start may change: the caller's policy (docs/reference/policy.md). */
static bool is_kept(const char *entry)
{
	static const char name[] = "RUNNER_POLICY";

	return name_length(entry) == sizeof(name) - 1 && strncmp(entry, name, sizeof(name) - 1) == 0 && getenv(name);
}

static size_t environ_count(void)
{
	size_t n = 0;

	while (environ && environ[n])
		n++;
	return n;
}

/* "K=V" sets, "K" unsets, everything else is inherited, and a policy always is.
 * Stack: … env array. */
static const char *const *read_env(lua_State *L, int index)
{
	size_t inherited = environ_count(), given, n = 0, kept;
	const char **envp, *entry;

	if (lua_getfield(L, index, "env") != LUA_TTABLE)
		return NULL;
	given = (size_t)luaL_len(L, -1);
	envp = new_array(L, given + inherited + 1);
	for (size_t i = 0; i < given; i++) {
		lua_rawgeti(L, -2, (lua_Integer)i + 1);
		entry = c_string(L, -1, "env");
		if (!is_kept(entry))
			envp[n++] = entry;
		lua_pop(L, 1);
	}
	given = n;
	for (size_t i = 0; i < inherited; i++)
		if (!is_overridden(environ[i], envp, given))
			envp[n++] = environ[i];
	kept = 0;
	for (size_t i = 0; i < n; i++)
		if (strchr(envp[i], '='))
			envp[kept++] = envp[i];
	envp[kept] = NULL;
	return envp;
}

/* The field as a string or NULL. The spec's table keeps it alive. */
static const char *read_string(lua_State *L, int index, const char *key)
{
	const char *s = NULL;

	if (lua_getfield(L, index, key) != LUA_TNIL)
		s = c_string(L, -1, key);
	lua_pop(L, 1);
	return s;
}

/* Stack: … argv array. The strings live as long as the spec's table. With an argv0, that is argv[0],
 * and *program what argv[0] was. */
static const char *const *read_argv(lua_State *L, int index, const char *name, const char **program)
{
	lua_Integer n;
	const char **argv;

	if (lua_getfield(L, index, "argv") != LUA_TTABLE || (n = luaL_len(L, -1)) < 1)
		return luaL_error(L, "process.start: argv must be a list"), NULL;
	argv = new_array(L, (size_t)n + 1);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, -2, i);
		argv[i - 1] = c_string(L, -1, "argv");
		lua_pop(L, 1);
	}
	argv[n] = NULL;
	*program = name ? argv[0] : NULL;
	argv[0] = name ? name : argv[0];
	return argv;
}

static bool read_flag(lua_State *L, int index, const char *key)
{
	bool set;

	lua_getfield(L, index, key);
	set = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return set;
}

static int read_file(lua_State *L, int index, const char *key)
{
	luaL_Stream *file;
	int fd = -1;

	lua_getfield(L, index, key);
	file = luaL_testudata(L, -1, LUA_FILEHANDLE);
	if (file && file->closef)
		fd = fileno(file->f);
	lua_pop(L, 1);
	return fd;
}

static int64_t read_size(lua_State *L, int index, const char *key, int64_t otherwise)
{
	lua_Integer n;

	lua_getfield(L, index, key);
	n = luaL_optinteger(L, -1, otherwise);
	lua_pop(L, 1);
	return MAX_OF(n, 0);
}

static int read_signal(lua_State *L, int index, const char *key)
{
	const char *name = read_string(L, index, key);

	return name ? signal_parse(name) : 0;
}

static void read_input(lua_State *L, int index, struct proc_spec *spec)
{
	spec->input_fd = read_file(L, index, "stdin_file");
	lua_getfield(L, index, "stdin");
	spec->input = lua_toboolean(L, -1) ? luaL_checklstring(L, -1, &spec->input_len) : NULL;
	lua_pop(L, 1);
	lua_getfield(L, index, "stdin_from");
	spec->input_from = lua_isnil(L, -1) ? NULL : luaL_checkudata(L, -1, PROC_TYPE);
	lua_pop(L, 1);
}

/* The descriptor of a lock (runner.fs), -1: none. */
static int read_lock(lua_State *L, int index, const char *key)
{
	int fd;

	lua_getfield(L, index, key);
	fd = lua_isnil(L, -1) ? -1 : fs_lock_descriptor(L, -1);
	lua_pop(L, 1);
	return fd;
}

static bool is_own_program(const char *path)
{
	struct stat its, own;

	return strchr(path, '/') && stat(path, &its) == 0 && stat("/proc/self/exe", &own) == 0 && its.st_dev == own.st_dev &&
	       its.st_ino == own.st_ino;
}

/* `bounds`: of runner.host. */
static const struct bounds *read_bounds(lua_State *L, int index)
{
	const struct bounds *b = NULL;

	if (lua_getfield(L, index, "bounds") != LUA_TNIL)
		b = confinement_bounds(L, -1);
	lua_pop(L, 1);
	return b;
}

/* `page`: of runner.test_bed. A call that is tested itself hands its own on to calls of ours. */
static int read_page(lua_State *L, int index, const char *program)
{
	int fd = -1;

	if (lua_getfield(L, index, "page") != LUA_TNIL)
		fd = test_bed_descriptor(L, -1);
	else if (test_page() && is_own_program(program))
		fd = TEST_PAGE_FD;
	lua_pop(L, 1);
	return fd;
}

void proc_read_spec(lua_State *L, int index, struct proc_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	read_input(L, index, spec);
	spec->cwd = read_string(L, index, "cwd");
	spec->path[0] = read_string(L, index, "stdout");
	spec->path[1] = read_string(L, index, "stderr");
	spec->keep_in_open = read_flag(L, index, "keep_stdin_open");
	spec->reread_input = read_flag(L, index, "reread_stdin");
	spec->capture = read_flag(L, index, "capture");
	spec->own_stdout = read_flag(L, index, "own_stdout");
	spec->own_stderr = read_flag(L, index, "own_stderr");
	spec->columns = (unsigned short)MIN_OF(read_size(L, index, "columns", 0), UINT16_MAX);
	spec->piped = read_flag(L, index, "piped");
	spec->merge = read_flag(L, index, "merge");
	spec->roomy = read_flag(L, index, "roomy");
	spec->lines = read_flag(L, index, "lines");
	spec->detach = read_flag(L, index, "detach");
	spec->shepherd = read_flag(L, index, "shepherd") && !spec->detach;
	spec->warm = read_flag(L, index, "warm");
	spec->held_fd = read_lock(L, index, "lock");
	spec->bounds = read_bounds(L, index);
	spec->foreground = read_flag(L, index, "foreground");
	spec->stop_signal = read_signal(L, index, "stop_signal");
	spec->cap = (size_t)read_size(L, index, "cap", 1 << 20);
	spec->spill = read_string(L, index, "spill");
	spec->spill_max = (uint64_t)read_size(L, index, "spill_max", INT64_MAX);
	spec->grace_ms = read_size(L, index, "grace_ms", 2000);
	spec->argv = read_argv(L, index, read_string(L, index, "argv0"), &spec->program);
	spec->handed_fd = read_page(L, index, spec->program ? spec->program : spec->argv[0]);
	lua_getfield(L, index, "terminal");
	spec->terminal_fd = lua_isnil(L, -1) ? -1 : test_bed_terminal(L, -1);
	lua_pop(L, 1);
	spec->envp = read_env(L, index);
}
