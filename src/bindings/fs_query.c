/*
 * fs_query.c: the queries, which change nothing. Runs in the worker.
 */
#include "fs.h"

#include <dirent.h>
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../worker/members.h"
#include "../worker/scratch.h"

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
	lua_createtable(L, 0, 8);
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
	return 1;
}

int fs_lua_stat(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct stat st;

	return stat(path, &st) < 0 ? fs_fail(L, "stat", path, NULL) : push_stat(L, &st);
}

int fs_lua_lstat(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct stat st;

	return lstat(path, &st) < 0 ? fs_fail(L, "lstat", path, NULL) : push_stat(L, &st);
}

int fs_lua_realpath(lua_State *L)
{
	const char *path = fs_path(L, 1);
	char out[PATH_MAX];

	if (!realpath(path, out))
		return fs_fail(L, "realpath", path, NULL);
	lua_pushstring(L, out);
	return 1;
}

int fs_lua_readlink(lua_State *L)
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

int fs_lua_list(lua_State *L)
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
