/*
 * source.c: reads the Lua files of a project and checks its C modules, where trust.h
 * allows it. Runs in the worker; it never executes what it reads.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/owner.h"
#include "../common/xio.h"
#include "scratch.h"
#include "trust.h"

#define COMMANDS "/share/runner/commands"

/* --- looking ----------------------------------------------------------------------- */

/* Does errno say that there is nothing of this name for us? Else it is not known: the disk is at fault. */
static bool is_nothing(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == EPERM || err == ELOOP || err == ENAMETOOLONG;
}

/* Raises { code, message, … }, as lua/core/errors.lua makes it. */
static int raise_unknown(lua_State *L, const char *path, int err)
{
	lua_createtable(L, 0, 3);
	lua_pushstring(L, err == ENOMEM ? "RESOURCE_EXHAUSTED" : "PRECONDITION");
	lua_setfield(L, -2, "code");
	lua_pushfstring(L, "Can't look at %s: %s", path, strerror(err));
	lua_setfield(L, -2, "message");
	lua_pushliteral(L, "Make the file system answer");
	lua_setfield(L, -2, "fix_required");
	return lua_error(L);
}

/* probe(path): "file" | "directory" | "other" | nil, then why it can't be trusted. Raises where the
 * system can't say: another command, or another project, must not be taken for the one that is there. */
static int l_probe(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct stat st;

	if (stat(path, &st) < 0)
		return is_nothing(errno) ? 0 : raise_unknown(L, path, errno);
	lua_pushstring(L, S_ISREG(st.st_mode) ? "file" : S_ISDIR(st.st_mode) ? "directory" : "other");
	lua_pushstring(L, owner_refuse(&st, path));
	return 2;
}

/* Push "FOLDER is refused: why" for the first folder of the file that can't be trusted,
 * or return NULL. */
static const char *push_folder_refused(lua_State *L, const char *path)
{
	char where[PATH_MAX];
	const char *why = trust_refuse_folders(path, where);

	return why ? lua_pushfstring(L, "%s is refused: %s", where, why) : NULL;
}

/* Push the folder of commands that was installed with this program, PREFIX/share/runner/commands
 * for PREFIX/bin/NAME, wherever that is now; nothing for a program that lies elsewhere. */
static int push_own_folder(lua_State *L)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	path[MAX_OF(n, 0)] = '\0';
	end = strrchr(path, '/');
	if (end == NULL || end - path < (ssize_t)strlen("/bin") || strncmp(end - strlen("/bin"), "/bin/", strlen("/bin/")) != 0)
		return 0;
	end[-(ssize_t)strlen("/bin")] = '\0';
	lua_pushfstring(L, "%s" COMMANDS, path);
	return 1;
}

static void append(lua_State *L, const char *folder)
{
	lua_pushstring(L, folder);
	lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
}

/* add_installed(list): the list with the folders of installed commands behind what is in it. */
static int l_add_installed(lua_State *L)
{
	static const char local[] = "/usr/local" COMMANDS, usual[] = "/usr" COMMANDS;
	const char *own;

	luaL_checktype(L, 1, LUA_TTABLE);
	own = push_own_folder(L) ? lua_tostring(L, -1) : usual;
	if (strcmp(own, local) != 0 && strcmp(own, usual) != 0)
		append(L, own);
	append(L, local);
	append(L, usual);
	lua_settop(L, 1);
	return 1;
}

/* --- reading -------------------------------------------------------------------------- */

#define COMMAND_MAX ((size_t)4 << 20)
#define MODULE_MAX ((size_t)64 << 20)

/* Why the open file can't be trusted, or NULL. May push a text. */
static const char *refuse_opened(lua_State *L, int fd, const char *path, struct stat *st)
{
	const char *why;

	if (fstat(fd, st) < 0)
		return strerror(errno);
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	why = owner_refuse(st, path);
	return why ? why : push_folder_refused(L, path);
}

static const char *too_large(lua_State *L, size_t max)
{
	return lua_pushfstring(L, "it is larger than %d MiB", (int)(max >> 20));
}

static const char *read_opened(lua_State *L, int fd, const char *path, size_t max, struct buf *out)
{
	struct stat st;
	const char *why = refuse_opened(L, fd, path, &st);
	ssize_t n = 0;

	if (why)
		return why;
	if (st.st_size > (off_t)max)
		return too_large(L, max);
	if (buf_reserve(out, (size_t)st.st_size + 1) < 0)
		return "not enough memory";
	while (out->len <= max && buf_reserve(out, 1) == 0 &&
	       (n = xread(fd, out->data + out->len, out->cap - out->len - 1)) > 0)
		out->len += (size_t)n;
	if (n < 0)
		return strerror(errno);
	return out->failed ? "not enough memory" : out->len > max ? too_large(L, max) : NULL;
}

/* -1: it can't be opened, errno says why. */
static int open_source(const char *path)
{
	return xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

/* source(path[, folder]): the text of a trusted file | nil, why not, errno name "ENOENT"
 * when it does not exist. Checked on the open file: no race with a rename. `folder` is
 * the folder of commands that it was found in (trust.h). */
static int l_source(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *folder = luaL_optstring(L, 2, NULL);
	struct buf *out = scratch_push(L);
	int fd = open_source(path);
	const char *why = fd < 0 ? strerror(errno) : NULL;
	bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);

	if (folder)
		trust_add_commands(folder);
	if (!why)
		why = read_opened(L, fd, path, COMMAND_MAX, out);
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

/* Past what lua5.4 leaves out of a file as well: a byte order mark, a "#" line (but not
 * its end, so that lines are counted). */
static size_t skip_head(const struct buf *text)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t at = text->len >= 3 && memcmp(text->data, mark, 3) == 0 ? 3 : 0;

	if (at < text->len && text->data[at] == '#')
		while (at < text->len && text->data[at] != '\n')
			at++;
	return at;
}

int source_load(lua_State *L, const char *path, const char *mode, bool *missing)
{
	int base = lua_gettop(L), fd = open_source(path), status;
	const char *why = fd < 0 ? strerror(errno) : NULL;
	struct buf *out;
	size_t at;

	if (missing)
		*missing = fd < 0;
	if (why) {
		lua_pushfstring(L, "cannot open %s: %s", path, why);
		return LUA_ERRFILE;
	}
	out = scratch_push(L);
	why = read_opened(L, fd, path, MODULE_MAX, out);
	xclose(&fd);
	if (why) {
		lua_pushfstring(L, "cannot load %s: %s", path, why);
		status = LUA_ERRFILE;
	} else {
		at = skip_head(out);
		status = luaL_loadbufferx(L, buf_cstr(out) + at, out->len - at, lua_pushfstring(L, "@%s", path), mode);
	}
	buf_release(out);
	lua_replace(L, base + 1);
	lua_settop(L, base + 1);
	return status;
}

const char *source_refuse_module(lua_State *L, const char *path, bool *missing)
{
	int fd = open_source(path);
	struct stat st;
	const char *why = NULL;

	*missing = fd < 0;
	if (fd >= 0)
		why = refuse_opened(L, fd, path, &st);
	xclose(&fd);
	return why;
}

static const luaL_Reg functions[] = {
	{ "add_installed", l_add_installed },
	{ "probe", l_probe },
	{ "source", l_source },
	{ NULL, NULL },
};

void source_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
