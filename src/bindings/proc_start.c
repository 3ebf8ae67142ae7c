/*
 * proc_start.c: from a spec to a running child: which descriptor becomes what,
 * and nothing of ours left open when any step fails. Runs in the worker;
 * knows no Lua and words no errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/child.h"
#include "../engine/fork_server.h"
#include "../engine/os.h"
#include "../engine/shepherd.h"
#include "../worker/adopted.h"
#include "../worker/channel.h"
#include "../worker/worker_launch.h"
#include "proc.h"

/*
 * Calls of our own program that a zygote starts (engine/fork_server.h), and when that would
 * not be the same as fork and exec. Knows no Lua values.
 */

static pid_t zygote; /* whom the worker is not to mistake for an adopted child */

static void know(pid_t pid)
{
	if (pid == zygote)
		return;
	if (zygote > 0)
		adopted_forget(zygote);
	if (pid > 0)
		adopted_expect(pid);
	adopted_count_helpers((pid > 0) - (zygote > 0));
	zygote = pid;
}

/* A call has our session; it holds no lock of ours. A zygote doesn't know what a C module has
 * changed (mask, limits, dispositions, threads …), nor what RUNNER_LUA reads each time. Outside of a
 * run we are some other program. */
static bool can_be_warm(const struct proc_spec *spec)
{
	return spec->warm && !spec->bounds && !spec->detach && !spec->foreground && spec->held_fd < 0 && spec->handed_fd < 0 && spec->terminal_fd < 0 && !adopted_with_module() &&
	       worker_launch()->supervisor > 0 && !getenv("RUNNER_LUA");
}

pid_t proc_start_warm(const struct proc_spec *spec, const struct child_spec *child, int *report)
{
	pid_t pid;

	if (!can_be_warm(spec))
		return 0;
	know(zygote_start());
	pid = zygote_spawn(child, spec->grace_ms, report);
	know(zygote_pid());
	return pid;
}

#define ROOMY_PIPE (1 << 20)
#define FIRST_HELD_FD 3

/* The child's side: what it gets as 0, 1, 2 and which of those are ours to close. */
struct ends {
	int child[3];
	int ours[3];
};

static int fail(struct proc_failure *failure, const char *step, const char *what)
{
	*failure = (struct proc_failure){ step, what, errno };
	return -1;
}

static void give(struct ends *e, int i, int fd)
{
	e->child[i] = e->ours[i] = fd;
}

static void close_ends(struct ends *e)
{
	for (int i = 0; i < 3; i++)
		xclose(&e->ours[i]);
}

/* O_NONBLOCK belongs to the open pipe, so the next stage must not inherit it. */
static int lend_output(struct proc *from)
{
	int fd = from->out[0].fd;
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return errno = EBADF, -1;
	from->out[0].fd = -1;
	return fd;
}

/* A file that only the child has, so that it can read it again. -1 where that can't be had. */
static int input_file(const struct proc_spec *spec)
{
	int fd = spec->reread_input && !spec->keep_in_open ? os_memory_file() : -1;

	if (fd >= 0 && (xwrite_all(fd, spec->input, spec->input_len) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		xclose(&fd);
	return fd;
}

static int open_input(struct proc *p, const struct proc_spec *spec, struct ends *e)
{
	int fd[2];

	if (spec->input_from) {
		give(e, 0, lend_output(spec->input_from));
		return e->child[0] < 0 ? -1 : 0;
	}
	e->child[0] = spec->terminal_fd >= 0 ? spec->terminal_fd : spec->input_fd;
	if (!spec->input_len && !spec->keep_in_open)
		return 0; /* an empty stdin is /dev/null */
	fd[0] = input_file(spec);
	if (fd[0] >= 0)
		return give(e, 0, fd[0]), 0;
	if (xpipe(fd) < 0)
		return -1;
	give(e, 0, fd[0]);
	p->in = fd[1];
	p->input = spec->input;
	p->input_left = spec->input_len;
	p->keep_in_open = spec->keep_in_open;
	return xnonblock(p->in);
}

static int open_pipe(struct proc *p, const struct proc_spec *spec, struct ends *e, int i)
{
	int fd[2];
	bool is_terminal = i == 1 && spec->columns && xopen_terminal(fd, spec->columns) == 0;

	if (!is_terminal && xpipe(fd) < 0)
		return -1;
	give(e, 1 + i, fd[1]);
	p->out[i].fd = fd[0];
#ifdef F_SETPIPE_SZ
	if (spec->roomy)
		(void)fcntl(fd[0], F_SETPIPE_SZ, ROOMY_PIPE); /* best effort: the default works, too */
#else
	(void)spec;
#endif
	return xnonblock(fd[0]);
}

static int open_output(struct proc *p, const struct proc_spec *spec, struct ends *e, int i)
{
	if (i == 1 && spec->terminal_fd >= 0) {
		e->child[2] = spec->terminal_fd;
		return 0;
	}
	if (i == 1 && spec->merge) {
		e->child[2] = e->child[1];
		return 0;
	}
	if (spec->path[i]) {
		give(e, 1 + i, xopen(spec->path[i], O_WRONLY | O_CREAT | O_APPEND, 0666));
		return e->child[1 + i] < 0 ? -1 : 0;
	}
	if (spec->detach)
		return 0;
	if ((spec->capture && !(i == 1 && spec->own_stderr)) || (i == 0 && spec->piped))
		return open_pipe(p, spec, e, i);
	e->child[1 + i] = i == 0 && spec->own_stdout ? STDOUT_FILENO : STDERR_FILENO;
	return 0;
}

static int open_ends(struct proc *p, const struct proc_spec *spec, struct ends *e,
                     struct proc_failure *failure)
{
	if (open_input(p, spec, e) < 0)
		return fail(failure, "pipe", NULL);
	for (int i = 0; i < 2; i++)
		if (open_output(p, spec, e, i) < 0)
			return fail(failure, spec->path[i] ? "open" : "pipe", spec->path[i]);
	return 0;
}

static int how_to_end(const struct proc *p, const struct proc_spec *spec)
{
	if (spec->detach)
		return ADOPTED_LEFT_ALONE;
	if (p->shepherd || !(spec->stop_signal || spec->foreground))
		return SIGTERM;
	return spec->stop_signal ? spec->stop_signal : ADOPTED_FOREGROUND;
}

static int spawn(struct proc *p, const struct proc_spec *spec, const struct ends *e,
                 struct proc_failure *failure)
{
	bool is_job = spec->detach && spec->held_fd >= FIRST_HELD_FD; /* it keeps the lock */
	struct child_spec child = {
		.argv = spec->argv,
		.program = spec->program,
		.envp = spec->envp,
		.cwd = spec->cwd,
		.fd = { e->child[0], e->child[1], e->child[2] },
		.new_session = spec->detach,
		.bounds = spec->bounds,
		.mark = is_job ? CHILD_JOB_MARK : spec->detach ? worker_spared()->mark : 0,
		.held_fd = is_job ? spec->held_fd : MAX_OF(spec->handed_fd, 0),
		.takes_terminal = spec->terminal_fd >= 0,
		.new_group = !spec->detach && !spec->foreground,
	};
	struct child_error error;
	pid_t pid;

	p->started = mono_now();
	p->foreground = spec->foreground && !spec->stop_signal && spec->terminal_fd < 0;
	adopted_hold();
	pid = proc_start_warm(spec, &child, &p->report_fd);
	p->warm = pid > 0;
	p->shepherd = spec->shepherd && !p->warm;
	if (!p->warm)
		pid = spec->shepherd ? shepherd_spawn(&child, spec->grace_ms, spec->held_fd, &p->report_fd, &error)
		                     : child_spawn(&child, &error);
	if (pid > 0) {
		adopted_expect(pid);
		adopted_ends_by(pid, how_to_end(p, spec));
	}
	adopted_release();
	if (pid < 0) {
		errno = error.err;
		return fail(failure, child_step_name(error.step),
		            error.step == CHILD_EXEC    ? (spec->program ? spec->program : spec->argv[0])
		            : error.step == CHILD_CHDIR ? spec->cwd
		                                        : NULL);
	}
	p->pid = pid;
	p->group = !p->shepherd && (child.new_session || child.new_group);
	p->pidfd = os_watch_process(pid);
	return 0;
}

/* From now on no process of ours ends it; report that to the supervisor. */
static int announce_detached(struct proc *p, struct proc_failure *failure)
{
	if (spared_add(worker_spared(), p->pid) < 0)
		errno = EAGAIN;
	else if (channel_detach(p->pid) == 0)
		return p->detached = true, 0;
	fail(failure, "detach", NULL);
	return -1;
}

void proc_init(struct proc *p)
{
	*p = (struct proc){
		.pidfd = -1,
		.report_fd = -1,
		.in = -1,
		.spill_fd = -1,
		.drain_until = MONO_NEVER,
		.term_at = MONO_NEVER,
		.kill_at = MONO_NEVER,
		.give_up_at = MONO_NEVER,
		.out = { { .fd = -1, .queue = BUF_INIT }, { .fd = -1, .queue = BUF_INIT } },
		.scratch = BUF_INIT,
	};
}

int proc_start(struct proc *p, const struct proc_spec *spec, struct proc_failure *failure)
{
	struct ends e = { { -1, -1, -1 }, { -1, -1, -1 } };
	int rc = -1;

	p->lines = spec->lines;
	p->grace_ms = spec->grace_ms;
	p->spill = spec->spill;
	p->spill_max = spec->spill_max;
	tap_init(&p->out[0].tap, spec->cap);
	tap_init(&p->out[1].tap, spec->cap);
	if (open_ends(p, spec, &e, failure) < 0 || spawn(p, spec, &e, failure) < 0)
		goto done;
	if (spec->detach && announce_detached(p, failure) < 0)
		goto done;
	rc = 0;
done:
	close_ends(&e);
	if (rc < 0)
		proc_release(p, 0);
	return rc;
}
