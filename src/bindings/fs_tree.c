/*
 * fs_tree.c: what is done with whole trees: remove (common/remover.h does it), copy,
 * make durable; and the way to one (common/way.h). Runs in the worker. Symbolic links are never followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/buf.h"
#include "../common/remover.h"
#include "../common/way.h"
#include "../common/xio.h"
#include "../worker/scratch.h"
#include "fs.h"

#define WALK_MAX_DEPTH 256

struct walk;

/* What to do on the way; NULL does nothing. Each returns 0, or -1 with errno,
 * which ends the walk. `dir` is the directory that holds `name`. */
struct walk_steps {
	/* anything but a directory */
	int (*leaf)(struct walk *w, int dir, const char *name, const struct stat *st);
	/* before and after the entries of the directory open at `fd` */
	int (*enter)(struct walk *w, int fd, const char *name, const struct stat *st);
	int (*leave)(struct walk *w, int dir, const char *name, int fd, const struct stat *st);
};

struct walk {
	const struct walk_steps *steps;
	struct buf *path; /* of the entry at hand: where the trouble is after a failure */
	int depth;
	void *data;
};

/*
 * One walk through a directory tree, by descriptors and never through a symbolic link, so that it
 * can't be led elsewhere. Knows nothing of what is done on the way.
 */

static int walk_entry(struct walk *w, int dir, const char *name);

static int walk_child(struct walk *w, int dir, const char *name)
{
	size_t len = w->path->len;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	buf_add_char(w->path, '/');
	buf_add_str(w->path, name);
	if (w->path->failed)
		return errno = ENOMEM, -1;
	if (fs_go_on() < 0 || walk_entry(w, dir, name) < 0)
		return -1; /* the path stays: it names the trouble */
	w->path->len = len;
	w->path->data[len] = '\0';
	return 0;
}

static int walk_entries(struct walk *w, DIR *entries)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(entries)))
		if (walk_child(w, dirfd(entries), entry->d_name) < 0)
			return -1;
	return errno ? -1 : 0;
}

static int walk_open_directory(struct walk *w, int dir, const char *name, DIR *entries,
                               const struct stat *st)
{
	int fd = dirfd(entries);

	if (w->steps->enter && w->steps->enter(w, fd, name, st) < 0)
		return -1;
	if (walk_entries(w, entries) < 0)
		return -1;
	return w->steps->leave ? w->steps->leave(w, dir, name, fd, st) : 0;
}

static int walk_directory(struct walk *w, int dir, const char *name, const struct stat *st)
{
	int fd, status, saved;
	DIR *entries;

	if (w->depth >= WALK_MAX_DEPTH)
		return errno = ENAMETOOLONG, -1;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	entries = fdopendir(fd);
	if (!entries) {
		xclose(&fd);
		return -1;
	}
	w->depth++;
	status = walk_open_directory(w, dir, name, entries, st);
	w->depth--;
	saved = errno;
	closedir(entries);
	errno = saved;
	return status;
}

static int walk_entry(struct walk *w, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return walk_directory(w, dir, name, &st);
	return w->steps->leaf ? w->steps->leaf(w, dir, name, &st) : 0;
}

/* Walk the tree at `path`, which is not followed if it is a link. 0, or -1 with errno
 * (ECANCELED when the attempt was cancelled, ENAMETOOLONG below WALK_MAX_DEPTH). */
static int walk_tree(struct walk *w, const char *path)
{
	char root[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(root))
		return errno = ENAMETOOLONG, -1;
	while (n > 1 && path[n - 1] == '/') /* "link/" would follow the link */
		n--;
	memcpy(root, path, n);
	root[n] = '\0';
	buf_add(w->path, root, n);
	if (w->path->failed)
		return errno = ENOMEM, -1;
	return walk_entry(w, AT_FDCWD, root);
}

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

/* check_way(path[, mode]): can only the caller and root change where the path leads? With a mode, the
 * directories that are missing on the way are made. EPERM names the part that others could change. */
int fs_lua_check_way(lua_State *L)
{
	const char *path = fs_path(L, 1);
	mode_t mode = fs_mode(L, 2, 0);
	struct way way = WAY_INIT;
	int status = way_open(&way, path, mode);

	xclose(&way.dir);
	if (status < 0 && way.refused[0])
		return fs_fail_because(L, "check_way", path, way.refused);
	return fs_result(L, status, "check_way", path, NULL);
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
	return status < 0 ? -1 : xsync_folder(to);
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
