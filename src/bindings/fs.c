/*
 * fs.c: files for scripts: require "fs". Runs in the worker. One system call a
 * function here; what takes several calls is in fs_file.c, fs_tree.c
 * and fs_lock.c.
 *
 *   stat(path) lstat(path)      {type, size, mtime, mode, uid, gid, ino, dev, nlink}
 *   list(path)                  the names in a directory, sorted by byte
 *   mkdir(path[, mode])         mkdirs(path[, mode]): also what is missing above
 *   rename(from, to)            symlink(target, link)   readlink(path)
 *   unlink(path)                rmdir(path)             remove_tree(path)
 *   realpath(path)              touch(path)
 *   read(path[, max])           write(path, text[, mode])   create(path, text)
 *   append(path, line[, mode])  fsync(path)             fsync_tree(path)
 *   swap_symlink(target, link)  copy_tree(from, to)     chmod(path, mode)
 *   check_way(path[, mode])     no other user can change where the path leads
 *   replace(from, to[, mode])   a finished file in the place of another
 *   lock(path[, {shared, wait_ms}])                         locked(path)
 *
 * glob, walk, copy, tempfile and hash are Lua, lua/library/files.lua, loaded when the first
 * of them is asked for.
 *
 * All return `nil, "rename a → b: No such file or directory", "ENOENT"` on
 * failure; without anything better to return, `true` on success.
 */
#include "fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/errno_name.h"
#include "../common/mono.h"
#include "../common/xio.h"
#include "../engine/os.h"
#include "../worker/cancel.h"
#include "../worker/members.h"
#include "../worker/scratch.h"
#include "bindings.h"

/* the queries, which change nothing. */

/* --- what a file is ---------------------------------------------------------------- */

static const struct {
	mode_t bits;
	const char *name;
} type_names[] = {
	{ S_IFREG, "file" },  { S_IFDIR, "directory" },    { S_IFLNK, "link" },   { S_IFIFO, "fifo" },
	{ S_IFCHR, "char" },  { S_IFBLK, "block" },        { S_IFSOCK, "socket" },
};

static const char *type_name(mode_t mode)
{
	for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
		if ((mode & S_IFMT) == type_names[i].bits)
			return type_names[i].name;
	return "other";
}

static int push_stat(lua_State *L, const struct stat *st)
{
	lua_createtable(L, 0, 9);
	lua_pushstring(L, type_name(st->st_mode));
	lua_setfield(L, -2, "type");
	lua_pushnumber(L, (lua_Number)st->st_mtim.tv_sec + (lua_Number)st->st_mtim.tv_nsec / 1e9);
	lua_setfield(L, -2, "mtime");
	members_set_int(L, "size", (lua_Integer)st->st_size);
	members_set_int(L, "mode", (lua_Integer)(st->st_mode & 07777));
	members_set_int(L, "uid", (lua_Integer)st->st_uid);
	members_set_int(L, "gid", (lua_Integer)st->st_gid);
	members_set_int(L, "ino", (lua_Integer)st->st_ino);
	members_set_int(L, "dev", (lua_Integer)st->st_dev);
	members_set_int(L, "nlink", (lua_Integer)st->st_nlink);
	return 1;
}

static int fs_lua_stat(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct stat st;

	return stat(path, &st) < 0 ? fs_fail(L, "stat", path, NULL) : push_stat(L, &st);
}

static int fs_lua_lstat(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct stat st;

	return lstat(path, &st) < 0 ? fs_fail(L, "lstat", path, NULL) : push_stat(L, &st);
}

static int fs_lua_realpath(lua_State *L)
{
	const char *path = fs_path(L, 1);
	char out[PATH_MAX];

	if (!realpath(path, out))
		return fs_fail(L, "realpath", path, NULL);
	lua_pushstring(L, out);
	return 1;
}

static int fs_lua_readlink(lua_State *L)
{
	const char *path = fs_path(L, 1);
	char out[PATH_MAX];
	ssize_t n = readlink(path, out, sizeof(out));

	if (n < 0)
		return fs_fail(L, "readlink", path, NULL);
	lua_pushlstring(L, out, (size_t)n);
	return 1;
}

/* --- list ----------------------------------------------------------------------------- */

/* Append all names to `out`, each terminated by NUL. */
static int read_names(DIR *dir, struct buf *out)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		buf_add(out, name, strlen(name) + 1);
		if (fs_go_on() < 0)
			return -1;
	}
	if (out->failed)
		errno = ENOMEM;
	return errno ? -1 : 0;
}

static int list_names(const char *path, struct buf *out)
{
	DIR *dir = opendir(path);
	int status, saved;

	if (!dir)
		return -1;
	status = read_names(dir, out);
	saved = errno;
	closedir(dir);
	errno = saved;
	return status;
}

int fs_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t fs_sort_names(const struct buf *names, struct buf *order)
{
	size_t count;

	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1) {
		const char *name = names->data + at;
		buf_add(order, &name, sizeof(name));
	}
	count = order->len / sizeof(char *);
	if (count > 0)
		qsort(order->data, count, sizeof(char *), fs_compare_names);
	return count;
}

static int fs_lua_list(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct buf *names = scratch_push(L);
	struct buf *order = scratch_push(L);
	size_t count;

	if (list_names(path, names) < 0)
		return fs_fail(L, "list", path, NULL);
	count = fs_sort_names(names, order);
	if (order->failed) {
		errno = ENOMEM;
		return fs_fail(L, "list", path, NULL);
	}
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_pushstring(L, ((const char **)(void *)order->data)[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* --- failures ------------------------------------------------------------------- */

static void push_errno_name(lua_State *L, int number)
{
	const char *name = errno_name(number);

	if (name)
		lua_pushstring(L, name);
	else
		lua_pushfstring(L, "E%d", number);
}

int fs_fail_because(lua_State *L, const char *verb, const char *path, const char *reason)
{
	int number = errno;

	if (number == ECANCELED && cancel_pending())
		return cancel_raise(L);
	lua_pushnil(L);
	lua_pushfstring(L, "%s %s: %s", verb, path, reason);
	push_errno_name(L, number);
	return 3;
}

int fs_fail(lua_State *L, const char *verb, const char *path, const char *to)
{
	int number = errno;

	if (to)
		path = lua_pushfstring(L, "%s → %s", path, to);
	errno = number;
	return fs_fail_because(L, verb, path, strerror(number));
}

int fs_result(lua_State *L, int status, const char *verb, const char *path, const char *to)
{
	if (status < 0)
		return fs_fail(L, verb, path, to);
	lua_pushboolean(L, 1);
	return 1;
}

/* --- arguments and helpers -------------------------------------------------------- */

const char *fs_path(lua_State *L, int index)
{
	size_t n;
	const char *path = luaL_checklstring(L, index, &n);

	luaL_argcheck(L, n > 0, index, "the path is empty");
	luaL_argcheck(L, strlen(path) == n, index, "the path contains a NUL byte");
	return path;
}

mode_t fs_mode(lua_State *L, int index, mode_t otherwise)
{
	lua_Integer mode = luaL_optinteger(L, index, (lua_Integer)otherwise);

	luaL_argcheck(L, mode >= 0 && mode <= 07777, index, "mode must be between 0 and 07777 (octal)");
	return (mode_t)mode;
}

int fs_go_on(void)
{
	return cancel_pending() ? (errno = ECANCELED, -1) : 0;
}

int fs_sync_path(const char *path)
{
	int fd = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	int status;

	if (fd < 0)
		return -1;
	status = fsync(fd);
	xclose(&fd);
	return status;
}

/* Where the last component of a path starts. */
static size_t base_offset(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

int fs_temporary(const char *path, char *out, size_t cap)
{
	int dir = (int)base_offset(path);
	uint32_t bits = 0;
	int n;

	if (os_random(&bits, sizeof(bits)) < 0)
		bits = (uint32_t)getpid() ^ (uint32_t)mono_now();
	/* a name has 255 bytes: a long one lends only its beginning */
	n = snprintf(out, cap, "%.*s.%.200s.%08x.tmp", dir, path, path + dir, (unsigned)bits);
	return n < 0 || (size_t)n >= cap ? (errno = ENAMETOOLONG, -1) : 0;
}

/* --- changes ---------------------------------------------------------------------------- */

static int fs_mkdir(lua_State *L)
{
	const char *path = fs_path(L, 1);

	return fs_result(L, mkdir(path, fs_mode(L, 2, 0777)), "mkdir", path, NULL);
}

/* mkdir(2) that is content with a directory. Its errno is mkdir's. Durable: a power loss leaves the new one where it
 * is, unless its parent can't be read, and so not be synchronised. */
static int have_directory(const char *path, mode_t mode, bool durable)
{
	struct stat st;
	int saved;

	if (mkdir(path, mode) == 0)
		return durable && xsync_folder(path) < 0 && errno != EACCES ? -1 : 0;
	saved = errno;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	errno = saved;
	return -1;
}

/* Make `path` and what is missing above it. On failure path ends where the
 * trouble is. */
static int make_directories(char *path, mode_t mode, bool durable)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (have_directory(path, mode | 0300, durable) < 0)
			return -1;
		*slash = '/';
	}
	return have_directory(path, mode, durable);
}

static int fs_mkdirs(lua_State *L)
{
	const char *path = fs_path(L, 1);
	mode_t mode = fs_mode(L, 2, 0777);
	char copy[PATH_MAX];

	if (strlen(path) >= sizeof(copy)) {
		errno = ENAMETOOLONG;
		return fs_fail(L, "mkdirs", path, NULL);
	}
	strcpy(copy, path);
	return fs_result(L, make_directories(copy, mode, lua_toboolean(L, 3)), "mkdirs", copy, NULL);
}

static int fs_rename(lua_State *L)
{
	const char *from = fs_path(L, 1), *to = fs_path(L, 2);

	return fs_result(L, rename(from, to), "rename", from, to);
}

static int fs_symlink(lua_State *L)
{
	const char *target = fs_path(L, 1), *link = fs_path(L, 2);

	return fs_result(L, symlink(target, link), "symlink", target, link);
}

static int fs_unlink(lua_State *L)
{
	const char *path = fs_path(L, 1);

	return fs_result(L, unlink(path), "unlink", path, NULL);
}

static int fs_rmdir(lua_State *L)
{
	const char *path = fs_path(L, 1);

	return fs_result(L, rmdir(path), "rmdir", path, NULL);
}

static int fs_touch(lua_State *L)
{
	const char *path = fs_path(L, 1);
	int fd = xopen(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY, 0666);
	int status;

	if (fd < 0)
		return fs_fail(L, "touch", path, NULL);
	status = futimens(fd, NULL);
	xclose(&fd);
	return fs_result(L, status, "touch", path, NULL);
}

static int fs_chmod(lua_State *L)
{
	const char *path = fs_path(L, 1);

	luaL_checkinteger(L, 2);
	return fs_result(L, chmod(path, fs_mode(L, 2, 0)), "chmod", path, NULL);
}

static const luaL_Reg functions[] = {
	{ "append", fs_lua_append },
	{ "check_way", fs_lua_check_way },
	{ "chmod", fs_chmod },
	{ "copy_tree", fs_lua_copy_tree },
	{ "create", fs_lua_create },
	{ "fsync", fs_lua_fsync },
	{ "fsync_tree", fs_lua_fsync_tree },
	{ "list", fs_lua_list },
	{ "lock", fs_lua_lock },
	{ "locked", fs_lua_locked },
	{ "lstat", fs_lua_lstat },
	{ "mkdir", fs_mkdir },
	{ "mkdirs", fs_mkdirs },
	{ "read", fs_lua_read },
	{ "readlink", fs_lua_readlink },
	{ "realpath", fs_lua_realpath },
	{ "remove_tree", fs_lua_remove_tree },
	{ "rename", fs_rename },
	{ "replace", fs_lua_replace },
	{ "rmdir", fs_rmdir },
	{ "stat", fs_lua_stat },
	{ "swap_symlink", fs_lua_swap_symlink },
	{ "symlink", fs_symlink },
	{ "touch", fs_touch },
	{ "unlink", fs_unlink },
	{ "watch", fs_lua_watch },
	{ "write", fs_lua_write },
	{ NULL, NULL },
};

/* __index(fs, key): what isn't here may be in Lua, which is put in here then, once. */
static int load_rest(lua_State *L)
{
	lua_settop(L, 2);
	lua_pushnil(L);
	lua_setmetatable(L, 1);
	lua_getglobal(L, "require");
	lua_pushliteral(L, "runner.library.files");
	lua_call(L, 1, 1);
	for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
		lua_pushvalue(L, -2);
		lua_pushvalue(L, -2);
		lua_rawset(L, 1);
	}
	lua_pushvalue(L, 2);
	lua_rawget(L, 1);
	return 1;
}

int luaopen_runner_fs(lua_State *L)
{
	luaL_newlib(L, functions);
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, load_rest);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	return 1;
}
