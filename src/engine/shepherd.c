/*
 * shepherd.c: the process between the worker and a program (shepherd.h). What
 * follows shepherd_main() runs in it: a fork of the worker that never returns, so
 * it touches no stdio, no malloc and no lock. All signals stay blocked in it
 * and are taken one at a time; nothing here is a handler.
 */
#include "shepherd.h"

#include <errno.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os.h"

#define EXIT_NOT_STARTED 127
#define KILL_AGAIN_MS 5 /* what was being forked behind our look */

/* RT signals queue: a TERM that is pending already would swallow the grace. */
#define STOP_SIGNAL SHEPHERD_KILL

static volatile sig_atomic_t started;

struct shepherd {
	pid_t worker;
	pid_t program; /* 0 once it has ended */
	int status;    /* its wait status */
	int word;
	int64_t grace_ms;
	bool adopts; /* a subreaper */
	bool ending;
	mono_t kill_at, give_up_at;
	int told_count; /* who has had its TERM */
	pid_t told[CHILD_MAX_FOUND];
};

/* --- ending: in the shepherd ----------------------------------------------------- */

static bool was_told(const struct shepherd *s, pid_t pid)
{
	for (int i = 0; i < s->told_count; i++)
		if (s->told[i] == pid)
			return true;
	return false;
}

/* CONT: a stopped process would not see the TERM. `group` has had both. */
static void tell(struct shepherd *s, pid_t pid, pid_t group)
{
	if (pid == getpid() || was_told(s, pid) || s->told_count == CHILD_MAX_FOUND)
		return;
	s->told[s->told_count++] = pid;
	if (group > 0 && getpgid(pid) == group)
		return;
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
}

/* The group first: its members and what they are forking can't slip through.
 * Only while the program is not reaped is the group's number ours. */
static void tell_tree(struct shepherd *s)
{
	static pid_t found[CHILD_MAX_FOUND];
	int count;

	if (s->program > 0) {
		kill(-s->program, SIGTERM);
		kill(-s->program, SIGCONT);
	}
	count = child_find_tree(getpid(), found, NULL);
	for (int i = 0; i < count; i++)
		tell(s, found[i], s->program);
}

/* Those whose parent has died since; what still has one is its parent's, which
 * may be at its own cleaning up. */
static void tell_orphans(struct shepherd *s)
{
	static pid_t pids[CHILD_MAX_FOUND];
	int count = os_children(getpid(), pids, CHILD_MAX_FOUND);

	for (int i = 0; i < count; i++)
		tell(s, pids[i], 0);
}

static void kill_tree(struct shepherd *s, mono_t now)
{
	if (s->give_up_at == MONO_NEVER)
		s->give_up_at = mono_add_ms(now, SHEPHERD_GIVE_UP_MS);
	s->kill_at = mono_add_ms(now, KILL_AGAIN_MS);
	if (s->program > 0)
		kill(-s->program, SIGKILL);
	child_kill_all(NULL);
}

static void begin_end(struct shepherd *s, int64_t grace_ms)
{
	s->kill_at = MIN_OF(s->kill_at, mono_add_ms(mono_now(), grace_ms));
	if (s->ending)
		return;
	s->ending = true;
	if (grace_ms > 0)
		tell_tree(s);
}

static void program_ended(struct shepherd *s)
{
	if (s->ending)
		tell_tree(s);
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
		(void)!xwrite(s->word, "", 1);
	if (!s->adopts)
		kill(-pid, SIGTERM); /* its members are not ours to wait for */
}

/* True when nobody is left. */
static bool reap(struct shepherd *s)
{
	bool ran = s->program > 0;

	if (child_reap(NULL, note_exit, s))
		return true;
	if (ran && s->program == 0)
		program_ended(s);
	else if (s->program == 0)
		tell_orphans(s);
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
	mono_t until = MIN_OF(s->kill_at, s->give_up_at);
	struct timespec left;
	siginfo_t info;
	sigset_t all;

	sigfillset(&all);
	if (until == MONO_NEVER ? sigwaitinfo(&all, &info) > 0
	                        : sigtimedwait(&all, &info, mono_left(until, mono_now(), &left)) > 0)
		take(s, &info);
	if (getppid() != s->worker)
		begin_end(s, s->grace_ms);
}

/* What was pending for us is not what the program died of: all but that signal
 * stay blocked. */
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

static NO_RETURN void tend(struct shepherd *s)
{
	while (!reap(s)) {
		mono_t now = mono_now();

		if (now >= s->give_up_at)
			break;
		if (now >= s->kill_at)
			kill_tree(s, now);
		wait_for_signal(s);
	}
	end_as(s->status);
}

/* --- starting ------------------------------------------------------------------------ */

static void close_all_but(int a, int b)
{
	const int keep[] = { MIN_OF(a, b), MAX_OF(a, b) }; /* in order */

	os_close_from(0, keep, 2);
}

/* The news of the worker's death is a CONT, which reaches us even if we are stopped. */
static NO_RETURN void shepherd_main(const struct child_spec *spec, int64_t grace_ms,
                                    pid_t worker, int held, int word)
{
	static struct shepherd s; /* too large for some stacks */
	struct child_spec program = *spec;
	struct child_error error = { CHILD_FORK, ESRCH };

	s = (struct shepherd){ .worker = worker, .status = SIGKILL, .word = word,
	                       .grace_ms = grace_ms, .kill_at = MONO_NEVER,
	                       .give_up_at = MONO_NEVER };
	program.new_session = false;
	program.new_group = true;
	program.dies_with_parent = true; /* ours is the only answer for it */
	program.borrow_memory = true;
	signal(SIGCHLD, SIG_DFL);
	s.adopts = os_become_subreaper() == 0;
	os_parent_death_signal(SIGCONT);
	s.program = getppid() == worker ? child_spawn(&program, &error) : -1;
	close_all_but(held, word);
	(void)!xwrite(word, &error, sizeof(error));
	if (s.program < 0)
		_exit(EXIT_NOT_STARTED);
	tend(&s);
}

/* All signals wait until they are taken: no handler of ours may run in it. */
static pid_t fork_shepherd(const struct child_spec *spec, int64_t grace_ms, int held, int word)
{
	pid_t pid, worker = getpid();
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		shepherd_main(spec, grace_ms, worker, held, word);
	err = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return pid;
}

static void reap_failed(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

pid_t shepherd_spawn(const struct child_spec *spec, int64_t grace_ms, int held, int *word,
                     struct child_error *error)
{
	struct child_error told = { CHILD_OK, 0 };
	int ends[2];
	pid_t pid;

	started = 1;
	*error = told;
	if (xpipe(ends) < 0) {
		*error = (struct child_error){ CHILD_PIPE, errno };
		return -1;
	}
	pid = fork_shepherd(spec, grace_ms, held, ends[1]);
	if (pid < 0)
		told = (struct child_error){ CHILD_FORK, errno };
	xclose(&ends[1]);
	/* one that was killed before its word has a wait status like any other */
	if (pid > 0)
		(void)!xread(ends[0], &told, sizeof(told));
	xnonblock(ends[0]); /* nobody waits for a last word */
	*word = ends[0];
	if (told.step == CHILD_OK)
		return pid;
	*error = told;
	xclose(word);
	if (pid > 0)
		reap_failed(pid);
	return -1;
}

int shepherd_stop(pid_t shepherd, int64_t grace_ms)
{
	union sigval grace = { .sival_int = (int)MIN_OF(MAX_OF(grace_ms, 0), INT_MAX) };

	if (sigqueue(shepherd, STOP_SIGNAL, grace) < 0 && kill(shepherd, SIGTERM) < 0)
		return -1;
	return kill(shepherd, SIGCONT); /* a stopped one takes nothing */
}

bool shepherd_was_started(void)
{
	return started;
}

bool shepherd_let_end(int word)
{
	char byte;

	return xread(word, &byte, 1) == 1;
}
