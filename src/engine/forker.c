/*
 * forker.c: the process that forks for the worker (forker.h). A request is one packet: the
 * numbers, then all strings, with the descriptors beside it (SCM_RIGHTS). What follows
 * serve() runs in the forker: a fork of the worker that uses no stdio, no malloc and no lock.
 */
#include "forker.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os.h"

extern char **environ;

#define STRINGS_MAX ((size_t)64 << 10) /* a larger request isn't worth a copy */
#define POINTERS_MAX 2048
#define FDS 5 /* 0, 1, 2, held, report */

struct request {
	int64_t grace_ms;
	uint64_t mark;
	uint32_t argc, envc;
	bool has_cwd;
	bool has_fd[FDS];
	char strings[STRINGS_MAX]; /* argv, envp, cwd: each ends with NUL */
};

#define HEAD offsetof(struct request, strings)

/* Room for the descriptors, aligned as cmsg(3) wants it. */
union fd_space {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FDS * sizeof(int))];
};

static struct request packet; /* here and there: a process sends or receives, never both */
static int channel = -1;
static pid_t forker;

/* --- the request: in the worker ------------------------------------------------------ */

/* False: no room. */
static bool put(size_t *used, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > STRINGS_MAX - *used)
		return false;
	memcpy(packet.strings + *used, text, n);
	*used += n;
	return true;
}

static bool put_all(size_t *used, uint32_t *count, const char *const *list)
{
	for (*count = 0; list != NULL && list[*count] != NULL; ++*count)
		if (!put(used, list[*count]))
			return false;
	return true;
}

/* How many bytes it has, 0: it is too large. Our environment as it is now: the forker has
 * what it was. */
static size_t encode(const struct child_spec *spec, int64_t grace_ms)
{
	const char *const *envp = spec->envp ? spec->envp : (const char *const *)environ;
	size_t used = 0;

	packet.grace_ms = grace_ms;
	packet.mark = spec->mark;
	packet.has_cwd = spec->cwd != NULL;
	if (!put_all(&used, &packet.argc, spec->argv) ||
	    !put_all(&used, &packet.envc, envp) ||
	    (spec->cwd != NULL && !put(&used, spec->cwd)) ||
	    packet.argc + packet.envc + 2 > POINTERS_MAX)
		return 0;
	return HEAD + used;
}

/* Those that there are, in their order. */
static size_t choose_fds(const int all[FDS], int chosen[FDS])
{
	size_t n = 0;

	for (size_t i = 0; i < FDS; i++) {
		packet.has_fd[i] = all[i] >= 0;
		if (all[i] >= 0)
			chosen[n++] = all[i];
	}
	return n;
}

static bool send_packet(size_t size, const int *fds, size_t n)
{
	union fd_space space;
	struct iovec bytes = { &packet, size };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space.bytes,
	                    .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c;
	ssize_t sent;

	memset(&space, 0, sizeof(space));
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	do
		sent = sendmsg(channel, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

bool forker_ask(const struct child_spec *spec, int64_t grace_ms, int held, int report)
{
	const int all[FDS] = { spec->fd[0], spec->fd[1], spec->fd[2], held, report };
	int fds[FDS] = { 0 };
	size_t size = channel < 0 ? 0 : encode(spec, grace_ms);

	if (size == 0)
		return false;
	if (send_packet(size, fds, choose_fds(all, fds)))
		return true;
	if (errno == EPIPE || errno == ECONNRESET)
		xclose(&channel);
	return false;
}

/* --- serving: in the forker ------------------------------------------------------------ */

static const char *take(const char **at)
{
	const char *text = *at;

	*at += strlen(text) + 1;
	return text;
}

static const char *const *take_all(const char **at, uint32_t count, const char **list)
{
	for (uint32_t i = 0; i < count; i++)
		list[i] = take(at);
	list[count] = NULL;
	return list;
}

static void decode(struct child_spec *spec, const int all[FDS])
{
	static const char *pointers[POINTERS_MAX];
	const char *at = packet.strings;

	*spec = (struct child_spec){ .fd = { all[0], all[1], all[2] }, .mark = packet.mark };
	spec->argv = take_all(&at, packet.argc, pointers);
	spec->envp = take_all(&at, packet.envc, pointers + packet.argc + 1);
	if (packet.has_cwd)
		spec->cwd = take(&at);
}

/* One packet and its descriptors; false at the end. */
static bool receive(int all[FDS])
{
	union fd_space space;
	struct iovec bytes = { &packet, sizeof(packet) };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space.bytes,
	                    .msg_controllen = sizeof(space.bytes) };
	struct cmsghdr *c;
	size_t n = 0, had;

	if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) < (ssize_t)HEAD)
		return false;
	c = CMSG_FIRSTHDR(&m);
	had = c != NULL ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	for (size_t i = 0; i < FDS; i++) {
		all[i] = -1;
		if (packet.has_fd[i] && n < had)
			memcpy(&all[i], CMSG_DATA(c) + n++ * sizeof(int), sizeof(int));
	}
	return true;
}

static NO_RETURN void serve(forker_run_fn *run, pid_t parent)
{
	struct child_spec spec;
	int all[FDS];

	while (getppid() == parent && receive(all)) {
		pid_t pid;

		decode(&spec, all);
		pid = os_fork_sibling();
		if (pid == 0) {
			run(&spec, packet.grace_ms, parent, all[3], all[4]);
			_exit(1);
		}
		if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
			break; /* not allowed here: a sandbox may know no CLONE_PARENT */
		for (size_t i = 0; i < FDS; i++)
			xclose(&all[i]);
	}
	_exit(0);
}

/* Signals stay blocked: it ends by KILL, or when the worker has closed the channel. */
static NO_RETURN void begin(forker_run_fn *run, pid_t parent, int end)
{
	channel = end;
	os_parent_death_signal(SIGKILL);
	os_close_from(0, &channel, 1);
	xopen_standard();
	os_drop_heap();
	serve(run, parent);
}

/* --- its life: in the worker ------------------------------------------------------------ */

pid_t forker_start(forker_run_fn *run)
{
	pid_t parent = getpid();
	sigset_t all, before;
	int ends[2];

	if (forker != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	forker = fork();
	if (forker == 0)
		begin(run, parent, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	xclose(&ends[1]);
	if (forker > 0) {
		channel = ends[0];
		return forker;
	}
	forker = 0;
	xclose(&ends[0]);
	return -1;
}

void forker_dismiss(void)
{
	if (forker <= 0)
		return;
	xclose(&channel);
	kill(forker, SIGKILL);
	while (waitpid(forker, NULL, 0) < 0 && errno == EINTR)
		;
	forker = 0;
}
