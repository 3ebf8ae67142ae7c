/*
 * fs_tree.c: what is done with whole trees: remove (common/remover.h does it), copy,
 * make durable. Runs in the worker. Symbolic links are never followed.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/remover.h"
#include "../common/xio.h"
#include "../worker/scratch.h"
#include "fs_walk.h"

/* --- remove ------------------------------------------------------------------------- */

static bool is_cancelled(void)
{
	return fs_go_on() < 0;
}

/* nil, what stays and why, errno name */
static int push_left(lua_State *L, const struct removal *r)
{
	const char *reason = remover_reason(r);

	if (r->left_count > 1)
		reason = lua_pushfstring(L, "%s (and %I more)", reason, (LUAI_UACINT)(r->left_count - 1));
	errno = r->reason;
	return fs_fail_because(L, "remove_tree", buf_cstr(&r->left), reason);
}

static int removal_gc(lua_State *L)
{
	struct removal *r = lua_touserdata(L, 1);

	buf_release(&r->left);
	return 0;
}

static struct removal *push_removal(lua_State *L)
{
	struct removal *r = lua_newuserdatauv(L, sizeof(*r), 0);

	*r = (struct removal)REMOVAL_INIT;
	r->stop = is_cancelled;
	if (luaL_newmetatable(L, "runner.removal")) {
		lua_pushcfunction(L, removal_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	return r;
}

/* remove_tree(path): afterwards nothing is there; fine if nothing was. On failure what
 * can be removed is; the message names the first entry that stays. Never crosses a mount. */
int fs_lua_remove_tree(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct removal *r = push_removal(L);

	if (remover_remove(r, path) < 0)
		return push_left(L, r);
	lua_pushboolean(L, 1);
	return 1;
}

/* --- fsync -------------------------------------------------------------------------- */

static int sync_leaf(struct walk *w, int dir, const char *name, const struct stat *st)
{
	int fd, status;

	(void)w;
	if (!S_ISREG(st->st_mode))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	status = fsync(fd);
	xclose(&fd);
	return status;
}

static int sync_directory(struct walk *w, int dir, const char *name, int fd,
                          const struct stat *st)
{
	(void)w;
	(void)dir;
	(void)name;
	(void)st;
	return fsync(fd);
}

/* fsync_tree(path): every file and directory of the tree, children first. */
int fs_lua_fsync_tree(lua_State *L)
{
	static const struct walk_steps steps = { .leaf = sync_leaf, .leave = sync_directory };
	const char *path = fs_path(L, 1);
	struct walk w = { .steps = &steps, .path = scratch_push(L) };
	int status = walk_tree(&w, path);

	return fs_result(L, status, "fsync_tree", buf_cstr(w.path), NULL);
}

/* --- copy --------------------------------------------------------------------------- */

struct copy {
	const char *to;
	int fds[WALK_MAX_DEPTH]; /* the open directories of the copy, outermost first */
	int depth;
	struct stat root; /* the copy's own outermost directory */
};

static int to_dir(const struct copy *c)
{
	return c->depth > 0 ? c->fds[c->depth - 1] : AT_FDCWD;
}

static const char *to_name(const struct copy *c, const char *name)
{
	return c->depth > 0 ? name : c->to;
}

/* A copy belongs to the caller, so setuid and setgid of files are not copied. */
static int fill_copy(int from, int to, const struct stat *st)
{
	if (fs_copy_bytes(from, to) < 0 || fchmod(to, st->st_mode & 0777) < 0)
		return -1;
	return fsync(to);
}

static int copy_file(const struct copy *c, int dir, const char *name)
{
	int from = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int to = -1, status = -1;
	struct stat st;

	if (from < 0)
		return -1;
	if (fstat(from, &st) == 0)
		to = openat(to_dir(c), to_name(c, name),
		            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to >= 0)
		status = fill_copy(from, to, &st);
	xclose(&from);
	xclose(&to);
	return status;
}

static int copy_link(const struct copy *c, int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	return symlinkat(target, to_dir(c), to_name(c, name));
}

static int copy_leaf(struct walk *w, int dir, const char *name, const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return copy_file(w->data, dir, name);
	if (S_ISLNK(st->st_mode))
		return copy_link(w->data, dir, name);
	return errno = ENOTSUP, -1;
}

static int copy_enter(struct walk *w, int from, const char *name, const struct stat *st)
{
	struct copy *c = w->data;
	int dir = to_dir(c), fd;

	(void)from;
	if (c->depth > 0 && st->st_dev == c->root.st_dev && st->st_ino == c->root.st_ino)
		return errno = EINVAL, -1; /* the copy lies inside what is copied */
	if (mkdirat(dir, to_name(c, name), 0700) < 0)
		return -1;
	fd = openat(dir, to_name(c, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (c->depth == 0 && fstat(fd, &c->root) < 0) {
		xclose(&fd);
		return -1;
	}
	c->fds[c->depth++] = fd;
	return 0;
}

static int copy_leave(struct walk *w, int dir, const char *name, int from, const struct stat *st)
{
	struct copy *c = w->data;
	int *fd = &c->fds[--c->depth];
	int status = fchmod(*fd, st->st_mode & 07777) < 0 ? -1 : fsync(*fd);

	(void)dir;
	(void)name;
	(void)from;
	xclose(fd);
	return status;
}

static int copy_tree(const char *from, const char *to, struct buf *at)
{
	static const struct walk_steps steps = {
		.leaf = copy_leaf,
		.enter = copy_enter,
		.leave = copy_leave,
	};
	struct copy c = { .to = to };
	struct walk w = { .steps = &steps, .path = at, .data = &c };
	int status = walk_tree(&w, from);

	while (c.depth > 0)
		xclose(&c.fds[--c.depth]);
	return status < 0 ? -1 : fs_sync_parent(to);
}

/*
 * copy_tree(from, to): files, directories and symbolic links (as links), with
 * their modes, each synced to disk. `to` must not exist (EEXIST); sockets,
 * devices and fifos are refused (ENOTSUP). After a failure part of the copy is
 * there: remove_tree(to).
 */
int fs_lua_copy_tree(lua_State *L)
{
	const char *from = fs_path(L, 1), *to = fs_path(L, 2);
	struct buf *at = scratch_push(L);
	int status = copy_tree(from, to, at);

	return fs_result(L, status, "copy_tree", buf_cstr(at), to);
}
