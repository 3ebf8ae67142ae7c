/*
 * limits.c: declared limits as resource limits. Runs in the worker, once, before
 * `run`. The supervisor decides what a death under a limit means.
 */
#include "limits.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

bool limits_declared(const struct limits *l)
{
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (l->of[i] > 0)
			return true;
	return false;
}

const char *resource_name(enum resource r)
{
	static const char *const names[] = {
		[RESOURCE_MEMORY] = "memory",
		[RESOURCE_CPU] = "cpu",
		[RESOURCE_PROCESSES] = "processes",
		[RESOURCE_OPEN_FILES] = "open_files",
	};

	return names[r];
}

const char *mechanism_name(enum mechanism m)
{
	static const char *const names[] = { "none", "rlimit", "cgroup" };

	return names[m];
}

/* Lower a limit; one that is lower already stays. False if the system refuses. */
static bool lower(int which, int64_t soft, int64_t hard)
{
	struct rlimit now;

	if (getrlimit((__typeof__(RLIMIT_CPU))which, &now) < 0)
		return false;
	now.rlim_max = MIN_OF(now.rlim_max, (rlim_t)hard);
	now.rlim_cur = MIN_OF(MIN_OF(now.rlim_cur, (rlim_t)soft), now.rlim_max);
	return setrlimit((__typeof__(RLIMIT_CPU))which, &now) == 0;
}

/* Since 4.7, Linux counts private writable memory as data, but not mere address
 * space, which some runtimes reserve by the terabyte. */
#if defined(__linux__) || !defined(RLIMIT_AS)
#define RLIMIT_MEMORY RLIMIT_DATA
#else
#define RLIMIT_MEMORY RLIMIT_AS
#endif

static bool apply_memory(int64_t bytes, bool in_group)
{
	bytes += LIMITS_MEMORY_ROOM;
	return in_group || lower(RLIMIT_MEMORY, bytes, bytes);
}

static bool apply_cpu(int64_t ms, bool in_group)
{
	struct rusage used;
	int64_t soft = (ms + 999) / 1000 + (in_group ? 1 : 0);

	if (getrusage(RUSAGE_SELF, &used) == 0)
		soft += used.ru_utime.tv_sec + used.ru_stime.tv_sec;
	return lower(RLIMIT_CPU, soft, soft + LIMITS_CPU_HARD_MS / 1000);
}

/* The current number of this user's processes and threads, -1 if unknown. The
 * task directory of a process has a link for each thread (proc(5)). */
static int64_t tasks_of_user(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int64_t count = 0;

	if (!proc)
		return -1;
	while ((entry = readdir(proc))) {
		char path[300];
		struct stat st;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", entry->d_name);
		if (stat(path, &st) == 0 && st.st_uid == getuid() && st.st_nlink > 2)
			count += (int64_t)st.st_nlink - 2;
	}
	closedir(proc);
	return count;
}

static bool apply_processes(int64_t count, bool in_group)
{
	int64_t now = in_group || getuid() == 0 ? -1 : tasks_of_user();

	return in_group || (now > 0 && lower(RLIMIT_NPROC, now + count, now + count));
}

static bool apply_open_files(int64_t count, bool in_group)
{
	(void)in_group; /* no cgroup controller limits it */
	return lower(RLIMIT_NOFILE, count, count);
}

void limits_apply(const struct limits *l, struct mechanisms *m)
{
	static bool (*const apply[])(int64_t limit, bool in_group) = {
		[RESOURCE_MEMORY] = apply_memory,
		[RESOURCE_CPU] = apply_cpu,
		[RESOURCE_PROCESSES] = apply_processes,
		[RESOURCE_OPEN_FILES] = apply_open_files,
	};

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		bool in_group = m->by[i] == MECHANISM_CGROUP;

		if (l->of[i] > 0 && apply[i](l->of[i], in_group) && !in_group)
			m->by[i] = MECHANISM_RLIMIT;
	}
}
