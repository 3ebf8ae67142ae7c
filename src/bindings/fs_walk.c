/*
 * fs_walk.c: the walk of fs_walk.h. Runs in the worker. Knows nothing of what
 * is done on the way.
 */
#include "fs_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "../common/xio.h"
#include "fs.h"

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

int walk_tree(struct walk *w, const char *path)
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
