/*
 * gate.c: the process that connects for a confined worker (gate.h). What follows serve() runs in the gate, a fork
 * of the worker, and in forks of that: one for each request, since looking up a name can't be interrupted.
 */
#include "gate.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "os.h"

#define AT_ONCE 64 /* requests; the next one waits */
#define SLACK_S 1  /* between the limit and the end of what hangs in a lookup */

static int channel = -1;
static pid_t gate;

struct question {
	int64_t timeout_ms;
	uint16_t port;
	char name[GATE_HOST_MAX + 1];
};

/* --- what may be connected to ------------------------------------------------------------- */

static bool has_port(const struct gate_rules *rules, uint16_t port)
{
	for (size_t i = 0; i < rules->port_count; i++)
		if (rules->ports[i] == port)
			return true;
	return rules->port_count == 0;
}

bool gate_allows(const struct gate_rules *rules, const char *name, uint16_t port)
{
	if (!has_port(rules, port))
		return false;
	for (size_t i = 0; i < rules->host_count; i++)
		if (strcmp(rules->hosts[i].name, name) == 0 && (rules->hosts[i].port == 0 || rules->hosts[i].port == port))
			return true;
	return false;
}

static bool send_with(int to, const void *bytes, size_t n, int fd)
{
	return xsend_fds(to, bytes, n, &fd, fd >= 0);
}

static ssize_t receive_with(int from, void *bytes, size_t n, int *fd, int flags)
{
	size_t one = 1;
	ssize_t got = xreceive_fds(from, bytes, n, fd, &one, flags);

	if (one == 0)
		*fd = -1;
	return got;
}

/* --- connecting: in a fork of the gate ------------------------------------------------------- */

static NO_RETURN void refuse(int answer, int kind, const char *text)
{
	struct gate_failure failure = { .kind = kind };

	snprintf(failure.text, sizeof(failure.text), "%s", text);
	send_with(answer, &failure, sizeof(failure), -1);
	_exit(0);
}

/* Connected by then? Ends with the wish for it. */
static bool wait_for(int fd, int answer, mono_t until)
{
	struct pollfd fds[2] = { { .fd = fd, .events = POLLOUT }, { .fd = answer, .events = POLLIN } };
	struct timespec left;
	socklen_t size = sizeof(errno);
	int ready, err = 0;

	do
		ready = ppoll(fds, 2, mono_left(until, mono_now(), &left), NULL);
	while (ready < 0 && rest_again());
	if (fds[1].revents)
		_exit(0); /* given up */
	if (ready == 0)
		return errno = ETIMEDOUT, false;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0 || err == 0)
		return err == 0;
	return errno = err, false;
}

/* A socket, or -1 with errno. */
static int connect_to(const struct addrinfo *at, int answer, mono_t until)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);

	if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen) == 0)
		return fd;
	if (errno == EINPROGRESS && wait_for(fd, answer, until))
		return fd;
	xclose(&fd);
	return -1;
}

/* Each address has an equal share of the time that is left. */
static int connect_to_any(const struct addrinfo *list, int answer, mono_t until)
{
	int left = 0, fd = -1;

	for (const struct addrinfo *at = list; at; at = at->ai_next)
		left++;
	for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next, left--) {
		const int64_t share = until == MONO_NEVER ? 0 : MAX_OF(mono_elapsed_ms(mono_now(), until) / left, 1);

		fd = connect_to(at, answer, mono_deadline(mono_now(), share));
	}
	return fd;
}

static void look_up(const struct question *q, int answer, struct addrinfo **list)
{
	const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	char name[sizeof(q->name)], port[8];
	size_t n = strlen(q->name);
	int why;

	memcpy(name, q->name, n + 1);
	if (name[0] == '[') { /* [::1] */
		memmove(name, name + 1, n);
		name[strcspn(name, "]")] = '\0';
	}
	snprintf(port, sizeof(port), "%u", (unsigned)q->port);
	why = getaddrinfo(name, port, &wanted, list);
	if (why != 0)
		refuse(answer, GATE_UNRESOLVED, why == EAI_SYSTEM ? strerror(errno) : gai_strerror(why));
}

static NO_RETURN void answer_to(const struct question *q, const struct gate_rules *rules, int answer)
{
	const mono_t until = mono_deadline(mono_now(), q->timeout_ms);
	const struct gate_failure none = { 0 };
	struct addrinfo *list = NULL;
	int fd;

	if (!gate_allows(rules, q->name, q->port))
		refuse(answer, GATE_REFUSED, "it is not among the hosts that this command may connect to");
	look_up(q, answer, &list);
	fd = connect_to_any(list, answer, until);
	if (fd < 0)
		refuse(answer, errno == ETIMEDOUT ? GATE_TIMEOUT : GATE_UNCONNECTED, strerror(errno));
	send_with(answer, &none, sizeof(none), fd);
	_exit(0);
}

/* Nothing but its alarm ends what hangs in a lookup. */
static void set_alarm(int64_t timeout_ms)
{
	sigset_t alarm_only;

	if (timeout_ms <= 0)
		return;
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	alarm((unsigned)MIN_OF(timeout_ms / 1000 + SLACK_S, 86400));
}

/* --- serving: in the gate ---------------------------------------------------------------- */

static int count;

static void leave_room(void)
{
	while (count > 0 && waitpid(-1, NULL, count >= AT_ONCE ? 0 : WNOHANG) > 0)
		count--;
}

static void fork_for(const struct question *q, const struct gate_rules *rules, int answer)
{
	pid_t self = getpid(), pid;

	leave_room();
	pid = fork();
	if (pid == 0) {
		xclose(&channel);
		os_parent_death_signal(SIGKILL);
		if (getppid() != self)
			_exit(0);
		set_alarm(q->timeout_ms);
		answer_to(q, rules, answer);
	}
	count += pid > 0;
}

static NO_RETURN void serve(const struct gate_rules *rules, pid_t worker)
{
	struct question q;
	int answer;
	ssize_t got;

	while (getppid() == worker && (got = receive_with(channel, &q, sizeof(q), &answer, 0)) > 0) {
		if (got == sizeof(q) && answer >= 0 && memchr(q.name, '\0', sizeof(q.name)))
			fork_for(&q, rules, answer);
		xclose(&answer);
	}
	_exit(0);
}

/* Signals stay blocked: it ends by KILL, or when the worker has closed the channel. */
static NO_RETURN void begin(const struct gate_rules *rules, pid_t worker, int end)
{
	channel = end;
	signal(SIGCHLD, SIG_DFL);
	os_parent_death_signal(SIGKILL);
	os_close_from(0, &channel, 1);
	xopen_standard();
	serve(rules, worker);
}

/* --- its life, and asking: in the worker --------------------------------------------------------- */

pid_t gate_start(const struct gate_rules *rules)
{
	pid_t worker = getpid();
	sigset_t all, before;
	int ends[2];

	if (gate != 0)
		return errno = EEXIST, -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	gate = fork();
	if (gate == 0)
		begin(rules, worker, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	xclose(&ends[1]);
	if (gate > 0)
		channel = ends[0];
	else
		xclose(&ends[0]);
	return gate;
}

bool gate_is_there(void)
{
	return gate > 0;
}

void gate_dismiss(void)
{
	if (gate <= 0)
		return;
	xclose(&channel);
	kill(gate, SIGKILL);
	while (waitpid(gate, NULL, 0) < 0 && rest_again())
		;
	gate = 0;
}

int gate_ask(const char *name, uint16_t port, int64_t timeout_ms)
{
	struct question q = { .timeout_ms = timeout_ms, .port = port };
	int ends[2];
	bool sent;

	if (strlen(name) > GATE_HOST_MAX)
		return errno = ENAMETOOLONG, -1;
	strcpy(q.name, name);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	sent = send_with(channel, &q, sizeof(q), ends[1]);
	xclose(&ends[1]);
	if (!sent)
		xclose(&ends[0]);
	return ends[0];
}

/* The end without an answer is that of what hung in a lookup, or of the gate. */
int gate_take(int *answer, struct gate_failure *failure)
{
	int fd = -1;
	ssize_t got = receive_with(*answer, failure, sizeof(*failure), &fd, MSG_DONTWAIT);

	xclose(answer);
	if (got == sizeof(*failure) && fd >= 0)
		return fd;
	if (got != sizeof(*failure))
		*failure = (struct gate_failure){ .kind = GATE_GONE, .text = "no answer came in time" };
	failure->text[sizeof(failure->text) - 1] = '\0';
	xclose(&fd);
	return -1;
}
