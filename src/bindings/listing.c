/*
 * listing.c: the Lua files of a folder, with a mark for each by which a cache knows that it is unchanged
 * (lua/project/declarations.lua). Runs in the worker.
 *
 *   folder(path)    names, marks: those of NAME.lua that are regular files, sorted; with their marks, or
 *                   false; then the names of folders. nil where it can't be read
 *   sorted(t)       its string keys in order: faster than table.sort, which a Tab would feel
 *   newest(path, prefix, before)   at most 64 names of that form (the prefix, then letters and digits), the greatest first,
 *                   all below `before` if that is given; nil where the folder can't be read. Its size costs no memory
 *   mark(path)      the mark of any regular file; nil: none, or it is too young
 *   line(text, at, beginning)  of the line of a cache that begins so (with the newline before it): where that ends,
 *                   "h" or "v", a word, and three texts, its fields; nil: there is none, or it is damaged. The search
 *                   starts at `at`, and then at 1
 *   own(path, max)  the text of a file that is ours alone (regular, our own, mode 0600, no link); else nil
 *   fits(bytes)     may a file of that size be written, as far as the limits of this process say?
 *
 * A mark is device, inode, size, mtime and ctime in ns, owner and mode. A file that was changed less than
 * 2 s ago has none: within the granularity of a file system's clock it may change again, unseen.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/buf.h"
#include "../common/xio.h"
#include "../worker/known.h"
#include "../worker/scratch.h"
#include "fs.h"
#include "bindings.h"

#define YOUNG_NS 2000000000LL
#define MARK_CAP (7 * 17)

/* --- marks ------------------------------------------------------------------------------ */

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static char *add_hex(char *at, uint64_t n)
{
	char digits[16];
	int count = 0;

	do
		digits[count++] = "0123456789abcdef"[n & 15];
	while (n >>= 4);
	while (count > 0)
		*at++ = digits[--count];
	*at++ = '.';
	return at;
}

/* The mark, or false where the file is too young at `now`. */
static void push_mark(lua_State *L, const struct stat *st, int64_t now)
{
	char mark[MARK_CAP], *at = mark;
	int64_t changed = ns_of(st->st_mtim), status = ns_of(st->st_ctim);

	if (now - YOUNG_NS < changed || now - YOUNG_NS < status) {
		lua_pushboolean(L, 0);
		return;
	}
	at = add_hex(add_hex(add_hex(at, st->st_dev), st->st_ino), (uint64_t)st->st_size);
	at = add_hex(add_hex(at, (uint64_t)changed), (uint64_t)status);
	at = add_hex(add_hex(at, st->st_uid), st->st_mode);
	lua_pushlstring(L, mark, (size_t)(at - 1 - mark));
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ns_of(now);
}

static int l_mark(lua_State *L)
{
	struct stat st;

	if (stat(luaL_checkstring(L, 1), &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	push_mark(L, &st, now_ns());
	return lua_toboolean(L, -1) ? 1 : 0;
}

/* --- a folder ----------------------------------------------------------------------------- */

static bool is_lua(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && memcmp(name + n - 4, ".lua", 4) == 0;
}

/* The names that may be commands or groups, each with its NUL. */
static int read_names(const char *path, struct buf *out)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && (is_lua(entry->d_name) || entry->d_type == DT_DIR || entry->d_type == DT_LNK ||
						entry->d_type == DT_UNKNOWN))
			buf_add(out, entry->d_name, strlen(entry->d_name) + 1);
	closedir(dir);
	return out->failed ? -1 : 0;
}

static void append(lua_State *L, int list, const char *name)
{
	lua_pushstring(L, name);
	lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/* What each name is; one that has gone is of no type. */
static int look(const char *path, const struct buf *order, size_t count, struct buf *out)
{
	int fd = xopen(path, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct stat st = { 0 };

		fstatat(fd, ((const char *const *)(const void *)order->data)[i], &st, 0);
		buf_add(out, &st, sizeof(st));
	}
	xclose(&fd);
	return out->failed ? -1 : 0;
}

#define NEWEST 64
#define NAME_CAP 64

struct newest {
	size_t count;
	char names[NEWEST][NAME_CAP]; /* the greatest first */
};

static void keep_name(struct newest *n, const char *name)
{
	size_t at = n->count;

	if (at == NEWEST && strcmp(name, n->names[--at]) < 0)
		return;
	for (; at > 0 && strcmp(name, n->names[at - 1]) > 0; at--)
		memcpy(n->names[at], n->names[at - 1], NAME_CAP);
	memcpy(n->names[at], name, strlen(name) + 1);
	n->count += n->count < NEWEST;
}

static bool has_form(const char *name, const char *prefix, size_t prefix_len)
{
	size_t n = strlen(name);

	if (n <= prefix_len || n >= NAME_CAP || memcmp(name, prefix, prefix_len) != 0)
		return false;
	while (n > prefix_len && isalnum((unsigned char)name[n - 1]))
		n--;
	return n == prefix_len;
}

static int l_newest(lua_State *L)
{
	size_t prefix_len;
	const char *path = luaL_checkstring(L, 1), *prefix = luaL_checklstring(L, 2, &prefix_len), *before = luaL_optstring(L, 3, NULL);
	struct newest n = { .count = 0 };
	const struct dirent *entry;
	DIR *dir = opendir(path);

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (has_form(entry->d_name, prefix, prefix_len) && (!before || strcmp(entry->d_name, before) < 0))
			keep_name(&n, entry->d_name);
	closedir(dir);
	lua_createtable(L, (int)n.count, 0);
	for (size_t i = 0; i < n.count; i++)
		append(L, lua_gettop(L), n.names[i]);
	return 1;
}

static int l_folder(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct buf *names = scratch_push(L), *order = scratch_push(L), *stats = scratch_push(L);
	int64_t now = now_ns();
	int first = lua_gettop(L) + 1;
	lua_Integer files = 0;
	size_t count;

	if (read_names(path, names) < 0)
		return 0;
	count = fs_sort_names(names, order);
	if (order->failed || look(path, order, count, stats) < 0)
		return 0;
	lua_createtable(L, (int)count, 0);
	lua_createtable(L, (int)count, 0);
	lua_newtable(L);
	for (size_t i = 0; i < count; i++) {
		const char *name = ((const char *const *)(const void *)order->data)[i];
		const struct stat *st = (const struct stat *)(const void *)stats->data + i;

		if (S_ISDIR(st->st_mode)) {
			append(L, first + 2, name);
		} else if (S_ISREG(st->st_mode) && is_lua(name)) {
			lua_pushstring(L, name);
			lua_rawseti(L, first, ++files);
			push_mark(L, st, now);
			lua_rawseti(L, first + 1, files);
		}
	}
	return 3;
}

/* sorted(t): the string keys of a table, in the order of their bytes. */
static int l_sorted(lua_State *L)
{
	struct buf *order = scratch_push(L);
	lua_Integer at = 0;
	size_t count;

	luaL_checktype(L, 1, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
		if (lua_type(L, -2) == LUA_TSTRING) {
			const char *key = lua_tostring(L, -2); /* the table keeps it */
			buf_add(order, &key, sizeof(key));
		}
	count = order->failed ? 0 : order->len / sizeof(char *);
	if (count > 0)
		qsort(order->data, count, sizeof(char *), fs_compare_names);
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_pushstring(L, ((const char *const *)(const void *)order->data)[i]);
		lua_rawseti(L, -2, ++at);
	}
	return 1;
}

/* --- the lines of a cache ------------------------------------------------------------------ */

enum { SHOWN, DANGER, REQUIRED, ALIASES, DESCRIPTION, FIELDS };

struct span {
	const char *at;
	size_t len;
};

/* Where the line is: most often the next one, since lines and questions are both sorted. */
static const char *find_line(const char *text, size_t len, size_t from, const char *beginning, size_t n)
{
	const char *next = memchr(text + from, '\n', len - from), *found;

	if (next && (size_t)(text + len - next) >= n && memcmp(next, beginning, n) == 0)
		return next;
	found = memmem(text + from, len - from, beginning, n);
	return found ? found : memmem(text, len, beginning, n);
}

static bool split(const char *at, const char *end, struct span fields[FIELDS])
{
	for (int i = 0; i < FIELDS; i++) {
		const char *tab = i < FIELDS - 1 ? memchr(at, '\t', (size_t)(end - at)) : end;

		if (!tab)
			return false;
		fields[i] = (struct span){ at, (size_t)(tab - at) };
		at = tab + 1;
	}
	return true;
}

static bool is_word(struct span word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.at[i] < 'a' || word.at[i] > 'z')
			return false;
	return word.len > 0;
}

static int l_line(lua_State *L)
{
	size_t len, n;
	const char *text = luaL_checklstring(L, 1, &len);
	lua_Integer at = luaL_checkinteger(L, 2);
	const char *beginning = luaL_checklstring(L, 3, &n), *line, *end;
	struct span fields[FIELDS];

	luaL_argcheck(L, at >= 1 && (size_t)at <= len + 1, 2, "out of range");
	line = find_line(text, len, (size_t)at - 1, beginning, n);
	if (!line)
		return 0;
	line += n;
	end = memchr(line, '\n', (size_t)(text + len - line));
	if (!split(line, end ? end : text + len, fields) || fields[SHOWN].len != 1 ||
		(*fields[SHOWN].at != 'h' && *fields[SHOWN].at != 'v') || !is_word(fields[DANGER]))
		return 0;
	lua_pushinteger(L, line - text);
	for (int i = 0; i < FIELDS; i++)
		lua_pushlstring(L, fields[i].at, fields[i].len);
	return 1 + FIELDS;
}

/* --- our own files -------------------------------------------------------------------------- */

static int read_own(const char *path, size_t max, struct buf *out)
{
	char part[16384];
	struct stat st;
	ssize_t n = -1;
	int fd = xopen(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 07777) == 0600)
		while ((n = xread(fd, part, sizeof(part))) > 0 && out->len <= max)
			buf_add(out, part, (size_t)n);
	xclose(&fd);
	return n == 0 && out->len <= max && !out->failed ? 0 : -1;
}

static int l_own(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	size_t max = (size_t)luaL_checkinteger(L, 2);
	struct buf *text = scratch_push(L);

	if (read_own(path, max, text) < 0)
		return 0;
	lua_pushlstring(L, text->len ? text->data : "", text->len);
	return 1;
}

static int l_fits(lua_State *L)
{
	lua_pushboolean(L, known_fits((size_t)luaL_checkinteger(L, 1)));
	return 1;
}

static const luaL_Reg functions[] = {
	{ "fits", l_fits },
	{ "folder", l_folder },
	{ "line", l_line },
	{ "mark", l_mark },
	{ "newest", l_newest },
	{ "own", l_own },
	{ "sorted", l_sorted },
	{ NULL, NULL },
};

int luaopen_runner_listing(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
