/*
 * way.c: the walk of way.h. Both processes use it. Each name is opened with openat2(2); without it, or if a
 * filter hides it, by openat(2) with O_NOFOLLOW, and the number of the mount is compared after the open.
 * A user who can't write to a folder, or owns nothing in a sticky one, can't exchange what is in it: so the way
 * stays as it was walked.
 */
#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#ifndef STATX_MNT_ID /* musl 1.2.3 */
#include <linux/stat.h>
#endif
#else
#define O_PATH O_RDONLY
#endif

#include "owner.h"
#include "rest.h"
#include "xio.h"

#define LINKS_MAX 40
#define FOLDER (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* --- one name, perhaps never across a mount -------------------------------------------- */

#ifdef __linux__

/* Before Linux 5.8 only /proc says it. */
static bool mount_from_proc(int fd, uint64_t *id)
{
	char text[256] = "";
	const char *line;
	ssize_t n;
	int info;

	snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", fd);
	info = xopen(text, O_RDONLY, 0);
	n = info < 0 ? 0 : xread(info, text, sizeof(text) - 1);
	text[MAX_OF(n, 0)] = '\0';
	xclose(&info);
	line = strstr(text, "mnt_id:");
	if (line)
		*id = strtoull(line + strlen("mnt_id:"), NULL, 10);
	return line != NULL;
}

static bool mount_of(int fd, uint64_t *id)
{
	struct statx st;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return mount_from_proc(fd, id);
	*id = st.stx_mnt_id;
	return true;
}

static int open_resolved(int dir, const char *name, int flags, bool crossing)
{
	return (int)syscall(SYS_openat2, dir, name, &(struct open_how){
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | (crossing ? 0 : RESOLVE_NO_XDEV),
	}, sizeof(struct open_how));
}

#else

static bool mount_of(int fd, uint64_t *id)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	*id = (uint64_t)st.st_dev;
	return true;
}

static int open_resolved(int dir, const char *name, int flags, bool crossing)
{
	(void)dir, (void)name, (void)flags, (void)crossing;
	return errno = ENOSYS, -1;
}

#endif

/* When in doubt, don't enter. */
static int open_and_compare(int dir, const char *name, int flags, bool crossing)
{
	int fd = openat(dir, name, flags, 0);
	uint64_t ours, above;

	if (fd >= 0 && !crossing && !(mount_of(fd, &ours) && mount_of(dir, &above) && ours == above)) {
		xclose(&fd);
		errno = EBUSY;
	}
	return fd;
}

int way_open_entry(int dir, const char *name, int flags, bool crossing)
{
	int fd;

	do
		fd = open_resolved(dir, name, flags, crossing);
	while (fd < 0 && rest_again());
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_and_compare(dir, name, flags, crossing);
	if (fd < 0 && errno == EXDEV)
		errno = EBUSY;
	return fd;
}

/* --- the walk -------------------------------------------------------------------------- */

struct walk {
	struct way *way;
	char at[PATH_MAX];   /* where it is */
	char rest[PATH_MAX]; /* where it still goes; in arrays, since a removal needs no memory */
	int links;
	mode_t make;
	bool shared;         /* others may write to this folder, which is sticky */
};

static int say(struct walk *k, const char *name)
{
	size_t n = strlen(k->at);

	if (n + strlen(name) + 2 > sizeof(k->at))
		return errno = ENAMETOOLONG, -1;
	stpcpy(stpcpy(k->at + n, n > 1 || k->at[0] != '/' ? "/" : ""), name);
	return 0;
}

static int refuse(struct walk *k, const char *why, const char *fix)
{
	snprintf(k->way->refused, sizeof(k->way->refused), "%.400s: %s; %s", k->at, why, fix);
	return errno = EPERM, -1;
}

static int refuse_foreign(struct walk *k, const struct stat *st)
{
	char why[100];

	snprintf(why, sizeof(why), "it is owned by neither you nor root, but by user %u", (unsigned)st->st_uid);
	return refuse(k, why, "give it to you or root (chown), or name its folder in RUNNER_TRUST");
}

/* This is the next folder; who may exchange what is in it? */
static int enter(struct walk *k, int fd)
{
	struct stat st;
	const char *why;

	xclose(&k->way->dir);
	k->way->dir = fd;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	k->shared = (st.st_mode & S_IWOTH) != 0;
	why = owner_refuse(&st, k->at);
	if (why && strcmp(why, OWNER_WORLD_WRITABLE) != 0)
		return refuse_foreign(k, &st);
	return why ? refuse(k, why, "others could put something else in the way: chmod o-w or +t") : 0;
}

static int start_at(struct walk *k, const char *at, const char *dir, const char *rest)
{
	strcpy(k->at, at);
	memmove(k->rest, rest, strlen(rest) + 1);
	return enter(k, xopen(dir, FOLDER, 0));
}

/* Of a path below the working directory, that one is open already. */
static int start(struct walk *k, const char *path)
{
	char cwd[PATH_MAX];
	size_t n = getcwd(cwd, sizeof(cwd)) ? strlen(cwd) : 0;

	if (path[0] != '/')
		return start_at(k, n ? cwd : ".", ".", path);
	if (n > 1 && owner_is_below(path, cwd))
		return start_at(k, cwd, ".", path + n);
	return start_at(k, "/", "/", path);
}

/* Read by its descriptor: whatever has the name by now, the owner is that of the text. */
static ssize_t read_link(int dir, const char *name, char text[PATH_MAX], struct stat *st)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", text, PATH_MAX - 1);

	if (fd >= 0 && (n < 0 || fstat(fd, st) < 0)) {
		errno = errno == ENOENT || errno == EINVAL ? ENOTDIR : errno; /* it is no link */
		n = -1;
	}
	xclose(&fd);
	return n;
}

/* What the link says comes before the rest of the way. */
static int follow(struct walk *k, const char *name)
{
	char text[PATH_MAX];
	struct stat st;
	ssize_t n = read_link(k->way->dir, name, text, &st);

	if (n < 0)
		return -1;
	if (k->shared || !owner_is_trusted(&st, k->at))
		return refuse(k, k->shared ? "it is a link in a folder that others may write to" : "it is another user's link",
		              "name what it leads to");
	if (++k->links > LINKS_MAX)
		return errno = ELOOP, -1;
	if ((size_t)n + strlen(k->rest) + 2 > sizeof(text))
		return errno = ENAMETOOLONG, -1;
	text[n] = '/';
	strcpy(text + n + 1, k->rest);
	if (text[0] == '/')
		return start_at(k, "/", "/", text);
	strcpy(k->rest, text);
	k->at[MAX_OF(strrchr(k->at, '/') - k->at, 1)] = '\0';
	return 0;
}

/* A new one is on the disk, unless `dir` can't be read, and so not be synchronised. */
static bool have_folder(int dir, const char *name, mode_t mode)
{
	int fd, status;

	if (mkdirat(dir, name, mode) < 0)
		return errno == EEXIST;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	status = fd < 0 ? -(errno != EACCES) : fsync(fd);
	xclose(&fd);
	return status == 0;
}

static int open_folder(const struct walk *k, const char *name)
{
	int fd = way_open_entry(k->way->dir, name, FOLDER, !k->shared);

	if (fd < 0 && errno == ENOENT && k->make && have_folder(k->way->dir, name, k->make))
		fd = way_open_entry(k->way->dir, name, FOLDER, !k->shared);
	return fd;
}

static int step(struct walk *k, const char *name)
{
	int fd = open_folder(k, name), why = errno;

	if (say(k, name) < 0)
		return xclose(&fd), -1;
	if (fd >= 0)
		return enter(k, fd);
	if (why == ENOTDIR || why == ELOOP)
		return follow(k, name);
	if (why == EBUSY)
		return refuse(k, "it is a mount in a folder that others may write to", "name it as it is called elsewhere");
	return errno = why, -1;
}

static int walk(struct walk *k)
{
	char name[NAME_MAX + 1];

	for (;;) {
		size_t slashes = strspn(k->rest, "/"), n = strcspn(k->rest + slashes, "/");

		if (n == 0)
			return 0;
		if (n > NAME_MAX)
			return errno = ENAMETOOLONG, -1;
		memcpy(name, k->rest + slashes, n);
		name[n] = '\0';
		memmove(k->rest, k->rest + slashes + n, strlen(k->rest + slashes + n) + 1);
		if (strcmp(name, ".") != 0 && step(k, name) < 0)
			return -1;
	}
}

/* Where others may write, they may have put it there. */
static int check_entry(struct walk *k)
{
	struct stat st;

	if (!k->shared || fstatat(k->way->dir, k->way->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return !k->shared || errno == ENOENT ? 0 : -1;
	if (say(k, k->way->name) < 0)
		return -1;
	return owner_is_trusted(&st, k->at) ? 0 : refuse_foreign(k, &st);
}

int way_open(struct way *w, const char *path, mode_t make)
{
	struct walk k = { .way = w, .make = make };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char parent[PATH_MAX];
	int status;

	w->refused[0] = '\0';
	if ((size_t)(name - path) >= sizeof(parent) || strlen(name) > NAME_MAX)
		return errno = ENAMETOOLONG, -1;
	memcpy(parent, path, (size_t)(name - path));
	parent[name - path] = '\0';
	strcpy(w->name, name);
	status = start(&k, parent) < 0 || walk(&k) < 0 || check_entry(&k) < 0 ? -1 : 0;
	if (status < 0)
		xclose(&w->dir);
	return status;
}
