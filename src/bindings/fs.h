/*
 * fs.h: what the files of the file-system binding share. fs.c registers the
 * binding and has the single calls and the queries, fs_file.c whole files,
 * fs_tree.c whole trees, fs_lock.c locks, fs_watch.c changes.
 *
 * Plain-C halves return 0, or -1 with errno; cancellation is errno ECANCELED.
 * Lua halves return `nil, "verb path: reason", "ENOENT"` on failure, raise for
 * wrong argument types, and raise the cancellation once all is released.
 */
#ifndef RUNNER_FS_H
#define RUNNER_FS_H

#include <lua.h>
#include <sys/stat.h>

#include "../common/buf.h"

/* The path at that index. Raises for other types, "" and NUL bytes inside. */
const char *fs_path(lua_State *L, int index);
/* An optional mode at that index; raises unless 0 ≤ mode ≤ 07777. */
mode_t fs_mode(lua_State *L, int index, mode_t otherwise);
/* `true` for 0, else the failure with errno; to is NULL for calls on one path. */
int fs_result(lua_State *L, int status, const char *verb, const char *path, const char *to);
int fs_fail(lua_State *L, const char *verb, const char *path, const char *to);
/* The failure with errno's name, and a reason that says more than the system's text. */
int fs_fail_because(lua_State *L, const char *verb, const char *path, const char *reason);

/* 0, or -1 with ECANCELED when the attempt was cancelled. */
int fs_go_on(void);
/* fsync(2) of a path. */
int fs_sync_path(const char *path);
/* A name beside `path` that no file has: ".NAME.XXXXXXXX.tmp". Raises nothing;
 * -1 with ENAMETOOLONG. */
int fs_temporary(const char *path, char *out, size_t cap);
/* Copy all bytes from one descriptor to the other. */
int fs_copy_bytes(int from, int to);

/* --- names (fs.c) --- */
/* Of pointers to names, for qsort(3). */
int fs_compare_names(const void *a, const void *b);
/* Names, each with its NUL, as pointers to them in `order`, sorted. How many; order->failed: memory
 * was short. */
size_t fs_sort_names(const struct buf *names, struct buf *order);

/* --- fs_file.c --- */
int fs_lua_read(lua_State *L);
int fs_lua_write(lua_State *L);
int fs_lua_create(lua_State *L);
int fs_lua_append(lua_State *L);
int fs_lua_replace(lua_State *L);
int fs_lua_swap_symlink(lua_State *L);
int fs_lua_fsync(lua_State *L);

/* --- fs_tree.c --- */
int fs_lua_remove_tree(lua_State *L);
int fs_lua_check_way(lua_State *L);
int fs_lua_copy_tree(lua_State *L);
int fs_lua_fsync_tree(lua_State *L);

/* --- fs_lock.c --- */
/* The descriptor of the lock at that index; -1: released. Raises for other types. */
int fs_lock_descriptor(lua_State *L, int index);
int fs_lua_lock(lua_State *L);
int fs_lua_locked(lua_State *L);

/* --- fs_watch.c --- */
/* An inotify(7) descriptor that watches nothing yet, or -1; the caller's to close. */
int fs_watch_open(void);
/* Read all that it has to say. */
void fs_watch_drain(int fd);
int fs_lua_watch(lua_State *L);

#endif
