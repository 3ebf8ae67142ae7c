/*
 * packet.c: requests to fork (packet.h). A packet is the numbers, then all strings, with the
 * descriptors beside it (SCM_RIGHTS).
 */
#include "packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common/xio.h"

extern char **environ;

#define STRINGS_MAX ((size_t)64 << 10) /* a larger request isn't worth a copy */
#define POINTERS_MAX 2048
#define FDS 6

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

/* Two: a call lives with the strings that it was started with, and may send requests of its own. */
static struct request request, outgoing;

/* --- sending ------------------------------------------------------------------------- */

/* False: no room. */
static bool put(size_t *used, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > STRINGS_MAX - *used)
		return false;
	memcpy(outgoing.strings + *used, text, n);
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

/* How many bytes it has, 0: it is too large. Our environment as it is now: the other process
 * has what it was. */
static size_t encode(const struct packet *p)
{
	const struct child_spec *spec = &p->spec;
	const char *const *envp = spec->envp ? spec->envp : (const char *const *)environ;
	size_t used = 0;

	outgoing.grace_ms = p->grace_ms;
	outgoing.mark = spec->mark;
	outgoing.has_cwd = spec->cwd != NULL;
	if (!put_all(&used, &outgoing.argc, spec->argv) ||
	    !put_all(&used, &outgoing.envc, envp) ||
	    (spec->cwd != NULL && !put(&used, spec->cwd)) ||
	    outgoing.argc + outgoing.envc + 2 > POINTERS_MAX)
		return 0;
	return HEAD + used;
}

/* Those that there are, in their order. */
static size_t choose_fds(const struct packet *p, int chosen[FDS])
{
	const int all[FDS] = { p->spec.fd[0], p->spec.fd[1], p->spec.fd[2], p->held, p->report, p->directory };
	size_t n = 0;

	for (size_t i = 0; i < FDS; i++) {
		outgoing.has_fd[i] = all[i] >= 0;
		if (all[i] >= 0)
			chosen[n++] = all[i];
	}
	return n;
}

bool packet_send(int channel, const struct packet *p)
{
	int fds[FDS] = { 0 };
	size_t size = encode(p), n = choose_fds(p, fds);
	union fd_space space;
	struct iovec bytes = { &outgoing, size };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space.bytes,
	                    .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c;
	ssize_t sent;

	if (size == 0)
		return errno = E2BIG, false;
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

/* --- receiving ------------------------------------------------------------------------- */

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

static void decode(struct packet *p, const int all[FDS])
{
	static const char *pointers[POINTERS_MAX];
	const char *at = request.strings;

	*p = (struct packet){ .spec = { .fd = { all[0], all[1], all[2] }, .mark = request.mark },
	                      .grace_ms = request.grace_ms, .held = all[3], .report = all[4], .directory = all[5] };
	p->spec.argv = take_all(&at, request.argc, pointers);
	p->spec.envp = take_all(&at, request.envc, pointers + request.argc + 1);
	if (request.has_cwd)
		p->spec.cwd = take(&at);
}

bool packet_receive(int channel, struct packet *p)
{
	union fd_space space;
	struct iovec bytes = { &request, sizeof(request) };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space.bytes,
	                    .msg_controllen = sizeof(space.bytes) };
	static size_t received;
	struct cmsghdr *c;
	int all[FDS];
	size_t n = 0, had;
	ssize_t got;

	memset(&request, 0, received); /* no fork has the strings of an earlier one in its memory */
	got = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
	received = (size_t)MAX_OF(got, 0);
	if (received < HEAD)
		return false;
	c = CMSG_FIRSTHDR(&m);
	had = c != NULL ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	for (size_t i = 0; i < FDS; i++) {
		all[i] = -1;
		if (request.has_fd[i] && n < had)
			memcpy(&all[i], CMSG_DATA(c) + n++ * sizeof(int), sizeof(int));
	}
	decode(p, all);
	return true;
}

void packet_close(struct packet *p)
{
	for (size_t i = 0; i < 3; i++)
		xclose(&p->spec.fd[i]);
	xclose(&p->held);
	xclose(&p->report);
	xclose(&p->directory);
}
