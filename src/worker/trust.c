/*
 * trust.c: the checks of trust.h. Runs in the worker. Files are checked once open, so
 * that no rename can come between; folders are checked by name, since a user who can't
 * write to any of them can't exchange what is in them.
 */
#include "trust.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../common/owner.h"

#define BASES_MAX 16
#define CHECKED_MAX 32

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
		if (owner_is_below(path, bases[i]))
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
	why = owner_refuse(&st, folder);
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
