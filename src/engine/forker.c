/*
 * forker.c: the process that forks for the worker (forker.h). What follows serve() runs in the
 * forker: a fork of the worker that uses no stdio, no malloc and no lock.
 */
#include "forker.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os.h"
#include "packet.h"

static int channel = -1;
static pid_t forker;

/* --- asking: in the worker -------------------------------------------------------------- */

bool forker_ask(const struct child_spec *spec, int64_t grace_ms, int held, int report)
{
	const struct packet p = { .spec = *spec, .grace_ms = grace_ms, .held = held, .report = report, .directory = -1 };

	if (channel < 0)
		return false;
	if (packet_send(channel, &p))
		return true;
	if (errno == EPIPE || errno == ECONNRESET)
		xclose(&channel);
	return false;
}

/* --- serving: in the forker ------------------------------------------------------------ */

static NO_RETURN void serve(forker_run_fn *run, pid_t parent)
{
	struct packet p;

	while (getppid() == parent && packet_receive(channel, &p)) {
		pid_t pid = os_fork_sibling();

		if (pid == 0) {
			run(&p.spec, p.grace_ms, parent, p.held, p.report);
			_exit(1);
		}
		if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
			break; /* not allowed here: a sandbox may know no CLONE_PARENT */
		packet_close(&p);
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
