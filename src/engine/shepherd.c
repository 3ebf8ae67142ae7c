/*
 * shepherd.c: the process between the worker and a program (shepherd.h). What
 * follows shepherd_main() runs in it: a fork of the worker that never returns, so
 * it uses no stdio, no malloc and no lock. All signals stay blocked in it and are
 * taken one at a time; nothing here is a handler.
 */
#include "shepherd.h"

#include <errno.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "fork_server.h"
#include "os.h"

#define EXIT_NOT_STARTED 127
/* RT signals queue: with TERM, a pending one would swallow the grace. */
#define STOP_SIGNAL SHEPHERD_KILL

/* What the report says behind how the start went. */
enum report_byte { ENDED_ITSELF = 1, COMPLETE };

static volatile sig_atomic_t started;

struct shepherd {
	pid_t worker;
	pid_t program; /* 0 once it has ended */
	int status;    /* its wait status */
	int report;
	int64_t grace_ms;
	bool adopts; /* a subreaper */
	bool ending;
	mono_t kill_at, give_up_at;
	int signalled_count; /* who has been sent TERM */
	pid_t signalled[CHILD_MAX_FOUND];
};

/* --- ending: in the shepherd ----------------------------------------------------- */

static bool was_signalled(const struct shepherd *s, pid_t pid)
{
	for (int i = 0; i < s->signalled_count; i++)
		if (s->signalled[i] == pid)
			return true;
	return false;
}

/* CONT, or a stopped process would not see the TERM. `group` has been sent both. */
static void send_term(struct shepherd *s, pid_t pid, pid_t group)
{
	if (pid == getpid() || was_signalled(s, pid) || s->signalled_count == CHILD_MAX_FOUND)
		return;
	s->signalled[s->signalled_count++] = pid;
	if (group > 0 && getpgid(pid) == group)
		return;
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
}

/* The group first, so that its members and what they fork can't slip through. Its
 * number is ours only until the program is reaped. */
static void term_tree(struct shepherd *s)
{
	static pid_t found[CHILD_MAX_FOUND];
	int count;

	if (s->program > 0) {
		kill(-s->program, SIGTERM);
		kill(-s->program, SIGCONT);
	}
	count = child_find_tree(getpid(), found, NULL);
	for (int i = 0; i < count; i++)
		send_term(s, found[i], s->program);
}

/* Only those whose parent has died since. The others belong to a parent that may be
 * cleaning up. */
static void term_orphans(struct shepherd *s)
{
	static pid_t pids[CHILD_MAX_FOUND];
	int count = os_children(getpid(), pids, CHILD_MAX_FOUND);

	for (int i = 0; i < count; i++)
		send_term(s, pids[i], 0);
}

static void kill_tree(struct shepherd *s, mono_t now)
{
	if (s->give_up_at == MONO_NEVER)
		s->give_up_at = mono_add_ms(now, SHEPHERD_GIVE_UP_MS);
	if (s->program > 0)
		kill(-s->program, SIGKILL);
	s->kill_at = child_kill_again(now, child_kill_all(NULL));
}

static void begin_end(struct shepherd *s, int64_t grace_ms)
{
	s->kill_at = MIN_OF(s->kill_at, mono_add_ms(mono_now(), grace_ms));
	if (s->ending)
		return;
	s->ending = true;
	if (grace_ms > 0)
		term_tree(s);
}

static void program_ended(struct shepherd *s)
{
	if (s->ending)
		term_tree(s);
	else
		begin_end(s, s->grace_ms);
}

static void note_exit(pid_t pid, int wait_status, void *data)
{
	struct shepherd *s = data;

	if (pid != s->program)
		return;
	s->program = 0;
	s->status = wait_status;
	if (!s->ending)
		(void)!xwrite(s->report, &(char){ ENDED_ITSELF }, 1);
	if (!s->adopts)
		kill(-pid, SIGTERM); /* its members are not ours to wait for */
}

/* True when no process is left. */
static bool reap(struct shepherd *s)
{
	bool ran = s->program > 0;

	if (child_reap(NULL, note_exit, s))
		return true;
	if (ran && s->program == 0)
		program_ended(s);
	else if (s->program == 0)
		term_orphans(s);
	return false;
}

/* --- signals: in the shepherd ---------------------------------------------------- */

static void take(struct shepherd *s, const siginfo_t *info)
{
	if (info->si_signo == STOP_SIGNAL)
		begin_end(s, info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
	else if (info->si_signo == SIGTERM)
		begin_end(s, s->grace_ms);
	else if (info->si_signo != SIGCHLD && info->si_signo != SIGPIPE && s->program > 0)
		kill(-s->program, info->si_signo);
}

static void wait_for_signal(struct shepherd *s)
{
	mono_t until = MIN_OF(s->kill_at, s->give_up_at), began = rest_before(NULL);
	struct timespec left;
	siginfo_t info = { .si_signo = 0 };
	sigset_t all;

	sigfillset(&all);
	(void)(until == MONO_NEVER ? sigwaitinfo(&all, &info) : sigtimedwait(&all, &info, mono_left(until, began, &left)));
	rest_after(began);
	if (info.si_signo > 0)
		take(s, &info);
	if (getppid() != s->worker)
		begin_end(s, s->grace_ms);
}

/* Only that signal is unblocked: others that are pending here are not what the
 * program died of. */
static NO_RETURN void end_as(int wait_status)
{
	sigset_t its_own;

	if (WIFEXITED(wait_status))
		_exit(WEXITSTATUS(wait_status));
	os_refuse_core();
	signal(WTERMSIG(wait_status), SIG_DFL);
	sigemptyset(&its_own);
	sigaddset(&its_own, WTERMSIG(wait_status));
	kill(getpid(), WTERMSIG(wait_status));
	sigprocmask(SIG_UNBLOCK, &its_own, NULL);
	_exit(128 + WTERMSIG(wait_status));
}

static NO_RETURN void serve(struct shepherd *s)
{
	while (!reap(s)) {
		mono_t now = mono_now();

		if (now >= s->give_up_at)
			break;
		if (now >= s->kill_at)
			kill_tree(s, now);
		wait_for_signal(s);
	}
	if (s->program == 0)
		(void)!xwrite(s->report, &(char){ COMPLETE }, 1);
	end_as(s->status);
}

#ifndef W_EXITCODE /* musl */
#define W_EXITCODE(status, signal) ((status) << 8 | (signal))
#endif

/* --- starting ------------------------------------------------------------------------ */

static void close_all_but(int a, int b)
{
	const int keep[] = { MIN_OF(a, b), MAX_OF(a, b) }; /* in order */

	os_close_from(0, keep, 2);
}

void shepherd_conclude(int status, int64_t grace_ms, pid_t worker, int report)
{
	static struct shepherd s; /* as in shepherd_main() */
	sigset_t all;

	s.worker = worker;
	s.status = W_EXITCODE(status, 0);
	s.report = report;
	s.grace_ms = grace_ms;
	s.kill_at = s.give_up_at = MONO_NEVER;
	s.adopts = true;
	if (os_has_children()) {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		signal(SIGCHLD, SIG_DFL);
		close_all_but(-1, report);
		program_ended(&s);
	}
	serve(&s);
}

/* The worker's death is announced by a CONT, which reaches us even if we are stopped. It
 * reports its pid, then how the program started. */
static NO_RETURN void shepherd_main(const struct child_spec *spec, int64_t grace_ms,
                                    pid_t worker, int held, int report)
{
	static struct shepherd s; /* too large for some stacks */
	struct child_spec program = *spec;
	struct child_error error = { CHILD_FORK, ESRCH };
	pid_t self = getpid();

	if (xwrite(report, &self, sizeof(self)) != sizeof(self))
		_exit(EXIT_NOT_STARTED); /* another one may be forked for this program */
	s.worker = worker; /* the rest is 0: clearing it would touch all its pages */
	s.status = SIGKILL;
	s.report = report;
	s.grace_ms = grace_ms;
	s.kill_at = s.give_up_at = MONO_NEVER;
	program.new_session = false;
	program.new_group = true;
	program.dies_with_parent = true; /* no one else would end it */
	program.borrow_memory = true;
	signal(SIGCHLD, SIG_DFL);
	s.adopts = os_become_subreaper() == 0;
	os_parent_death_signal(SIGCONT);
	s.program = getppid() == worker ? child_spawn(&program, &error) : -1;
	close_all_but(held, report);
	(void)!xwrite(report, &error, sizeof(error));
	if (s.program < 0)
		_exit(EXIT_NOT_STARTED);
	serve(&s);
}

/* All signals stay blocked until taken: our handlers must not run in the shepherd. */
static pid_t fork_shepherd(const struct child_spec *spec, int64_t grace_ms, int held, int report)
{
	pid_t pid, worker = getpid();
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		shepherd_main(spec, grace_ms, worker, held, report);
	err = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return pid;
}

static void reap_failed(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && rest_again())
		;
}

/* What is the shepherd's pid? 0: no process forked it, and ends[] may be closed, so we do, or
 * learn why not; -1 with errno. */
static pid_t ask_forker(const struct child_spec *spec, int64_t grace_ms, int held, int ends[2])
{
	pid_t pid = 0;

	if (spec->held_fd > 0 || spec->takes_terminal || spec->bounds || !forker_ask(spec, grace_ms, held, ends[1]))
		return 0;
	xclose(&ends[1]);
	if (xread(ends[0], &pid, sizeof(pid)) < 0)
		return -1; /* not known: better not started twice */
	if (pid == 0)
		xclose(&ends[0]);
	return pid;
}

/* The shepherd, forked by a forker or the worker; ends[0] has its report. */
static pid_t begin(const struct child_spec *spec, int64_t grace_ms, int held, int ends[2])
{
	pid_t pid = ask_forker(spec, grace_ms, held, ends), reported;
	bool mute;

	if (pid != 0)
		return pid;
	if (ends[0] < 0 && xpipe(ends) < 0) /* the forker died, or could not */
		return -1;
	pid = fork_shepherd(spec, grace_ms, held, ends[1]);
	xclose(&ends[1]);
	mute = pid > 0 && xread(ends[0], &reported, sizeof(reported)) == 0;
	if (!mute)
		return pid;
	reap_failed(pid);
	errno = EIO;
	return -1;
}

pid_t shepherd_spawn(const struct child_spec *spec, int64_t grace_ms, int held, int *report,
                     struct child_error *error)
{
	struct child_error reported = { CHILD_OK, 0 };
	int ends[2];
	pid_t pid;

	started = 1;
	*error = reported;
	if (xpipe(ends) < 0) {
		*error = (struct child_error){ CHILD_PIPE, errno };
		return -1;
	}
	pid = begin(spec, grace_ms, held, ends);
	if (pid < 0)
		reported = (struct child_error){ CHILD_FORK, errno };
	/* if it was killed before it reported, its wait status will say so */
	if (pid > 0)
		(void)!xread(ends[0], &reported, sizeof(reported));
	if (ends[0] >= 0)
		xnonblock(ends[0]); /* shepherd_account() must not block */
	*report = ends[0];
	if (reported.step == CHILD_OK)
		return pid;
	*error = reported;
	xclose(report);
	if (pid > 0)
		reap_failed(pid);
	return -1;
}

pid_t shepherd_prepare(void)
{
	return forker_start(shepherd_main);
}

void shepherd_dismiss(void)
{
	forker_dismiss();
}

int shepherd_stop(pid_t shepherd, int64_t grace_ms)
{
	union sigval grace = { .sival_int = (int)MIN_OF(MAX_OF(grace_ms, 0), INT_MAX) };

	if (sigqueue(shepherd, STOP_SIGNAL, grace) < 0 && kill(shepherd, SIGTERM) < 0)
		return -1;
	return kill(shepherd, SIGCONT); /* a stopped shepherd takes no signal */
}

bool shepherd_was_started(void)
{
	return started;
}

struct shepherd_account shepherd_account(int report)
{
	struct shepherd_account account = { false, false };
	char byte;

	while (xread(report, &byte, 1) == 1) {
		account.ended_itself |= byte == ENDED_ITSELF;
		account.complete |= byte == COMPLETE;
	}
	return account;
}
