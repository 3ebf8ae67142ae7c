/*
 * trust.c: the checks of trust.h. Runs in the worker. Files are checked once open, so
 * that no rename can come between; folders are checked by name, since whoever can't
 * write to any of them can't exchange what is in them.
 */
#include "trust.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASES_MAX 16
#define CHECKED_MAX 32

/* --- whose ------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *base)
{
	size_t n = strlen(base);

	if (strcmp(base, ".") == 0)
		return path[0] != '/';
	return strncmp(path, base, n) == 0 && (path[n] == '\0' || path[n] == '/' || (n > 0 && base[n - 1] == '/'));
}

/* RUNNER_TRUST=DIR: files below DIR may belong to DIR's owner. */
static bool is_admitted(uid_t owner, const char *path)
{
	const char *dir = getenv("RUNNER_TRUST");
	char real_dir[PATH_MAX], real_path[PATH_MAX];
	struct stat st;

	return dir && dir[0] == '/' && realpath(dir, real_dir) && realpath(path, real_path) &&
	       is_below(real_path, real_dir) && stat(real_dir, &st) == 0 && st.st_uid == owner;
}

static const char *refuse_mode(const struct stat *st)
{
	if ((st->st_mode & S_IWOTH) && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return "it is world-writable";
	return NULL;
}

static bool is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

const char *trust_refuse_owner(const struct stat *st)
{
	return is_ours(st) ? refuse_mode(st) : "it is owned by neither you nor root";
}

const char *trust_refuse(const struct stat *st, const char *path)
{
	if (!is_ours(st) && is_admitted(st->st_uid, path))
		return refuse_mode(st);
	return trust_refuse_owner(st);
}

/* --- folders ----------------------------------------------------------------------- */

static char *bases[BASES_MAX], *checked[CHECKED_MAX];
static size_t base_count, checked_count;

static bool has(char *const *list, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

/* One that can't be remembered is checked again. */
static void remember(char **list, size_t *count, size_t max, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = *count < max && !has(list, *count, text) ? malloc(size) : NULL;

	if (copy)
		list[(*count)++] = memcpy(copy, text, size);
}

static size_t base_length(const char *path)
{
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < base_count; i++)
		if (is_below(path, bases[i]))
			most = MIN_OF(most, strlen(bases[i]));
	return most;
}

/* "a/b/" and "a/b" → "a", "a" → ".", "/a" → "/". */
static void cut_to_parent(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	path[n] = '\0';
	if (n == 0)
		strcpy(path, ".");
}

void trust_add_commands(const char *folder)
{
	char base[PATH_MAX];

	if (strlen(folder) >= sizeof(base))
		return;
	strcpy(base, folder);
	cut_to_parent(base);
	remember(bases, &base_count, BASES_MAX, base);
}

static const char *refuse_folder(const char *folder)
{
	struct stat st;
	const char *why;

	if (has(checked, checked_count, folder))
		return NULL;
	if (stat(folder, &st) < 0)
		return NULL; /* nothing can be opened in it either */
	why = trust_refuse(&st, folder);
	if (!why)
		remember(checked, &checked_count, CHECKED_MAX, folder);
	return why;
}

const char *trust_refuse_folders(const char *path, char *where)
{
	size_t top = base_length(path);
	const char *why;

	if (strlen(path) >= PATH_MAX)
		return strcpy(where, "."), "its path is too long";
	strcpy(where, path);
	do {
		cut_to_parent(where);
		why = refuse_folder(where);
	} while (!why && top != SIZE_MAX && strlen(where) > MAX_OF(top, (size_t)1));
	return why;
}
