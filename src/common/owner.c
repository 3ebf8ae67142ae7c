/* owner.c: see owner.h. Both processes use it. */
#include "owner.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool owner_is_below(const char *path, const char *base)
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
	       owner_is_below(real_path, real_dir) && stat(real_dir, &st) == 0 && st.st_uid == owner;
}

bool owner_is_trusted(const struct stat *st, const char *path)
{
	return st->st_uid == 0 || st->st_uid == geteuid() || is_admitted(st->st_uid, path);
}

const char *owner_refuse(const struct stat *st, const char *path)
{
	if (!owner_is_trusted(st, path))
		return "it is owned by neither you nor root";
	if ((st->st_mode & S_IWOTH) && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return OWNER_WORLD_WRITABLE;
	return NULL;
}
