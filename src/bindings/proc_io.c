/*
 * proc_io.c: the loop that serves running children: feeds stdin, drains
 * stdout and stderr at once so that neither side can block the other, sees
 * deaths, and kills what overstays its grace; proc_set.c reaps. Runs in the worker;
 * knows no Lua values. Never waits for "any child": the worker has others.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "../engine/shepherd.h"
#include "../worker/adopted.h"
#include "../worker/cancel.h"
#include "../worker/quiet_pipe.h"
#include "proc.h"

/*
 * A child's whole stdout in a private file, once it is more than its tap
 * keeps. a failure costs the file and nothing else.
 */

static void spill_failed(struct proc *p, int err)
{
	p->spill_error = err;
	p->spilled = false;
	if (p->spill_fd < 0)
		return;
	xclose(&p->spill_fd);
	unlink(p->spill);
}

/* All that came so far is in the tap. */
static int spill_open(struct proc *p)
{
	struct tap *tap = &p->out[0].tap;
	struct buf kept = BUF_INIT;
	int rc = -1;

	p->spill_fd = xopen(p->spill, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (p->spill_fd < 0)
		return -1;
	tap_text(tap, &kept);
	if (kept.failed || tap_dropped(tap) > 0)
		errno = ENOMEM;
	else
		rc = xwrite_all(p->spill_fd, buf_cstr(&kept), kept.len);
	buf_release(&kept);
	p->spilled = rc == 0;
	return rc;
}

void proc_spill(struct proc *p, const char *bytes, size_t n)
{
	struct tap *tap = &p->out[0].tap;

	if (!p->spill || p->spill_error || tap->total + n <= tap->head_cap + tap->tail_cap)
		return;
	if (tap->total + n > p->spill_max)
		spill_failed(p, EFBIG);
	else if ((p->spill_fd < 0 && spill_open(p) < 0) || xwrite_all(p->spill_fd, bytes, n) < 0)
		spill_failed(p, errno);
}

#define CHUNK 65536
#define QUEUE_MAX (1 << 20) /* lines read ahead of the caller that takes them */
#define DRAIN_MS 100        /* for EOF, after the child's own death */
#define GIVE_UP_MS 1000     /* after KILL, for uninterruptible processes */
#define SHEPHERD_SLACK_MS 1000 /* it gives up by itself first */
#define TICK_MS 10          /* where the system can't report a death or poll so many pipes */

/* --- bytes ---------------------------------------------------------------------- */

static ssize_t write_quietly(int fd, const void *bytes, size_t n)
{
	struct quiet_pipe quiet;
	ssize_t written;

	quiet_pipe_begin(&quiet);
	written = xwrite(fd, bytes, n);
	quiet_pipe_end(&quiet);
	return written;
}

static void feed_input(struct proc *p)
{
	ssize_t n = write_quietly(p->in, p->input, p->input_left);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		p->starved = errno != EPIPE; /* EPIPE: it stopped reading, which it may */
		xclose(&p->in);
		return;
	}
	p->input += n;
	p->input_left -= (size_t)n;
	if (p->input_left == 0 && !p->keep_in_open)
		xclose(&p->in);
}

static void drain(struct proc *p, struct proc_stream *s)
{
	char chunk[CHUNK];
	ssize_t n = xread(s->fd, chunk, sizeof(chunk));

	if (n < 0 && errno == EAGAIN) {
		s->owed = 0; /* another reader took it */
		return;
	}
	if (n <= 0) {
		s->tap.failed |= n < 0 && !(errno == EIO && isatty(s->fd)); /* so ends a terminal that no program has open any more */
		xclose(&s->fd);
		return;
	}
	s->owed -= n;
	if (s == &p->out[0])
		proc_spill(p, chunk, (size_t)n);
	tap_feed(&s->tap, chunk, (size_t)n);
	if (p->lines)
		buf_add(&s->queue, chunk, (size_t)n);
}

static void drain_stdout(struct proc *p)
{
	drain(p, &p->out[0]);
}

static void drain_stderr(struct proc *p)
{
	drain(p, &p->out[1]);
}

bool proc_next_line(struct proc_stream *s, const char **text, size_t *n)
{
	size_t left = s->queue.len - s->queue_at;
	const char *at = buf_cstr(&s->queue) + s->queue_at;
	const char *newline = left ? memchr(at, '\n', MIN_OF(left, PROC_LINE_MAX + 1)) : NULL;

	if (newline) {
		*n = (size_t)(newline - at);
		s->queue_at += *n + 1;
	} else if (left > PROC_LINE_MAX || (left > 0 && s->fd < 0)) {
		*n = MIN_OF(left, PROC_LINE_MAX);
		s->queue_at += *n;
	} else {
		buf_consume(&s->queue, s->queue_at);
		s->queue_at = 0;
		return false;
	}
	*text = at;
	return true;
}

void proc_forget_lines(struct proc *p)
{
	p->lines = false;
	for (int i = 0; i < 2; i++) {
		buf_release(&p->out[i].queue);
		p->out[i].queue_at = 0;
	}
}

/* --- deaths ----------------------------------------------------------------------- */

/* What it wrote before it died is in the pipe now. We read all of that, however long
 * it takes us; a background process delays the end by at most DRAIN_MS. */
static void set_exited(struct proc *p, bool lost)
{
	if (p->warm)
		proc_take_account(p); /* its worker may still hold the pipes */
	p->exited = true;
	p->lost = lost;
	rest_changed();
	p->ended = mono_now();
	p->drain_until = mono_add_ms(p->ended, DRAIN_MS);
	xclose(&p->in);
	for (int i = 0; i < 2; i++) {
		int ready = 0;
		if (p->out[i].fd >= 0 && ioctl(p->out[i].fd, FIONREAD, &ready) == 0)
			p->out[i].owed = ready;
	}
}

void proc_notice_exit(struct proc *p)
{
	siginfo_t info;
	int rc;

	if (p->exited || p->pid <= 0)
		return;
	do {
		info.si_pid = 0;
		rc = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	} while (rc < 0 && rest_again());
	if (rc < 0)
		set_exited(p, true); /* another call in this process has reaped it */
	else if (info.si_pid == p->pid)
		set_exited(p, false);
}

static void on_pidfd(struct proc *p)
{
	proc_notice_exit(p);
	if (!p->exited)
		p->pidfd = -1; /* a script closed it: continue by polling */
}

int proc_signal(struct proc *p, int sig)
{
	if (p->pid <= 0 || p->reaped || p->lost)
		return errno = ESRCH, -1;
	return kill(p->group ? -p->pid : p->pid, sig);
}

bool proc_done(const struct proc *p)
{
	return p->pid <= 0 || (p->exited && p->out[0].fd < 0 && p->out[1].fd < 0);
}

/* Called again for a shorter grace. A program that has ended keeps its own status. */
static void stop_shepherd(struct proc *p, mono_t end)
{
	mono_t kill_at = mono_add_ms(end, SHEPHERD_GIVE_UP_MS + SHEPHERD_SLACK_MS);

	proc_notice_exit(p);
	if (p->exited || kill_at >= p->kill_at)
		return;
	p->kill_at = kill_at;
	p->stopping = true;
	shepherd_stop(p->pid, MAX_OF(mono_elapsed_ms(mono_now(), end), 0));
}

/* The terminal's INT, or ours, asked it first. */
static mono_t when_to_term(const struct proc *p, mono_t now)
{
	bool interrupted = (cancel_cause() & ~CHILD_FROM_TERMINAL) == SIGINT;

	return p->foreground && interrupted ? now + (p->kill_at - now) / 2 : MONO_NEVER;
}

void proc_stop(struct proc *p, int64_t grace_ms)
{
	mono_t now = mono_now(), end = MIN_OF(mono_add_ms(now, grace_ms), cancel_child_end(p->started));

	if (p->reaped || proc_done(p))
		return;
	if (p->shepherd) {
		stop_shepherd(p, end);
		return;
	}
	p->kill_at = MIN_OF(p->kill_at, end);
	p->term_at = when_to_term(p, now);
	if (p->stopping)
		return;
	p->stopping = true;
	if (!p->lost)
		adopted_ask(p->pid, cancel_cause());
}

/* --- time --------------------------------------------------------------------------- */

static void stop_reading(struct proc *p)
{
	for (int i = 0; i < 2; i++) {
		struct proc_stream *s = &p->out[i];
		if (s->fd < 0 || s->owed > 0)
			continue;
		p->incomplete = true;
		xclose(&s->fd);
	}
}

static void check_time(struct proc *p, mono_t now)
{
	if (p->pidfd < 0)
		proc_notice_exit(p);
	if (now >= p->term_at) {
		adopted_ends_by(p->pid, SIGTERM);
		adopted_ask(p->pid, 0);
		p->term_at = MONO_NEVER;
	}
	if (now >= p->kill_at) {
		proc_signal(p, SIGKILL);
		p->kill_at = MONO_NEVER;
		p->give_up_at = mono_add_ms(now, GIVE_UP_MS);
	}
	if (!p->exited && now >= p->give_up_at)
		set_exited(p, true);
	if (p->exited && now >= p->drain_until)
		stop_reading(p);
}

static mono_t next_time(const struct proc *p, mono_t now)
{
	mono_t at = MIN_OF(p->kill_at, p->term_at);

	if (proc_done(p))
		return MONO_NEVER;
	if (p->exited)
		return MIN_OF(at, p->drain_until);
	if (p->pidfd < 0)
		at = MIN_OF(at, mono_add_ms(now, TICK_MS));
	return MIN_OF(at, p->give_up_at);
}

/* --- one turn ------------------------------------------------------------------------- */

enum watch_kind { WATCH_STDIN, WATCH_STDOUT, WATCH_STDERR, WATCH_DEATH };

static void (*const handlers[])(struct proc *) = {
	[WATCH_STDIN] = feed_input,
	[WATCH_STDOUT] = drain_stdout,
	[WATCH_STDERR] = drain_stderr,
	[WATCH_DEATH] = on_pidfd,
};

static int watch(struct proc_set *set, int n, struct proc *p, enum watch_kind kind, int fd)
{
	if (fd < 0)
		return n;
	set->watches[n] = (struct proc_watch){ p, (int)kind };
	set->fds[n] = (struct pollfd){ .fd = fd, .events = kind == WATCH_STDIN ? POLLOUT : POLLIN };
	return n + 1;
}

static int watch_proc(struct proc_set *set, int n, struct proc *p)
{
	n = watch(set, n, p, WATCH_STDIN, p->input_left ? p->in : -1);
	for (int i = 0; i < 2; i++)
		if (!p->lines || p->out[i].queue.len < QUEUE_MAX)
			n = watch(set, n, p, (enum watch_kind)(WATCH_STDOUT + i), p->out[i].fd);
	return watch(set, n, p, WATCH_DEATH, p->exited ? -1 : p->pidfd);
}

static int poll_until(struct pollfd *fds, int n, mono_t until)
{
	return rest_poll(fds, n, MIN_OF(until, mono_add_ms(mono_now(), 1000)), NULL);
}

/* cancel_poll() has a maximum; a larger set is polled in ticks. */
static int wait_for(struct pollfd *fds, int n, mono_t until, bool heed)
{
	mono_t tick = MIN_OF(until, mono_add_ms(mono_now(), TICK_MS));
	int ready;

	if (!heed)
		return poll_until(fds, n, until);
	if (n <= CANCEL_POLL_MAX)
		return cancel_poll(fds, n, until);
	ready = poll(fds, (nfds_t)n, 0);
	if (ready != 0)
		return cancel_pending() ? CANCEL_POLL_CANCELLED : ready;
	ready = cancel_poll(NULL, 0, tick);
	return ready == 0 ? poll(fds, (nfds_t)n, 0) : ready;
}

enum proc_turn proc_turn(struct proc_set *set, mono_t until, bool heed)
{
	mono_t now = mono_now();
	int n = 0, ready;

	for (size_t i = 0; i < set->n; i++) {
		n = watch_proc(set, n, set->procs[i]);
		until = MIN_OF(until, MAX_OF(next_time(set->procs[i], now), mono_add_ms(now, 1)));
	}
	for (size_t i = 0; i < set->other_count; i++)
		set->fds[(size_t)n + i] = set->others[i];
	ready = wait_for(set->fds, n + (int)set->other_count, until, heed);
	if (ready == CANCEL_POLL_CANCELLED)
		return PROC_CANCELLED;
	for (size_t i = 0; i < set->other_count && ready > 0; i++)
		set->others[i].revents = set->fds[(size_t)n + i].revents;
	for (int i = 0; i < n && ready > 0; i++)
		if (set->fds[i].revents)
			handlers[set->watches[i].kind](set->watches[i].proc);
	now = mono_now();
	for (size_t i = 0; i < set->n; i++)
		check_time(set->procs[i], now);
	return PROC_TURNED;
}
