/*
 * remover.c: the removal of remover.h. Both processes use it. The directory that holds the
 * tree is reached as way.h says, and each one below is opened below the open one that holds it:
 * a mount, including a bind mount of the same file system, is refused in the call that opens.
 */
#include "remover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

#include "way.h"
#include "xio.h"

#define OPEN_LEVELS 32 /* deeper directories are first moved to the top */
#define ROUNDS 16      /* passes over a directory to which another process adds entries */
#define NAME_TRIES 64
#define OWNER_ALL 0700

#define OPEN_TREE (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct walk {
	struct removal *r;
	struct buf path; /* of the current entry, for messages only */
	int outside;     /* the directory that holds the tree; we must not change its mode */
	int top;         /* the outermost directory, to which deep ones are moved */
	int level;       /* open directories */
	unsigned moved;
	bool over;       /* deadline or cancelled: only unwind */
};

/* --- what stays ------------------------------------------------------------------ */

/* Note that the current entry stays, for the reason in errno. Always -1. */
static int leave(struct walk *w)
{
	struct removal *r = w->r;

	if (r->left_count++ == 0) {
		r->reason = errno;
		buf_add(&r->left, w->path.data, w->path.len);
	}
	return -1;
}

static bool time_is_up(struct walk *w)
{
	if (!w->over && w->r->stop && w->r->stop())
		errno = ECANCELED;
	else if (!w->over && w->r->deadline != MONO_NEVER && mono_now() >= w->r->deadline)
		errno = ETIMEDOUT;
	else
		return w->over;
	w->over = true;
	/* it ended the removal, so it is the reason, whatever else stays */
	buf_clear(&w->r->left);
	w->r->left_count = 0;
	leave(w);
	return true;
}

/* --- opening, never across a mount -------------------------------------------------- */

static int open_below(int dir, const char *name, int flags)
{
	return way_open_entry(dir, name, flags, false);
}

/* --- permissions -------------------------------------------------------------------- */

/* Give the directory's owner all permissions. True if that changed anything. */
static bool open_up(int fd)
{
	char self[40];
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_mode & OWNER_ALL) == OWNER_ALL)
		return false;
	st.st_mode = (st.st_mode & 07777) | OWNER_ALL;
	/* fchmod(2) fails on an O_PATH descriptor, but works through its name */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return fchmod(fd, st.st_mode) == 0 || chmod(self, st.st_mode) == 0;
}

static bool open_up_child(int dir, const char *name)
{
	int fd = open_below(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool changed = fd >= 0 && open_up(fd);

	xclose(&fd);
	return changed;
}

/* unlinkat(2) in a directory that may have to be made writable first; directories
 * outside the tree keep their mode. */
static int unlink_in(const struct walk *w, int dir, const char *name, int flags)
{
	int status = unlinkat(dir, name, flags);

	if (status < 0 && errno == EACCES && dir != w->outside) {
		if (open_up(dir))
			return unlinkat(dir, name, flags);
		errno = EACCES;
	}
	return status;
}

static int open_directory(const struct walk *w, int dir, const char *name)
{
	int fd = open_below(dir, name, OPEN_TREE);

	if (fd >= 0 || errno != EACCES)
		return fd;
	if (dir != w->outside)
		open_up(dir);
	open_up_child(dir, name);
	return open_below(dir, name, OPEN_TREE);
}

/* --- directories ------------------------------------------------------------------------ */

static int remove_directory(struct walk *w, int dir, const char *name);

/* Moving a directory also needs write permission on itself: its ".." changes. If
 * nothing could be changed, errno is EACCES as before. */
static bool open_up_move(const struct walk *w, int dir, const char *name)
{
	bool from = open_up(dir), to = open_up(w->top), moved = open_up_child(dir, name);

	errno = EACCES;
	return from || to || moved;
}

/* Move a deep directory to the top, where the next pass over its entries finds it. */
static int move_up(struct walk *w, int dir, const char *name)
{
	char free_name[40];

	for (int i = 0; i < NAME_TRIES; i++) {
		snprintf(free_name, sizeof(free_name), ".deep-%x-%u", (unsigned)getpid(), w->moved++);
		if (renameat(dir, name, w->top, free_name) == 0 || errno == ENOENT)
			return 0;
		if (errno == EACCES && open_up_move(w, dir, name))
			continue;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			break;
	}
	return leave(w);
}

static int remove_entry(struct walk *w, int dir, const char *name, bool directory)
{
	if (time_is_up(w))
		return -1;
	if (!directory && unlink_in(w, dir, name, 0) == 0)
		return 0;
	if (!directory && errno != EISDIR && errno != EPERM) /* POSIX has EPERM for a directory */
		return errno == ENOENT ? 0 : leave(w);
	return remove_directory(w, dir, name);
}

static int remove_entries(struct walk *w, DIR *entries)
{
	const struct dirent *entry;
	size_t len = w->path.len;
	int status = 0;

	while (!w->over && (errno = 0, entry = readdir(entries))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		buf_add_char(&w->path, '/');
		buf_add_str(&w->path, name);
		if (remove_entry(w, dirfd(entries), name, entry->d_type == DT_DIR) < 0)
			status = -1;
		w->path.len = MIN_OF(w->path.len, len);
	}
	if (!w->over && errno)
		return leave(w);
	return w->over ? -1 : status;
}

/* Empty it and remove it. It takes several passes, since others may add entries
 * meanwhile, and a file system may skip entries while others are removed. */
static int empty_and_remove(struct walk *w, int dir, const char *name, DIR *entries)
{
	for (int round = 0; round < ROUNDS; round++) {
		unsigned moved = w->moved;

		if (remove_entries(w, entries) < 0)
			return -1;
		if (unlink_in(w, dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			break;
		if (w->moved != moved)
			round = 0; /* deep directories were moved here: that is progress */
		rewinddir(entries);
	}
	return leave(w);
}

static int remove_opened(struct walk *w, int dir, const char *name, int fd)
{
	DIR *entries = fdopendir(fd);
	int status;

	if (!entries) {
		xclose(&fd);
		return leave(w);
	}
	if (w->level++ == 0)
		w->top = fd;
	status = empty_and_remove(w, dir, name, entries);
	w->level--;
	closedir(entries);
	return status;
}

static int remove_directory(struct walk *w, int dir, const char *name)
{
	int fd;

	if (w->level >= OPEN_LEVELS)
		return move_up(w, dir, name);
	fd = open_directory(w, dir, name);
	if (fd >= 0)
		return remove_opened(w, dir, name, fd);
	if ((errno == EMFILE || errno == ENFILE) && w->level > 1)
		return move_up(w, dir, name);
	if ((errno == ENOTDIR || errno == ELOOP) && unlink_in(w, dir, name, 0) == 0)
		return 0; /* it became something else */
	if (errno == EACCES && unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0; /* an empty one that another process made */
	return errno == ENOENT ? 0 : leave(w);
}

/* --- the top ----------------------------------------------------------------------------- */

/* "/", by whatever name, and what ends in "." or "..". */
static bool is_protected(int dir, const char *name)
{
	struct stat st, root;

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && stat("/", &root) == 0 && st.st_dev == root.st_dev &&
	       st.st_ino == root.st_ino;
}

static struct walk begin(struct removal *r, const char *path, size_t n)
{
	struct walk w = { .r = r, .path = BUF_INIT, .outside = -1, .top = -1 };

	r->left_count = 0;
	r->reason = 0;
	r->refused[0] = '\0';
	buf_clear(&r->left);
	buf_add(&w.path, path, n); /* without memory, the path of what stays is missing or incomplete */
	return w;
}

static int end(struct walk *w, int status)
{
	buf_release(&w->path);
	errno = w->r->reason;
	return status;
}

int remover_remove_in(struct removal *r, int dir, const char *name)
{
	struct walk w = begin(r, name, strlen(name));

	w.outside = dir;
	return end(&w, is_protected(dir, name) ? (errno = EINVAL, leave(&w)) : remove_entry(&w, dir, name, false));
}

static int remove_path(struct walk *w, const char *path)
{
	struct way way = WAY_INIT;
	int status = way_open(&way, path, 0);

	if (status < 0 && errno == ENOENT)
		return 0;
	strcpy(w->r->refused, way.refused);
	if (status == 0 && is_protected(way.dir, way.name))
		status = -1, errno = EINVAL;
	w->outside = way.dir;
	status = status < 0 ? leave(w) : remove_entry(w, way.dir, way.name, false);
	xclose(&way.dir);
	return status;
}

int remover_remove(struct removal *r, const char *path)
{
	char plain[PATH_MAX];
	size_t n = strlen(path);
	struct walk w;

	while (n > 1 && path[n - 1] == '/') /* "link/" would follow the link */
		n--;
	w = begin(r, path, n);
	if (n >= sizeof(plain))
		return errno = ENAMETOOLONG, end(&w, leave(&w));
	memcpy(plain, path, n);
	plain[n] = '\0';
	return end(&w, remove_path(&w, plain));
}

const char *remover_reason(const struct removal *r)
{
	if (r->refused[0])
		return r->refused;
	if (r->reason == EBUSY)
		return "it is a mount point or in use";
	return r->reason == ETIMEDOUT ? "there was no time to remove it" : strerror(r->reason);
}
