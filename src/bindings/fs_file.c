/*
 * fs_file.c: reads and replaces whole files. A reader of a path that fs.write or
 * fs.swap_symlink changes sees either the old state or the new one, even after a
 * crash. Runs in the worker.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/mono.h"
#include "../common/xio.h"
#include "../worker/cancel.h"
#include "../worker/scratch.h"

#define CHUNK ((size_t)128 << 10)
#define LITTLE 4095 /* most files of ours have less */
#define READ_MAX_DEFAULT ((lua_Integer)256 << 20)

/* --- read --------------------------------------------------------------------------- */

/* Pipes and terminals can block; files never return EAGAIN. */
static ssize_t read_some(int fd, void *bytes, size_t n)
{
	for (;;) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int ready = cancel_poll(&wait, 1, MONO_NEVER);
		ssize_t got;

		if (ready == CANCEL_POLL_CANCELLED)
			return errno = ECANCELED, -1;
		if (ready < 0)
			return -1;
		got = xread(fd, bytes, n);
		if (got >= 0 || errno != EAGAIN)
			return got;
	}
}

static int read_all(int fd, size_t max, struct buf *out)
{
	ssize_t got;

	do {
		if (buf_reserve(out, LITTLE) < 0)
			return errno = ENOMEM, -1;
		got = read_some(fd, out->data + out->len, MIN_OF(out->cap - out->len - 1, CHUNK));
		if (got < 0)
			return -1;
		out->len += (size_t)got;
		if (out->len > max)
			return errno = EFBIG, -1;
	} while (got > 0);
	return 0;
}

static int read_path(const char *path, size_t max, struct buf *out)
{
	int fd = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	int status;

	if (fd < 0)
		return -1;
	status = read_all(fd, max, out);
	xclose(&fd);
	return status;
}

/* read(path[, max]): the bytes; EFBIG when there are more than max (256 MiB). */
int fs_lua_read(lua_State *L)
{
	const char *path = fs_path(L, 1);
	lua_Integer max = luaL_optinteger(L, 2, READ_MAX_DEFAULT);
	struct buf *out;

	luaL_argcheck(L, max >= 0, 2, "max must not be negative");
	out = scratch_push(L);
	if (read_path(path, (size_t)max, out) < 0) {
		buf_release(out);
		return fs_fail(L, "read", path, NULL);
	}
	lua_pushlstring(L, buf_cstr(out), out->len);
	buf_release(out);
	return 1;
}

/* --- write ---------------------------------------------------------------------------- */

static int write_bytes(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		size_t step = MIN_OF(n, CHUNK);

		if (fs_go_on() < 0 || xwrite_all(fd, bytes, step) < 0)
			return -1;
		bytes += step;
		n -= step;
	}
	return 0;
}

/* A file that root replaces stays its owner's. No other user can give files away, and a
 * group of the caller's is kept where it may be. */
static int keep_owner(int fd, const struct stat *old)
{
	struct stat now;

	if (fstat(fd, &now) < 0)
		return -1;
	if (now.st_uid == old->st_uid && now.st_gid == old->st_gid)
		return 0;
	if (geteuid() == 0)
		return fchown(fd, old->st_uid, old->st_gid);
	if (fchown(fd, (uid_t)-1, old->st_gid) < 0)
		errno = 0;
	return 0;
}

/* mode < 0: that of the file that is replaced, else what the umask leaves. */
static int set_mode(int fd, const char *path, long mode)
{
	struct stat st;
	bool replaces = lstat(path, &st) == 0 && S_ISREG(st.st_mode);

	if (replaces && keep_owner(fd, &st) < 0)
		return -1;
	if (mode < 0 && !replaces)
		return 0;
	return fchmod(fd, mode < 0 ? st.st_mode & 0777 : (mode_t)mode);
}

static int fill(int fd, const char *path, const char *bytes, size_t n, long mode, bool durable)
{
	if (write_bytes(fd, bytes, n) < 0 || set_mode(fd, path, mode) < 0)
		return -1;
	return durable ? fsync(fd) : 0;
}

/* Rename the finished temporary file into place, or remove it. */
static int settle(int status, const char *temporary, const char *path, bool durable)
{
	int saved;

	if (status == 0 && rename(temporary, path) == 0)
		return durable ? xsync_folder(path) : 0;
	saved = errno;
	unlink(temporary);
	errno = saved;
	return -1;
}

/* A device, a pipe, a socket: also behind a link. A file in its place would take it away. */
static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* O_NONBLOCK for the open alone: a FIFO without a reader fails with ENXIO instead of blocking. */
static int write_through(const char *path, const char *bytes, size_t n)
{
	int fd = xopen(path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
	int status;

	if (fd < 0)
		return -1;
	status = fcntl(fd, F_SETFL, 0) < 0 ? -1 : write_bytes(fd, bytes, n);
	xclose(&fd);
	return status;
}

static int write_path(const char *path, const char *bytes, size_t n, long mode, bool durable)
{
	char temporary[PATH_MAX];
	int fd, status;

	if (is_special(path))
		return write_through(path, bytes, n);
	if (fs_temporary(path, temporary, sizeof(temporary)) < 0)
		return -1;
	fd = xopen(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode < 0 ? 0666 : 0600);
	if (fd < 0)
		return -1;
	status = fill(fd, path, bytes, n, mode, durable);
	xclose(&fd);
	return settle(status, temporary, path, durable);
}

/* write(path, text[, mode[, durable=true]]): atomic and durable. A symbolic link at
 * path is replaced, not followed; a device or a pipe is written to. Without durable, a
 * power loss may empty or undo it. */
int fs_lua_write(lua_State *L)
{
	const char *path = fs_path(L, 1);
	size_t n;
	const char *bytes = luaL_checklstring(L, 2, &n);
	long mode = lua_isnoneornil(L, 3) ? -1 : (long)fs_mode(L, 3, 0);

	bool durable = lua_isnoneornil(L, 4) || lua_toboolean(L, 4);

	return fs_result(L, write_path(path, bytes, n, mode, durable), "write", path, NULL);
}

static int create_path(const char *path, const char *bytes, size_t n)
{
	int fd = xopen(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
	int status, saved;

	if (fd < 0)
		return -1;
	status = write_bytes(fd, bytes, n) < 0 ? -1 : fsync(fd);
	xclose(&fd);
	if (status == 0)
		return xsync_folder(path);
	saved = errno;
	unlink(path);
	errno = saved;
	return -1;
}

/* create(path, text): a file of a name that is free, else EEXIST; of those that
 * try at once, one does. What can't be completed is taken away. */
int fs_lua_create(lua_State *L)
{
	const char *path = fs_path(L, 1);
	size_t n;
	const char *bytes = luaL_checklstring(L, 2, &n);

	return fs_result(L, create_path(path, bytes, n), "create", path, NULL);
}

/* --- append --------------------------------------------------------------------------- */

/* A regular file: never a link, nothing that blocks. mode < 0: what the umask leaves. */
static int open_lines(const char *path, long mode, off_t *size)
{
	int fd = xopen(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
	               mode < 0 ? 0666 : 0600);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		goto failed;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		goto failed;
	}
	if (st.st_size == 0 && mode >= 0 && fchmod(fd, (mode_t)mode) < 0)
		goto failed;
	*size = st.st_size;
	return fd;
failed:
	xclose(&fd);
	return -1;
}

/* A line that a power loss cut short is ended first. Returns where the text starts. */
static off_t append_line(int fd, off_t size, const char *bytes, size_t n)
{
	char last = '\n';

	if (size > 0 && (lseek(fd, -1, SEEK_END) < 0 || xread(fd, &last, 1) < 0))
		return -1;
	if (last != '\n' && xwrite_all(fd, "\n", 1) < 0)
		return -1;
	return xwrite_all(fd, bytes, n) < 0 ? -1 : size + (last != '\n');
}

static off_t append_path(const char *path, const char *bytes, size_t n, long mode)
{
	off_t size = 0, at;
	int fd = open_lines(path, mode, &size), saved;

	if (fd < 0)
		return -1;
	at = append_line(fd, size, bytes, n);
	saved = errno;
	if (at < 0)
		(void)!ftruncate(fd, size); /* best effort: else the next line is separated from the rest */
	if (close(fd) < 0 && at >= 0 && errno != EINTR)
		return -1; /* NFS may say as late as here, and only here, that what was written is lost */
	errno = saved;
	return at;
}

/* append(path, line[, mode]): the offset of the line, which ends with a newline, in a regular
 * file, made where there is none. Whole, or not at all, unless closing the file fails, as on NFS; not durable: a
 * power loss may take it away. One process at a time may append to a file. */
int fs_lua_append(lua_State *L)
{
	const char *path = fs_path(L, 1);
	size_t n;
	const char *bytes = luaL_checklstring(L, 2, &n);
	long mode = lua_isnoneornil(L, 3) ? -1 : (long)fs_mode(L, 3, 0);
	off_t at;

	luaL_argcheck(L, n > 0 && bytes[n - 1] == '\n', 2, "a line ends with a newline");
	at = append_path(path, bytes, n, mode);
	if (at < 0)
		return fs_fail(L, "append", path, NULL);
	lua_pushinteger(L, at);
	return 1;
}

/* --- a finished file ---------------------------------------------------------------------- */

static int replace_path(const char *from, const char *to, long mode)
{
	int fd, status;

	if (is_special(to)) {
		errno = EINVAL;
		return -1;
	}
	fd = xopen(from, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd < 0)
		return -1;
	status = set_mode(fd, to, mode) < 0 ? -1 : fsync(fd);
	xclose(&fd);
	if (status < 0 || rename(from, to) < 0)
		return -1;
	return xsync_folder(to);
}

/* replace(from, to[, mode]): a finished file goes to the place of another, as write does
 * it: whole, durable, with the owner and, without a mode, the permissions of the regular
 * file that is there. EINVAL for a device, a pipe or a socket. */
int fs_lua_replace(lua_State *L)
{
	const char *from = fs_path(L, 1), *to = fs_path(L, 2);
	long mode = lua_isnoneornil(L, 3) ? -1 : (long)fs_mode(L, 3, 0);

	return fs_result(L, replace_path(from, to, mode), "replace", from, to);
}

/* --- symbolic links and durability ------------------------------------------------------ */

static int swap_symlink(const char *target, const char *link)
{
	char temporary[PATH_MAX];

	if (fs_temporary(link, temporary, sizeof(temporary)) < 0 || symlink(target, temporary) < 0)
		return -1;
	return settle(0, temporary, link, true);
}

/* swap_symlink(target, link): link points to target from one instant to the
 * next, whatever it was before (but a directory: EISDIR). */
int fs_lua_swap_symlink(lua_State *L)
{
	const char *target = fs_path(L, 1), *link = fs_path(L, 2);

	return fs_result(L, swap_symlink(target, link), "swap_symlink", target, link);
}

int fs_lua_fsync(lua_State *L)
{
	const char *path = fs_path(L, 1);

	return fs_result(L, fs_sync_path(path), "fsync", path, NULL);
}

/* --- copy ------------------------------------------------------------------------------- */

int fs_copy_bytes(int from, int to)
{
	char bytes[64 << 10];
	ssize_t n;

	while ((n = xread(from, bytes, sizeof(bytes))) > 0)
		if (fs_go_on() < 0 || xwrite_all(to, bytes, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}
