/*
 * zygote.c: the warm start (zygote.h), both ends. What follows zygote_is_called() runs in the
 * zygote, which is no fork: it was executed, so it has nothing of its parent but what exec
 * passes on. Packets: packet.h.
 */
#include "zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os.h"
#include "packet.h"
#include "shepherd.h"

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

#define NAME "runner-zygote"
#define TITLE_BYTES 1024 /* room for the arguments of a call, in lists of processes */
#define CHANNEL_FD 3 /* child_spec.held_fd */
#define TRIES 3      /* of zygotes that fork nothing: then there is none any more */
#define BORN_MS 5000 /* a zygote that takes longer for a fork is ended */

extern char **environ;

static int channel = -1;
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
	if (zygote <= 0 || getpid() != owner)
		return;
	xclose(&channel);
	kill(zygote, SIGKILL);
	while (waitpid(zygote, NULL, 0) < 0 && errno == EINTR)
		;
	zygote = 0;
}

/* /proc/self/exe is this very program, even where its file has been replaced. Its pid, or 0. */
static pid_t execute(int end)
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
static void replace(void)
{
	in_vain = has_served ? 0 : in_vain + 1;
	zygote_dismiss();
}

/* One that could not fork this once may do so the next time. */
static void look_after_it(void)
{
	struct pollfd p = { .fd = channel };

	if (is_suspect && poll(&p, 1, 0) != 0)
		replace();
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
	zygote = is_channel_of(ends[0], getpid()) ? execute(ends[1]) : 0;
	xclose(&ends[1]);
	has_served = is_suspect = false;
	in_vain += zygote == 0;
	owner = getpid();
	channel = ends[0];
	if (zygote == 0)
		xclose(&channel);
	return zygote;
}

pid_t zygote_pid(void)
{
	return zygote;
}

/* --- asking ------------------------------------------------------------------------------- */

static bool ask(const struct child_spec *spec, int64_t grace_ms, int report)
{
	struct packet p = { .spec = *spec, .grace_ms = grace_ms, .held = -1, .report = report };
	bool sent;

	p.directory = xopen(".", O_PATH | O_DIRECTORY, 0);
	sent = p.directory >= 0 && packet_send(channel, &p);
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
		ready = poll(&p, 1, (int)MAX_OF(mono_elapsed_ms(mono_now(), until), 0) + 1);
	while (ready < 0 && errno == EINTR && mono_now() < until);
	return ready > 0;
}

/* The number of the new process; 0: there is none, and will be none. */
static pid_t hear(int report)
{
	struct child_error born = { CHILD_FORK, 0 };
	bool late = !wait_for(report);
	ssize_t got;

	if (late)
		replace(); /* who is dead forks nobody any more */
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
	asked = ask(spec, grace_ms, ends[1]);
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

static int count(const char *const *list)
{
	int n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

/* As child_main() of child.c, up to the exec. Signals are as exec has left them in the zygote:
 * only blocked, which the program is prepared for. */
static NO_RETURN void be_call(const struct packet *p, zygote_run_fn *run, pid_t parent)
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
	shepherd_conclude(run(count(spec.argv), (char **)spec.argv, parent), p->grace_ms, parent, report);
}

NO_RETURN void zygote_serve(int (*prepare)(void), zygote_run_fn *run)
{
	pid_t parent = getppid();
	struct packet p;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	os_parent_death_signal(SIGKILL);
	os_name_process(NAME);
	show((const char *const[]){ NAME, NULL });
	if (fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0 || prepare() < 0)
		_exit(1);
	while (getppid() == parent && packet_receive(CHANNEL_FD, &p)) {
		pid_t pid = os_fork_sibling();

		if (pid == 0)
			be_call(&p, run, parent);
		if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
			break; /* not allowed here: a sandbox may know no CLONE_PARENT */
		packet_close(&p);
	}
	_exit(0);
}
