/*
 * archive.c: require "runner.archive": what is in a tar file, plain or gzipped, by libarchive, which is
 * opened on first use. Nothing is unpacked: Lua decides what becomes of each entry. Runs in the worker.
 *
 *   open(path)       a reader
 *   reader:next()    {path, type, size, mode, unpacked}, or nothing at the end. type: "file",
 *                    "directory", "link" (either kind) or "other"; unpacked: bytes of the whole
 *                    archive that have been decompressed so far
 *   reader:read(max) the bytes of this file; E2BIG when there are more than max
 *   reader:close()
 *
 * Failures: nil, message, and the errno's name; "PRECONDITION" where libarchive is missing,
 * "EILSEQ" where the file is no such archive, or a damaged one.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef RUNNER_STATIC
#include <archive.h>
#include <archive_entry.h>
#endif

#include "../common/buf.h"
#include "../common/xio.h"
#include "../worker/scratch.h"
#include "bindings.h"
#include "fs.h"
#include "library.h"

#define LIBRARY "libarchive.so.13"
#define READER "runner.archive"
#define BLOCK ((size_t)64 << 10)

#ifndef RUNNER_STATIC
/* archive.h of libarchive 3: the numbers are part of its binary interface. */
enum { ARCHIVE_EOF = 1, ARCHIVE_OK = 0, ARCHIVE_WARN = -20 };

struct archive;
struct archive_entry;
#endif

struct archive_api {
	struct archive *(*read_new)(void);
	int (*read_support_filter_gzip)(struct archive *);
	int (*read_support_format_tar)(struct archive *);
	int (*read_open_fd)(struct archive *, int fd, size_t block);
	int (*read_next_header)(struct archive *, struct archive_entry **);
	ssize_t (*read_data)(struct archive *, void *, size_t);
	int (*read_free)(struct archive *);
	const char *(*error_string)(struct archive *);
	int64_t (*filter_bytes)(struct archive *, int filter);
	const char *(*entry_pathname)(struct archive_entry *);
	const char *(*entry_hardlink)(struct archive_entry *);
	mode_t (*entry_filetype)(struct archive_entry *);
	mode_t (*entry_perm)(struct archive_entry *);
	int64_t (*entry_size)(struct archive_entry *);
};

#define FUNCTION(name) LIBRARY_SYMBOL(struct archive_api, archive_, name)

static const struct library_symbol symbols[] = {
	FUNCTION(read_new),	FUNCTION(read_support_filter_gzip), FUNCTION(read_support_format_tar),
	FUNCTION(read_open_fd),	FUNCTION(read_next_header),	    FUNCTION(read_data),
	FUNCTION(read_free),	FUNCTION(error_string),		    FUNCTION(filter_bytes),
	FUNCTION(entry_pathname), FUNCTION(entry_hardlink),	    FUNCTION(entry_filetype),
	FUNCTION(entry_perm),	FUNCTION(entry_size),
};

static struct archive_api api;
static void *opened;

struct reader {
	struct archive *archive;
	int fd;
};

/* --- opening --------------------------------------------------------------------------- */

static int reader_close(lua_State *L)
{
	struct reader *r = luaL_checkudata(L, 1, READER);

	if (r->archive)
		api.read_free(r->archive);
	r->archive = NULL;
	xclose(&r->fd);
	return 0;
}

static struct reader *check_reader(lua_State *L)
{
	struct reader *r = luaL_checkudata(L, 1, READER);

	luaL_argcheck(L, r->archive != NULL, 1, "the archive is closed");
	return r;
}

static int fail(lua_State *L, struct reader *r)
{
	const char *why = api.error_string(r->archive);

	lua_pushnil(L);
	lua_pushstring(L, why ? why : "the archive can't be read");
	lua_pushliteral(L, "EILSEQ");
	return 3;
}

static int lacks_library(lua_State *L)
{
	lua_pushnil(L);
	lua_pushfstring(L, "Can't load libarchive: %s", library_why(LIBRARY " lacks a function that runner needs"));
	lua_pushliteral(L, "PRECONDITION");
	return 3;
}

/* Of regular files only: a caller that names a pipe would wait for its writer. */
static int open_regular(const char *path)
{
	int fd = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		xclose(&fd);
		errno = EINVAL;
	}
	return fd;
}

static int archive_open(lua_State *L)
{
	const char *path = fs_path(L, 1);
	struct reader *r = lua_newuserdatauv(L, sizeof(*r), 0);

	*r = (struct reader){ .fd = -1 };
	luaL_setmetatable(L, READER);
	if (!opened)
		opened = library_open(LIBRARY, symbols, ARRAY_LEN(symbols), &api);
	if (!opened)
		return lacks_library(L);
	r->fd = open_regular(path);
	if (r->fd < 0)
		return fs_fail(L, "open", path, NULL);
	r->archive = api.read_new();
	if (!r->archive)
		return errno = ENOMEM, fs_fail(L, "open", path, NULL);
	if (api.read_support_filter_gzip(r->archive) != ARCHIVE_OK || api.read_support_format_tar(r->archive) != ARCHIVE_OK ||
	    api.read_open_fd(r->archive, r->fd, BLOCK) != ARCHIVE_OK)
		return fail(L, r);
	return 1;
}

/* --- entries --------------------------------------------------------------------------- */

static const char *type_of(struct archive_entry *entry)
{
	mode_t type = api.entry_filetype(entry);

	if (api.entry_hardlink(entry) || S_ISLNK(type))
		return "link";
	return S_ISREG(type) ? "file" : S_ISDIR(type) ? "directory" : "other";
}

static int push_entry(lua_State *L, struct reader *r, struct archive_entry *entry)
{
	lua_createtable(L, 0, 5);
	lua_pushstring(L, api.entry_pathname(entry));
	lua_setfield(L, -2, "path");
	lua_pushstring(L, type_of(entry));
	lua_setfield(L, -2, "type");
	lua_pushinteger(L, api.entry_size(entry));
	lua_setfield(L, -2, "size");
	lua_pushinteger(L, (lua_Integer)api.entry_perm(entry));
	lua_setfield(L, -2, "mode");
	lua_pushinteger(L, api.filter_bytes(r->archive, 0));
	lua_setfield(L, -2, "unpacked");
	return 1;
}

static int reader_next(lua_State *L)
{
	struct reader *r = check_reader(L);
	struct archive_entry *entry = NULL;
	int status = api.read_next_header(r->archive, &entry);

	if (status == ARCHIVE_EOF)
		return 0;
	if (status < ARCHIVE_WARN || !api.entry_pathname(entry))
		return fail(L, r);
	return push_entry(L, r, entry);
}

static int reader_read(lua_State *L)
{
	struct reader *r = check_reader(L);
	size_t max = (size_t)luaL_checkinteger(L, 2);
	struct buf *out = scratch_push(L);
	ssize_t n = 0;

	while (out->len <= max && buf_reserve(out, BLOCK) == 0 &&
	       (n = api.read_data(r->archive, out->data + out->len, BLOCK)) > 0)
		out->len += (size_t)n;
	if (n < 0)
		return fail(L, r);
	if (out->failed || out->len > max) {
		errno = out->failed ? ENOMEM : E2BIG;
		return fs_fail(L, "read", "the archive", NULL);
	}
	lua_pushlstring(L, buf_cstr(out), out->len);
	buf_release(out);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "__close", reader_close },
	{ "__gc", reader_close },
	{ "close", reader_close },
	{ "next", reader_next },
	{ "read", reader_read },
	{ NULL, NULL },
};

static const luaL_Reg functions[] = {
	{ "open", archive_open },
	{ NULL, NULL },
};

int luaopen_runner_archive(lua_State *L)
{
	if (luaL_newmetatable(L, READER)) {
		luaL_setfuncs(L, methods, 0);
		lua_pushvalue(L, -1);
		lua_setfield(L, -2, "__index");
	}
	lua_pop(L, 1);
	luaL_newlib(L, functions);
	return 1;
}
