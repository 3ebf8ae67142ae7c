/*
 * fork_server.c: both ends of the two (fork_server.h), and the packets between them. The forker is a fork of the worker; a
 * zygote was executed, so it has nothing of its parent but what exec passes on. No stdio, no malloc and no lock in either.
 */
#include "fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "os.h"
#include "shepherd.h"

/* --- packets: the numbers, then all strings, with the descriptors beside it ---------- */

struct packet {
	struct child_spec spec; /* its argv, envp (NULL: ours), cwd, fd and mark are sent */
	int64_t grace_ms;
	int held, report;       /* descriptors for shepherd.h; -1: none */
	int directory;          /* where spec.cwd begins; -1: where the other process is */
};

extern char **environ;

#define STRINGS_MAX ((size_t)64 << 10) /* a larger request isn't worth a copy */
#define POINTERS_MAX 2048
#define FDS XFDS_MAX

struct request {
	int64_t grace_ms;
	uint64_t mark;
	uint32_t argc, envc;
	bool has_cwd;
	bool has_fd[FDS];
	char strings[STRINGS_MAX]; /* argv, envp, cwd: each ends with NUL */
};

#define HEAD offsetof(struct request, strings)

/* Two: a call lives with the strings that it was started with, and may send requests of its own. */
static struct request request, outgoing;

/* --- sending ------------------------------------------------------------------------- */

/* False: no room. */
static bool put_text(size_t *used, const char *text)
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
		if (!put_text(used, list[*count]))
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
	    (spec->cwd != NULL && !put_text(&used, spec->cwd)) ||
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

/* False with errno: E2BIG when it is too large, EPIPE or ECONNRESET when no process is there. */
static bool packet_send(int channel, const struct packet *p)
{
	int fds[FDS];
	size_t size = encode(p), n = choose_fds(p, fds);

	return size == 0 ? errno = E2BIG, false : xsend_fds(channel, &outgoing, size, fds, n);
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

/* Wait for one: false at the end, or after any failure. Its strings are valid until the next
 * call, its descriptors are close-on-exec. */
static bool packet_receive(int channel, struct packet *p)
{
	static size_t received;
	int got[FDS], all[FDS];
	size_t n = 0, had = FDS;
	ssize_t size;

	memset(&request, 0, received); /* no fork has the strings of an earlier one in its memory */
	size = xreceive_fds(channel, &request, sizeof(request), got, &had, 0);
	received = (size_t)MAX_OF(size, 0);
	if (received < HEAD)
		return false;
	for (size_t i = 0; i < FDS; i++)
		all[i] = request.has_fd[i] && n < had ? got[n++] : -1;
	decode(p, all);
	return true;
}

/* Close the descriptors of a received one. */
static void packet_close(struct packet *p)
{
	for (size_t i = 0; i < 3; i++)
		xclose(&p->spec.fd[i]);
	xclose(&p->held);
	xclose(&p->report);
	xclose(&p->directory);
}

/* Until the parent is gone: each fork runs `begin`, which doesn't return. */
static NO_RETURN void serve(int channel, pid_t parent, void (*begin)(const struct packet *p, pid_t parent))
{
	struct packet p;

	while (getppid() == parent && packet_receive(channel, &p)) {
		pid_t pid = os_fork_sibling();

		if (pid == 0) {
			begin(&p, parent);
			_exit(1);
		}
		if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
			break; /* not allowed here: a sandbox may know no CLONE_PARENT */
		packet_close(&p);
	}
	_exit(0);
}

/* A server and the channel to it. Async-signal-safe. */
static void end_server(pid_t *server, int *channel)
{
	xclose(channel);
	kill(*server, SIGKILL);
	while (waitpid(*server, NULL, 0) < 0 && rest_again())
		;
	*server = 0;
}

/* --- the forker ---------------------------------------------------------------------- */

static int forker_channel = -1;
static pid_t forker;

/* --- asking: in the worker -------------------------------------------------------------- */

bool forker_ask(const struct child_spec *spec, int64_t grace_ms, int held, int report)
{
	const struct packet p = { .spec = *spec, .grace_ms = grace_ms, .held = held, .report = report, .directory = -1 };

	if (forker_channel < 0)
		return false;
	if (packet_send(forker_channel, &p))
		return true;
	if (errno == EPIPE || errno == ECONNRESET)
		xclose(&forker_channel);
	return false;
}

/* --- serving: in the forker ------------------------------------------------------------ */

static forker_run_fn *forker_run;

static void run_forked(const struct packet *p, pid_t parent)
{
	forker_run(&p->spec, p->grace_ms, parent, p->held, p->report);
}

/* Signals stay blocked: it ends by KILL, or when the worker has closed the forker_channel. */
static NO_RETURN void begin_forker(forker_run_fn *run, pid_t parent, int end)
{
	forker_channel = end;
	os_parent_death_signal(SIGKILL);
	os_close_from(0, &forker_channel, 1);
	xopen_standard();
	os_drop_heap();
	forker_run = run;
	serve(forker_channel, parent, run_forked);
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
		begin_forker(run, parent, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	xclose(&ends[1]);
	if (forker > 0) {
		forker_channel = ends[0];
		return forker;
	}
	forker = 0;
	xclose(&ends[0]);
	return -1;
}

void forker_dismiss(void)
{
	if (forker > 0)
		end_server(&forker, &forker_channel);
}

/* --- the zygote ---------------------------------------------------------------------- */

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

#define NAME "runner-zygote"
#define TITLE_BYTES 1024 /* room for the arguments of a call, in lists of processes */
#define CHANNEL_FD 3 /* child_spec.held_fd */
#define TRIES 3      /* of zygotes that fork nothing: then there is none any more */
#define BORN_MS 5000 /* a zygote that takes longer for a fork is ended */

extern char **environ;

static int zygote_channel = -1;
static pid_t zygote, owner; /* a fork of ours has none */
static uint64_t its_environment;
static bool has_served;
static bool is_suspect; /* a request has failed: it may be dead */
static int in_vain;     /* how many ended before they had forked anything */

/* --- what is read of the environment when a program starts ------------------------------- */

static const char *const at_start[] = { "LD_", "GLIBC_TUNABLES=", "MALLOC_", "LUA_", "RUNNER_LUA=" };

static bool counts_at_start(const char *entry)
{
	for (size_t i = 0; i < ARRAY_LEN(at_start); i++)
		if (strncmp(entry, at_start[i], strlen(at_start[i])) == 0)
			return true;
	return false;
}

/* Of what the loader, libc and Lua read once: FNV-1a. */
static uint64_t digest_of(const char *const *envp)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; envp != NULL && *envp != NULL; envp++)
		if (counts_at_start(*envp))
			for (const char *c = *envp;; c++) {
				h = (h ^ (unsigned char)*c) * 0x100000001b3u;
				if (*c == '\0')
					break;
			}
	return h;
}

/* --- its life ---------------------------------------------------------------------------- */

/* An end of a pair of sockets for packets, which that process has made for its own user. */
static bool is_channel_of(int fd, pid_t maker)
{
	socklen_t size = sizeof(int);
	int type = 0;
	uid_t user;
	pid_t pid;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
	       os_peer(fd, &pid, &user) == 0 && pid == maker && user == geteuid();
}

void zygote_dismiss(void)
{
	if (zygote > 0 && getpid() == owner)
		end_server(&zygote, &zygote_channel);
}

/* /proc/self/exe is this very program, even where its file has been replaced. Its pid, or 0. */
static pid_t execute_zygote(int end)
{
	char room[TITLE_BYTES];
	const char *const argv[] = { NAME, room, NULL };
	struct child_spec spec = { .argv = argv, .program = "/proc/self/exe", .cwd = "/", .fd = { -1, -1, -1 }, .held_fd = end };
	struct child_error error;
	pid_t pid;

	memset(room, ' ', sizeof(room) - 1);
	room[sizeof(room) - 1] = '\0';
	pid = child_spawn(&spec, &error);
	return MAX_OF(pid, 0);
}

/* One that has served is replaced by the next zygote_start(). */
static void replace_zygote(void)
{
	in_vain = has_served ? 0 : in_vain + 1;
	zygote_dismiss();
}

/* One that could not fork this once may do so the next time. */
static void look_after_it(void)
{
	struct pollfd p = { .fd = zygote_channel };

	if (is_suspect && poll(&p, 1, 0) != 0)
		replace_zygote();
}

pid_t zygote_start(void)
{
	int ends[2];

	look_after_it();
	if (zygote != 0 || in_vain >= TRIES)
		return zygote;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return 0;
	its_environment = digest_of((const char *const *)environ);
	zygote = is_channel_of(ends[0], getpid()) ? execute_zygote(ends[1]) : 0;
	xclose(&ends[1]);
	has_served = is_suspect = false;
	in_vain += zygote == 0;
	owner = getpid();
	zygote_channel = ends[0];
	if (zygote == 0)
		xclose(&zygote_channel);
	return zygote;
}

pid_t zygote_pid(void)
{
	return zygote;
}

/* --- asking ------------------------------------------------------------------------------- */

static bool ask_zygote(const struct child_spec *spec, int64_t grace_ms, int report)
{
	struct packet p = { .spec = *spec, .grace_ms = grace_ms, .held = -1, .report = report };
	bool sent;

	p.directory = xopen(".", O_PATH | O_DIRECTORY, 0);
	sent = p.directory >= 0 && packet_send(zygote_channel, &p);
	xclose(&p.directory);
	return sent;
}

/* True when the report is readable; false: nothing came in time. */
static bool wait_for(int report)
{
	struct pollfd p = { .fd = report, .events = POLLIN };
	mono_t until = mono_add_ms(mono_now(), BORN_MS);
	int ready;

	do
		ready = rest_poll(&p, 1, until, NULL);
	while ((ready == 0 || errno == EINTR) && ready <= 0 && mono_now() < until);
	return ready > 0;
}

/* The number of the new process; 0: there is none, and will be none. */
static pid_t hear(int report)
{
	struct child_error born = { CHILD_FORK, 0 };
	bool late = !wait_for(report);
	ssize_t got;

	if (late)
		replace_zygote(); /* a dead one forks no process any more */
	got = xread(report, &born, sizeof(born));
	if (got == (ssize_t)sizeof(born) && born.step == CHILD_OK)
		return born.err;
	is_suspect = true;
	return 0;
}

pid_t zygote_spawn(const struct child_spec *spec, int64_t grace_ms, int *report)
{
	const char *const *envp = spec->envp ? spec->envp : (const char *const *)environ;
	pid_t pid = 0;
	int ends[2];
	bool asked;

	if (zygote <= 0 || getpid() != owner || digest_of(envp) != its_environment || xpipe(ends) < 0)
		return 0;
	asked = ask_zygote(spec, grace_ms, ends[1]);
	xclose(&ends[1]);
	if (asked)
		pid = hear(ends[0]);
	else
		is_suspect = true;
	if (pid == 0) {
		xclose(&ends[0]);
		return 0;
	}
	has_served = true;
	is_suspect = false;
	(void)xnonblock(ends[0]);
	*report = ends[0];
	return pid;
}

/* --- in the zygote ------------------------------------------------------------------------- */

static char *title; /* where the system keeps our arguments, one behind the other */

bool zygote_is_called(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[0], NAME) != 0 || strlen(argv[1]) != TITLE_BYTES - 1 ||
	    argv[1] != argv[0] + sizeof(NAME) || !is_channel_of(CHANNEL_FD, getppid()))
		return false;
	title = argv[0];
	return true;
}

/* As many of its arguments as there is room for. */
static void show(const char *const *argv)
{
	char *end = title + sizeof(NAME) + TITLE_BYTES - 1, *at = title;

	memset(title, 0, (size_t)(end - title));
	for (; *argv != NULL && at < end; argv++) {
		size_t n = MIN_OF(strlen(*argv), (size_t)(end - at));

		memcpy(at, *argv, n);
		at += n + 1;
	}
}

static int count_texts(const char *const *list)
{
	int n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

static zygote_run_fn *zygote_run;

/* As child_main() of child.c, up to the exec. Signals are as exec has left them in the zygote:
 * only blocked, which the program is prepared for. */
static void be_call(const struct packet *p, pid_t parent)
{
	struct child_spec spec = p->spec;
	struct child_error born = { CHILD_OK, getpid() };
	int report;

	spec.new_group = true;
	if (getppid() != parent || getsid(0) != getsid(parent) || fchdir(p->directory) < 0)
		_exit(1);
	report = child_become(&spec, p->report, parent);
	environ = (char **)spec.envp;
	os_name_process(spec.argv[0]);
	show(spec.argv);
	if (xwrite(report, &born, sizeof(born)) != sizeof(born))
		_exit(1); /* another one may be started in our place */
	shepherd_conclude(zygote_run(count_texts(spec.argv), (char **)spec.argv, parent), p->grace_ms, parent, report);
}

NO_RETURN void zygote_serve(int (*prepare)(void), zygote_run_fn *run)
{
	pid_t parent = getppid();
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	os_parent_death_signal(SIGKILL);
	os_name_process(NAME);
	show((const char *const[]){ NAME, NULL });
	if (fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0 || prepare() < 0)
		_exit(1);
	zygote_run = run;
	serve(CHANNEL_FD, parent, be_call);
}
