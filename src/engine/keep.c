/*
 * keep.c: see keep.h. Runs where an answer was too large: in the supervisor, and in a worker that serves clients.
 */
#include "keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/way.h"
#include "../common/xio.h"

#define REMOVALS 64 /* files at a time */

/* 0: there is no place for state, or no room for its path. */
static int path_of(const char *name, char path[KEEP_PATH])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool own = state && state[0] == '/';
	const char *base = own ? state : home;

	if (!base || base[0] != '/')
		return 0;
	return snprintf(path, KEEP_PATH, "%s%s/runner/answers/%s", base, own ? "" : "/.local/state", name) < KEEP_PATH;
}

struct oldest {
	char name[NAME_MAX + 1];
	time_t written;
	int64_t bytes; /* of all */
	int count;
};

static struct oldest look(int dir)
{
	struct oldest found = { .name = "" };
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	struct stat st;

	while (list && (e = readdir(list))) {
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || strncmp(e->d_name, "req_", 4) != 0)
			continue;
		found.bytes += st.st_size, found.count++;
		if (!found.name[0] || st.st_mtime < found.written) {
			snprintf(found.name, sizeof(found.name), "%s", e->d_name);
			found.written = st.st_mtime;
		}
	}
	if (list)
		closedir(list);
	else
		xclose(&copy);
	return found;
}

static void make_room(int dir, size_t n)
{
	for (int i = 0; i < REMOVALS; i++) {
		struct oldest o = look(dir);

		if (!o.name[0] || (time(NULL) - o.written < KEEP_SECONDS && o.bytes + (int64_t)n <= KEEP_BYTES && o.count < KEEP_FILES))
			return;
		if (unlinkat(dir, o.name, 0) < 0)
			return;
	}
}

int keep_write(const char *name, const char *s, size_t n, char path[KEEP_PATH])
{
	struct way way = WAY_INIT;
	int fd = -1, status = -1, error;

	errno = ENAMETOOLONG;
	if (!path_of(name, path) || way_open(&way, path, 0700) < 0)
		return -1;
	make_room(way.dir, n);
	fd = openat(way.dir, way.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && xwrite_all(fd, s, n) == 0)
		status = 0;
	error = errno;
	if (fd >= 0 && status < 0)
		unlinkat(way.dir, way.name, 0);
	xclose(&fd);
	xclose(&way.dir);
	errno = error;
	return status;
}
