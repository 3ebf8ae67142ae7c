/*
 * known.c: see known.h. A run of a known project costs one open, one fstat and one read.
 */
#include "known.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/sha256.h"
#include "../common/xio.h"

#define NAME_DIGITS 32

/* The path of the project's file, and where in it the part begins that may be created; false: there
 * is no place for state, or no room for its path. */
static bool path_of(const char *root, char path[PATH_MAX], size_t *creatable)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const bool own = state && state[0] == '/';
	const char *base = own ? state : home, *below = own ? "" : "/.local/state";
	char digest[SHA256_HEX];

	if (!base || base[0] != '/' || strlen(base) + 100 > PATH_MAX)
		return false;
	sha256_hex(root, strlen(root), digest);
	digest[NAME_DIGITS] = '\0';
	stpcpy(stpcpy(stpcpy(stpcpy(path, base), below), "/runner/projects/"), digest);
	*creatable = own ? 0 : strlen(base);
	return true;
}

/* Does the file at `path` say so, and is it ours alone? */
static bool says(const char *path, const char *root)
{
	char text[PATH_MAX];
	struct stat st;
	ssize_t n = -1;
	int fd = xopen(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);

	text[0] = '\0'; /* not all of it, which is a page to fill */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 07777) == 0600)
		n = xread(fd, text, sizeof(text));
	xclose(&fd);
	return n > 0 && (size_t)n == strlen(root) && memcmp(text, root, (size_t)n) == 0;
}

/* What known_has() has found out of the one project of this process. */
static struct {
	size_t creatable;
	bool asked, has_path, is_known;
	char path[PATH_MAX];
} last;

bool known_has(const char *root)
{
	last.asked = true;
	last.has_path = path_of(root, last.path, &last.creatable);
	last.is_known = last.has_path && says(last.path, root);
	return last.is_known;
}

/* The folders of `path`, from its byte `from` on. */
static void make_folders(char *path, size_t from)
{
	for (char *slash = strchr(path + from + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) == 0)
			(void)!xsync_folder(path); /* what is on the disk may be in it later */
		*slash = '/';
	}
}

static int create(const char *path)
{
	return xopen(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

bool known_fits(size_t n)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || n <= limit.rlim_cur;
}

void known_add(const char *root)
{
	int fd;

	if (!last.asked)
		known_has(root);
	if (last.is_known || !last.has_path || strlen(root) >= PATH_MAX || !known_fits(strlen(root)))
		return;
	unlink(last.path); /* it says something else */
	fd = create(last.path);
	if (fd < 0 && errno == ENOENT) {
		make_folders(last.path, last.creatable);
		fd = create(last.path);
	}
	if (fd >= 0 && (fchmod(fd, 0600) < 0 || xwrite_all(fd, root, strlen(root)) < 0))
		unlink(last.path);
	xclose(&fd);
}
