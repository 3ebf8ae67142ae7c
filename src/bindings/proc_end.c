/*
 * proc_end.c: the end of children: what a shepherd has reported, reaping, and ending
 * several at once. Runs in the worker; knows no Lua values.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "../common/xio.h"
#include "../engine/shepherd.h"
#include "../worker/adopted.h"
#include "../worker/cancel.h"
#include "proc.h"

/* --- reaping ---------------------------------------------------------------------------- */

/* A killed shepherd leaves its program's descendants to us, and so does a killed call. They end
 * before anybody acts on the news: what follows must not overlap with them. */
void proc_take_account(struct proc *p)
{
	struct shepherd_account account = { false, false };

	if (p->report_fd >= 0)
		account = shepherd_account(p->report_fd);
	p->ended_itself = account.ended_itself;
	p->lost = p->lost || (p->shepherd && !account.complete);
	if (!account.complete)
		adopted_kill();
	xclose(&p->report_fd);
}

void proc_reap(struct proc *p)
{
	pid_t got;

	if (p->reaped || p->pid <= 0 || !p->exited)
		return;
	if (p->stopping && p->group)
		proc_signal(p, SIGKILL);
	do
		got = waitpid(p->pid, &p->wait_status, WNOHANG);
	while (got < 0 && errno == EINTR);
	p->lost = p->lost || got != p->pid;
	p->reaped = true;
	adopted_forget(p->pid);
	if (p->shepherd)
		proc_take_account(p);
	xclose(&p->pidfd);
}

/* --- several ---------------------------------------------------------------------------- */

bool proc_set_done(const struct proc_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (!proc_done(set->procs[i]))
			return false;
	return true;
}

void proc_set_stop(struct proc_set *set, int64_t grace_ms)
{
	set->stopping = true;
	for (size_t i = 0; i < set->n; i++)
		proc_stop(set->procs[i], grace_ms);
}

void proc_set_end(struct proc_set *set, int64_t grace_ms)
{
	bool heed = !cancel_pending();

	for (size_t i = 0; i < set->n; i++)
		proc_forget_lines(set->procs[i]); /* nobody reads them: a full queue would block */
	proc_set_stop(set, cancel_seen() ? MIN_OF(grace_ms, PROC_CANCEL_GRACE_MS) : grace_ms);
	while (!proc_set_done(set)) {
		if (proc_turn(set, MONO_NEVER, heed) != PROC_CANCELLED)
			continue;
		heed = false;
		proc_set_stop(set, MIN_OF(grace_ms, PROC_CANCEL_GRACE_MS));
	}
	for (size_t i = 0; i < set->n; i++)
		proc_reap(set->procs[i]);
}

void proc_end(struct proc *p, int64_t grace_ms)
{
	struct proc_watch watches[PROC_WATCHES];
	struct pollfd fds[PROC_WATCHES];
	struct proc_set alone = { .n = 1, .procs = &p, .watches = watches, .fds = fds, .until = MONO_NEVER };

	if (p->pid > 0 && !p->detached && !p->reaped)
		proc_set_end(&alone, grace_ms);
	proc_forget_lines(p);
	xclose(&p->in);
	xclose(&p->spill_fd);
	xclose(&p->report_fd);
	xclose(&p->pidfd);
	for (int i = 0; i < 2; i++)
		xclose(&p->out[i].fd);
}

void proc_release(struct proc *p, int64_t grace_ms)
{
	proc_end(p, grace_ms);
	for (int i = 0; i < 2; i++)
		tap_release(&p->out[i].tap);
	buf_release(&p->scratch);
	if (p->pid > 0)
		adopted_forget(p->pid); /* nobody waits for it any more */
	p->pid = 0;
}
