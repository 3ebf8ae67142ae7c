/*
 * keep.c: see keep.h. Runs where an answer was too large: in the supervisor, and in a worker that serves clients.
 */
#include "keep.h"

#include <ctype.h>
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

#define NO_PLACE EDOM

/* The folder as lua/core/own_state.lua knows it; 0, or an errno. */
static int folder_of(char path[KEEP_PATH])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME"), *id = getenv("RUNNER_INSTANCE_ID");
	bool own = state && state[0] == '/', plain = id && isalnum((unsigned char)id[0]);
	const char *base = own ? state : home;
	struct stat st;

	for (const char *c = id; plain && *c; c++)
		plain = isalnum((unsigned char)*c) || *c == '_' || *c == '-';
	if (!base || base[0] != '/' || (!own && (stat(base, &st) < 0 || !S_ISDIR(st.st_mode))))
		return NO_PLACE;
	return snprintf(path, KEEP_PATH, "%s%s/runner%s%s/answers", base, own ? "" : "/.local/state", plain ? "/instances/" : "",
	                plain ? id : "") < KEEP_PATH - 64 ? 0 : ENAMETOOLONG;
}

const char *keep_expires(char text[32])
{
	struct timespec at;

	wall_now(&at);
	at.tv_sec += KEEP_SECONDS;
	return rfc3339_format(&at, text);
}

const char *keep_reason(int error)
{
	return error == NO_PLACE ? "XDG_STATE_HOME is no absolute path, and HOME is no directory" :
	       error == ELOOP || error == ENOTDIR ? "the folder 'answers' of the state is a link, or no folder" : strerror(error);
}

/* The folder itself is no link, which would lead to files that aren't ours, and the caller's. -1 with errno. */
static int open_folder(const char *path)
{
	struct way way = WAY_INIT;
	struct stat st;
	int fd = -1, error;

	if (way_open(&way, path, 0700) < 0)
		return -1;
	if (mkdirat(way.dir, way.name, 0700) == 0 || errno == EEXIST)
		fd = openat(way.dir, way.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
		xclose(&fd);
		error = EPERM;
	}
	xclose(&way.dir);
	errno = error;
	return fd;
}

bool keep_is_whose(const char *s)
{
	return s[0] == '-' && strspn(s + 1, "0123456789abcdef") == KEEP_WHOSE - 1 && !s[KEEP_WHOSE];
}

/* req_, a ULID, whose it is, and .json or .txt, or .N and any ending: nothing else is ours. */
static bool is_ours(const char *name)
{
	size_t n = strspn(name, "req_0123456789ABCDEFGHJKMNPQRSTVWXYZ");

	if (strncmp(name, "req_", 4) != 0 || n != 30 || strcspn(name + 4, "req_") < 26)
		return false;
	name += n;
	name += name[0] == '-' && strspn(name + 1, "0123456789abcdef") == KEEP_WHOSE - 1 ? KEEP_WHOSE : 0;
	n = name[0] == '.' ? strspn(name + 1, "0123456789") : 0;
	if (n == 0 || name[1 + n] != '.')
		return strcmp(name, ".json") == 0 || strcmp(name, ".txt") == 0;
	name += 2 + n;
	n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
	return n > 0 && n <= KEEP_ENDING && !name[n];
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
		if (!is_ours(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		st.st_mtime = MIN_OF(st.st_mtime, st.st_ctime); /* none is from the future */
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
	mode_t mask = umask(077);
	int dir = -1, fd = -1, status = -1, error = folder_of(path);

	if (error == 0) {
		dir = open_folder(path);
		if (dir >= 0) {
			make_room(dir, n);
			fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		}
		if (fd >= 0 && xwrite_all(fd, s, n) == 0)
			status = 0;
		error = errno;
		if (fd >= 0 && status < 0)
			unlinkat(dir, name, 0);
		stpcpy(stpcpy(path + strlen(path), "/"), name);
	}
	xclose(&fd);
	xclose(&dir);
	umask(mask);
	errno = error;
	return status;
}
