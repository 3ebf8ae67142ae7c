/*
 * os_proc.c: reads /proc about processes (os.h), on Linux. It uses only the /proc of
 * our own PID namespace: in another one, the same numbers are unrelated processes.
 * Also runs in signal handlers and fresh forks, where stdio and malloc can't be used,
 * so it formats and parses by hand.
 */
#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)

#include "os_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os.h"

#define STAT_MAX 1024
#define ENTRIES_MAX 1024
#define CHUNK_MAX 4096 /* the most that the kernel returns; every read walks the list from its start */
#define THREADS_OF_ONE 3 /* links of /proc/PID/task: two, and one for each thread */

/* /proc/self is our number in the namespace of that /proc, or absent. */
static bool is_our_proc(void)
{
	char seen[16], own[16];
	ssize_t n = readlink("/proc/self", seen, sizeof(seen));

	return n > 0 && n == os_put_number(own, (unsigned)getpid()) - own &&
	       memcmp(seen, own, (size_t)n) == 0;
}

/* Open "/proc/PID" + tail; ENOTSUP: not our namespace's /proc. */
static int open_proc(pid_t pid, const char *tail, int flags)
{
	char path[OS_PROC_PATH_MAX];

	if (!is_our_proc())
		return errno = ENOTSUP, -1;
	os_put_str(os_put_number(os_put_str(path, "/proc/"), (unsigned)pid), tail);
	return xopen(path, flags, 0);
}

int os_process_stdin(pid_t pid, struct stat *st)
{
	int fd = open_proc(pid, "/fd/0", O_PATH);

	if (fd < 0)
		return errno == ENOENT ? 1 : -1;
	if (fstat(fd, st) < 0)
		return close(fd), -1;
	return close(fd), 0;
}

/* --- children ----------------------------------------------------------------------- */

struct list {
	pid_t *out;
	int count, cap;
	int ring; /* a full list goes on in its last `ring` places, the newest for the oldest there; 0: it ends */
	size_t turned;
};

static bool is_full(const struct list *l)
{
	return l->count >= l->cap && l->ring == 0;
}

static void take_pid(struct list *l, pid_t pid)
{
	if (l->count < l->cap)
		l->out[l->count++] = pid;
	else if (l->ring > 0)
		l->out[l->cap - l->ring + (int)(l->turned++ % (size_t)l->ring)] = pid;
}

/* Numbers that are split between two reads are carried in *number. */
static void take_pids(const char *s, size_t n, unsigned *number, struct list *l)
{
	for (size_t i = 0; i < n && !is_full(l); i++) {
		if (s[i] >= '0' && s[i] <= '9') {
			*number = *number * 10 + (unsigned)(s[i] - '0');
		} else if (*number > 0) {
			take_pid(l, (pid_t)*number);
			*number = 0;
		}
	}
}

/* List what one thread has forked or adopted. 0, or -1 if that can't be read. */
static int read_children(int fd, struct list *l)
{
	char chunk[CHUNK_MAX];
	unsigned number = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	while (!is_full(l) && (got = xread(fd, chunk, sizeof(chunk))) > 0)
		take_pids(chunk, (size_t)got, &number, l);
	xclose(&fd);
	return 0;
}

static int read_main_thread(pid_t pid, struct list *l)
{
	char tail[OS_PROC_PATH_MAX];

	os_put_str(os_put_number(os_put_str(tail, "/task/"), (unsigned)pid), "/children");
	return read_children(open_proc(pid, tail, O_RDONLY), l);
}

/* linux_dirent64 of getdents(2): readdir(3) would need malloc. */
struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

static void read_thread(int tasks, const char *name, pid_t main_thread, struct list *l)
{
	char path[OS_PROC_PATH_MAX];

	if (name[0] == '.' || strtol(name, NULL, 10) == main_thread)
		return;
	os_put_str(os_put_str(path, name), "/children");
	(void)read_children(openat(tasks, path, O_RDONLY | O_CLOEXEC), l);
}

static void read_other_threads(pid_t pid, struct list *l)
{
	char entries[ENTRIES_MAX] __attribute__((aligned(8)));
	int tasks = open_proc(pid, "/task", O_RDONLY | O_DIRECTORY);
	long got;

	while (tasks >= 0 && (got = syscall(SYS_getdents64, tasks, entries, sizeof(entries))) > 0)
		for (long at = 0; at < got;) {
			const struct entry *e = (const struct entry *)(entries + at);

			read_thread(tasks, e->name, pid, l);
			at += e->size;
		}
	xclose(&tasks);
}

static bool has_threads(pid_t pid)
{
	char path[OS_PROC_PATH_MAX];
	struct stat st;

	os_put_str(os_put_number(os_put_str(path, "/proc/"), (unsigned)pid), "/task");
	return stat(path, &st) == 0 && st.st_nlink > THREADS_OF_ONE;
}

static void reverse(pid_t *a, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		pid_t swap = a[i];

		a[i] = a[n - 1 - i];
		a[n - 1 - i] = swap;
	}
}

/* Bring the first `by` of n to the end. */
static void turn(pid_t *a, size_t n, size_t by)
{
	reverse(a, by);
	reverse(a + by, n - by);
	reverse(a, n);
}

static int list_children(pid_t pid, pid_t *out, int cap, int ring)
{
	struct list l = { .out = out, .cap = cap, .ring = ring };

	if (read_main_thread(pid, &l) < 0)
		return -1;
	if (has_threads(pid))
		read_other_threads(pid, &l);
	if (ring > 0 && l.turned > 0)
		turn(out + cap - ring, (size_t)ring, l.turned % (size_t)ring);
	return l.count;
}

int os_children(pid_t pid, pid_t *out, int cap)
{
	return list_children(pid, out, cap, 0);
}

int os_children_ends(pid_t pid, pid_t *out, int cap)
{
	return list_children(pid, out, cap, cap / 2);
}

/* --- all processes -------------------------------------------------------------------- */

#define BATCH_MAX 1024 /* some 40 entries: those who fork all the time live no longer than more would take */

int os_each_process(void (*f)(pid_t pid, void *data), void *data)
{
	char entries[BATCH_MAX] __attribute__((aligned(8)));
	int proc = is_our_proc() ? xopen("/proc", O_RDONLY | O_DIRECTORY, 0) : -1;
	long got = -1;

	while (proc >= 0 && (got = syscall(SYS_getdents64, proc, entries, sizeof(entries))) > 0)
		for (long at = 0; at < got;) {
			const struct entry *e = (const struct entry *)(entries + at);

			if (e->name[0] >= '1' && e->name[0] <= '9')
				f((pid_t)strtol(e->name, NULL, 10), data);
			at += e->size;
		}
	xclose(&proc);
	return got < 0 ? -1 : 0;
}

/* --- one process ---------------------------------------------------------------------- */

/* Skip `fields` blank-separated fields; NULL when there are fewer. */
static const char *skip_fields(const char *s, int fields)
{
	while (s != NULL && fields-- > 0) {
		s = strchr(s, ' ');
		if (s != NULL)
			s++;
	}
	return s;
}

/* proc_pid_stat(5): the name (2) may contain anything, including ")" and blanks, so
 * fields are counted from its last ")", which is returned: state 3, ppid 4,
 * starttime 22. */
static const char *read_stat(pid_t pid, char *stat, size_t size)
{
	ssize_t got;
	int fd = open_proc(pid, "/stat", O_RDONLY);

	if (fd < 0)
		return NULL;
	got = xread(fd, stat, size - 1);
	xclose(&fd);
	if (got <= 0)
		return NULL;
	stat[got] = '\0';
	return strrchr(stat, ')');
}

int os_process_info(pid_t pid, pid_t *parent, uint64_t *start_time)
{
	char stat[STAT_MAX];
	const char *state = read_stat(pid, stat, sizeof(stat));
	const char *start = skip_fields(state, 20);

	if (start == NULL)
		return -1;
	*parent = (pid_t)strtol(skip_fields(state, 2), NULL, 10);
	*start_time = strtoull(start, NULL, 10);
	return 0;
}

bool os_process_lives(pid_t pid)
{
	char stat[STAT_MAX];
	const char *state = skip_fields(read_stat(pid, stat, sizeof(stat)), 1);

	return state != NULL && *state != 'Z' && *state != 'X';
}

/* --- our own memory ------------------------------------------------------------------- */

/* Our first maps, which are those of the program's own file and of the heap. */
static void read_maps(char *maps, size_t size)
{
	int fd = xopen("/proc/self/maps", O_RDONLY, 0);
	ssize_t got = fd < 0 ? -1 : xread(fd, maps, size - 1);

	xclose(&fd);
	maps[MAX_OF(got, 0)] = '\0';
}

/* "START-END rw-p …", in hexadecimal */
static void drop_pages(const char *line)
{
	char *end;
	unsigned long long from = strtoull(line, &end, 16);
	unsigned long long to = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;

	if (from > 0 && from < to)
		(void)syscall(SYS_madvise, (long)from, (long)(to - from), MADV_DONTNEED);
}

/* A fork whose heap has grown has several maps of that name. */
void os_drop_heap(void)
{
	char maps[CHUNK_MAX];
	const char *name = maps;

	read_maps(maps, sizeof(maps));
	while ((name = strstr(name, " [heap]\n")) != NULL) {
		const char *line = name++;

		while (line > maps && line[-1] != '\n')
			line--;
		drop_pages(line);
	}
}

#else
typedef int os_proc_is_empty; /* ISO C wants something in a file */
#endif
