/*
 * group.c: cgroup v2 through its files. The worker creates its group and moves
 * in; the supervisor reads, kills and removes it. After any failure there is no
 * group, and the resource limits alone apply.
 */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#include "../common/xio.h"

#define FILE_PATH (GROUP_PATH + 64)
#define FILE_BYTES 4096
#define PRUNE_DEPTH 8
#define MAKE_TRIES 3 /* another runner may mistake our empty group for a leftover */

/* --- files ----------------------------------------------------------------------- */

static const char *path_of(char out[FILE_PATH], const char *dir, const char *name)
{
	snprintf(out, FILE_PATH, "%s/%s", dir, name);
	return out;
}

/* Read a file as a C string. Bytes read, or -1. */
static ssize_t read_file(const char *path, char out[FILE_BYTES])
{
	int fd = xopen(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : xread(fd, out, FILE_BYTES - 1);

	xclose(&fd);
	out[MAX_OF(n, 0)] = '\0';
	return n;
}

static int write_file(const char *dir, const char *name, const char *text)
{
	char path[FILE_PATH];
	int fd = xopen(path_of(path, dir, name), O_WRONLY, 0);
	int status = fd < 0 ? -1 : xwrite_all(fd, text, strlen(text));

	xclose(&fd);
	return status;
}

static int write_number(const char *dir, const char *name, int64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	return write_file(dir, name, text);
}

static bool has_file(const char *dir, const char *name, int mode)
{
	char path[FILE_PATH];

	return access(path_of(path, dir, name), mode) == 0;
}

/* --- where ----------------------------------------------------------------------- */

/* Does the directory have systemd's mark of delegation, an attribute "1"? */
static bool is_marked(const char *dir)
{
#ifdef __linux__
	static const char *const names[] = { "user.delegate", "trusted.delegate" };
	char value = '0';

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (getxattr(dir, names[i], &value, 1) == 1 && value == '1')
			return true;
#else
	(void)dir;
#endif
	return false;
}

static bool is_writable(const char *dir)
{
	return access(dir, W_OK | X_OK) == 0 && has_file(dir, "cgroup.procs", W_OK) &&
	       has_file(dir, "cgroup.subtree_control", W_OK);
}

static bool is_ours(const char *dir, bool is_root)
{
	struct stat st;

	if (!is_writable(dir) || stat(dir, &st) < 0)
		return false;
	return is_marked(dir) || (geteuid() == 0 ? is_root : st.st_uid == geteuid());
}

/* Our path, from the line "0::PATH" (cgroup v2); "/.." is outside our namespace. */
static int own_path(char out[GROUP_PATH], const char *self)
{
	const char *line = strncmp(self, "0::/", 4) == 0 ? self : strstr(self, "\n0::/");
	size_t n;

	if (!line)
		return -1;
	line = strchr(line, '/');
	n = strcspn(line, "\n");
	if (n >= GROUP_PATH || strncmp(line, "/..", 3) == 0)
		return -1;
	memcpy(out, line, n);
	out[n] = '\0';
	return 0;
}

static bool is_group(const char *dir)
{
	return strncmp(strrchr(dir, '/') + 1, GROUP_PREFIX, strlen(GROUP_PREFIX)) == 0;
}

int group_site(char out[GROUP_PATH], const char *root, const char *self)
{
	char own[GROUP_PATH];
	bool is_root;

	if (own_path(own, self) < 0 || !has_file(root, "cgroup.controllers", R_OK))
		return -1;
	is_root = strcmp(own, "/") == 0;
	if (snprintf(out, GROUP_PATH, "%s%s", root, is_root ? "" : own) >= GROUP_PATH)
		return -1;
	if (is_ours(out, is_root || is_group(out)))
		return 0;
	/* next to the group of an outer run, that run's limits would not apply */
	if (is_root || is_group(out))
		return -1;
	*strrchr(out, '/') = '\0';
	return is_writable(out) && is_marked(out) ? 0 : -1;
}

int group_site_here(char out[GROUP_PATH])
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char self[FILE_BYTES];

	if (read_file("/proc/self/cgroup", self) <= 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (group_site(out, roots[i], self) == 0)
			return 0;
	return -1;
}

/* --- making ---------------------------------------------------------------------- */

/* A controller's file appears in the group once the controller is enabled in the
 * site, which the kernel refuses while processes live there. */
static bool has_controller(const char *site, const struct group *g, const char *controller,
                           const char *file)
{
	if (!has_file(g->path, file, W_OK))
		(void)!write_file(site, "cgroup.subtree_control", controller);
	return has_file(g->path, file, W_OK);
}

static bool hold_memory(const char *site, const struct group *g, int64_t bytes)
{
	if (!has_controller(site, g, "+memory", "memory.max") ||
	    write_number(g->path, "memory.max", bytes + LIMITS_MEMORY_ROOM) < 0)
		return false;
	(void)!write_file(g->path, "memory.swap.max", "0"); /* fails without swap accounting, which is fine */
	return true;
}

static bool hold_cpu(const char *site, const struct group *g, int64_t ms)
{
	(void)site;
	(void)ms; /* the supervisor checks it */
	return group_cpu_us(g) >= 0;
}

static bool hold_processes(const char *site, const struct group *g, int64_t count)
{
	return has_controller(site, g, "+pids", "pids.max") &&
	       write_number(g->path, "pids.max", count + 1) == 0;
}

static void hold(const char *site, const struct group *g, const struct limits *l,
                 struct mechanisms *m)
{
	static bool (*const holds[])(const char *site, const struct group *g, int64_t limit) = {
		[RESOURCE_MEMORY] = hold_memory,
		[RESOURCE_CPU] = hold_cpu,
		[RESOURCE_PROCESSES] = hold_processes,
	};

	for (size_t i = 0; i < ARRAY_LEN(holds); i++)
		if (l->of[i] > 0)
			m->by[i] = holds[i](site, g, l->of[i]) ? MECHANISM_CGROUP : MECHANISM_NONE;
}

static void prune(int fd, int depth);

static bool is_held(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static void prune_entry(int dir, const char *name, int depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !is_held(fd) && unlinkat(dir, name, AT_REMOVEDIR) < 0) {
		prune(xdup_above(fd, 0), depth - 1);
		unlinkat(dir, name, AT_REMOVEDIR);
	}
	xclose(&fd);
}

/* Remove our empty groups in the directory `fd`, and close it. The kernel keeps
 * those with processes; we keep those that a process holds. */
static void prune(int fd, int depth)
{
	DIR *d = fd < 0 || depth == 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!d)
		xclose(&fd);
	while (d && (entry = readdir(d)))
		if (strncmp(entry->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)) == 0)
			prune_entry(fd, entry->d_name, depth);
	if (d)
		closedir(d);
}

static void prune_path(const char *dir)
{
	prune(xopen(dir, O_RDONLY | O_DIRECTORY, 0), PRUNE_DEPTH);
}

static int name_group(struct group *g, const char *site, const char *name)
{
	if (snprintf(g->path, sizeof(g->path), "%s/" GROUP_PREFIX "%s", site, name) <
	    (int)sizeof(g->path))
		return 0;
	g->path[0] = '\0';
	return -1;
}

int group_make(struct group *g, const char *site, const char *name, const struct limits *l,
               struct mechanisms *m)
{
	if (name_group(g, site, name) < 0)
		return -1;
	prune_path(site);
	for (int i = 0; i < MAKE_TRIES && mkdir(g->path, 0755) == 0; i++) {
		hold(site, g, l, m);
		if (write_file(g->path, "cgroup.procs", "0") == 0)
			return 0;
		if (rmdir(g->path) < 0 && errno != ENOENT)
			break;
	}
	*m = (struct mechanisms){ { MECHANISM_NONE } };
	g->path[0] = '\0';
	return -1;
}

int group_find(struct group *g, const char *site, const char *name)
{
	if (name_group(g, site, name) == 0 && has_file(g->path, "cgroup.procs", F_OK))
		return 0;
	g->path[0] = '\0';
	return -1;
}

int group_hold(const struct group *g)
{
	int fd = g->path[0] ? xopen(g->path, O_RDONLY | O_DIRECTORY, 0) : -1;

	if (fd >= 0)
		(void)flock(fd, LOCK_SH | LOCK_NB); /* best effort */
	return fd;
}

/* --- using ----------------------------------------------------------------------- */

int64_t group_number(const struct group *g, const char *file, const char *key)
{
	char path[FILE_PATH], text[FILE_BYTES];
	size_t n = strlen(key);

	if (!g->path[0] || read_file(path_of(path, g->path, file), text) <= 0)
		return -1;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return strtoll(line + n, NULL, 10);
	}
	return -1;
}

int64_t group_cpu_us(const struct group *g)
{
	return group_number(g, "cpu.stat", "usage_usec");
}

int group_kill(const struct group *g)
{
	return g->path[0] ? write_file(g->path, "cgroup.kill", "1") : -1;
}

int group_remove(struct group *g)
{
	if (!g->path[0])
		return 0;
	if (rmdir(g->path) < 0 && errno != ENOENT) {
		prune_path(g->path);
		if (rmdir(g->path) < 0)
			return -1;
	}
	g->path[0] = '\0';
	return 0;
}
