/*
 * guard.c: starts and ends the guard (guard.h). What follows keep_watch() runs in it: a fork of the
 * supervisor in a session of its own, which wait(2) does not see, with no descriptor but the lock
 * of its job: that is held as long as a process of the job lives.
 *
 * It is no ancestor of the tree, so it goes by the mark that a worker bears before it starts a child, and
 * each of its descendants inherits.
 */
#include "guard.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../engine/os.h"
#include "../engine/shepherd.h"

#define PATIENCE_MS 100   /* a worker that lives ends its tree itself */
#define ASKED_MS 200      /* shepherds end theirs first */
#define GIVE_UP_MS 10000
#define BRISK_MS 1000     /* so long it kills without a rest who may be forking; then every 50 ms */
#define QUIET_ROUNDS 3    /* what a dead one has forked may be where we have looked already */

/* --- in the guard -------------------------------------------------------------- */

static void end_tree(uint64_t mark, pid_t session)
{
	mono_t died = mono_now();
	int quiet = 0;

	os_hurry(); /* those who fork all the time would leave us too little of the processor */
	while (quiet < QUIET_ROUNDS) {
		int64_t ms = mono_elapsed_ms(died, mono_now());
		int sig = ms < PATIENCE_MS ? 0 : ms < ASKED_MS ? SHEPHERD_KILL : SIGKILL;

		if (ms > GIVE_UP_MS)
			break;
		quiet = child_signal_marked(mark, sig, session) ? 0 : quiet + 1;
		if (sig != SIGKILL || quiet > 0 || ms > BRISK_MS)
			poll(NULL, 0, ms > BRISK_MS ? 50 : 2);
	}
}

/* The supervisor's death is announced by a CONT, which reaches us even if we are stopped. */
NO_RETURN static void keep_watch(const struct run *run, pid_t supervisor)
{
	const int lock = run->job.is ? run->job.lock : -1;
	pid_t session = getsid(0);
	sigset_t all;

	if (os_mark(run->launch.mark) < 0 || os_parent_death_signal(SIGCONT) < 0)
		_exit(1); /* before setsid(): with the mark of a job, it would be taken for one */
	setsid();
	os_close_from(0, &lock, lock >= 0);
	(void)!chdir("/");
	sigfillset(&all);
	while (getppid() == supervisor) {
		mono_t began = rest_before(NULL);

		(void)sigwaitinfo(&all, NULL);
		rest_after(began);
	}
	end_tree(run->launch.mark, session);
	_exit(0);
}

/* --- in the supervisor ----------------------------------------------------------- */

/* Every signal stays blocked in it: those to the tree are not for it. */
void guard_begin(struct run *run)
{
	pid_t supervisor = getpid();
	sigset_t all, before;
	pid_t pid;

	if (run->guard > 0 || run->launch.mark == 0)
		return;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = os_fork_unnoticed();
	if (pid == 0)
		keep_watch(run, supervisor);
	sigprocmask(SIG_SETMASK, &before, NULL);
	run->guard = run->spared.guard = MAX_OF(pid, 0);
	run->launch.guarded = pid > 0;
}

void guard_end(struct run *run)
{
	if (run->guard <= 0 || run->verdict.report.survivors)
		return;
	kill(run->guard, SIGKILL);
}

/* One that can't be killed isn't waited for: when we have ended, it finds nothing and ends as well. */
void guard_reap(struct run *run)
{
	if (run->guard > 0 && !run->verdict.report.survivors && kill(run->guard, SIGKILL) == 0)
		os_reap_unnoticed(run->guard);
	run->guard = run->spared.guard = 0;
}
