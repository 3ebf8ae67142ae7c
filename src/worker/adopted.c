/*
 * adopted.c: reaps the processes that the worker has adopted (adopted.h). Runs in the
 * handler of SIGCHLD, so it uses only system calls and its own memory. The list of
 * expected children is consistent at every moment, since a handler may read it.
 */
#include "adopted.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../engine/child.h"
#include "../engine/os.h"
#include "channel.h"
#include "worker_launch.h"

#define MAX_EXPECTED 4096
#define MAX_LISTED 4096
#define KILL_MS 1000
#define MAX_REAPED 256 /* for each signal: the next death sends another */

static struct {
	pid_t pid;
	int ends_by;
} expected[MAX_EXPECTED];
static volatile sig_atomic_t count;
static int helpers; /* of these */
static volatile sig_atomic_t held;
static volatile sig_atomic_t missed; /* a signal came while held */
static volatile sig_atomic_t missed_cause; /* … and this end of the attempt; 0: none */
static volatile sig_atomic_t blind;  /* the list is full: reap nothing */
static volatile sig_atomic_t in_doubt;
static pid_t self; /* 0: we have started no child yet */

/* --- whose child ------------------------------------------------------------------ */

static int find(pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (expected[i].pid == pid)
			return i;
	return -1;
}

/* Our own children start in our session, and in our group or one of their own. A process
 * in another one that it did not create inherited that from a parent that was not us. */
static bool is_of_another_parent(pid_t pid)
{
	pid_t session = getsid(pid), group = getpgid(pid);

	if (session > 0 && session != getsid(0))
		return session != pid;
	return group > 0 && group != pid && find(group) >= 0;
}

static bool may_reap(pid_t pid)
{
	return find(pid) < 0 && (!in_doubt || is_of_another_parent(pid));
}

/* --- reaping ---------------------------------------------------------------------- */

/* The first dead one is not ours to reap, and hides the others. */
static void reap_listed(void)
{
	static pid_t listed[MAX_LISTED];
	int n = os_children(self, listed, MAX_LISTED);

	for (int i = 0; i < n; i++)
		if (may_reap(listed[i]))
			(void)waitpid(listed[i], NULL, WNOHANG);
}

static void reap(void)
{
	for (int i = 0; i < MAX_REAPED; i++) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return;
		if (!may_reap(info.si_pid)) {
			reap_listed();
			return;
		}
		(void)waitpid(info.si_pid, NULL, WNOHANG);
	}
}

/* Does nothing in a fork made by a C module, which has inherited the handler. */
static void on_child(int sig)
{
	int saved = errno;

	(void)sig;
	if (held)
		missed = 1;
	else if (!blind && getpid() == self)
		reap();
	errno = saved;
}

/* A handler that is not ours stays. */
static void handle(void (*from)(int), void (*to)(int))
{
	struct sigaction act, now;

	if (sigaction(SIGCHLD, NULL, &now) < 0 || now.sa_handler != from)
		return;
	memset(&act, 0, sizeof(act));
	act.sa_handler = to;
	act.sa_flags = SA_RESTART | SA_NOCLDSTOP;
	sigfillset(&act.sa_mask);
	sigaction(SIGCHLD, &act, NULL);
}

/* --- asking to end ------------------------------------------------------------------ */

/* The terminal has sent INT to each process in the supervisor's group. */
static int signal_for(pid_t pid, int how, int cause)
{
	bool interrupted = (cause & ~CHILD_FROM_TERMINAL) == SIGINT;

	if (how != ADOPTED_FOREGROUND)
		return how;
	if (interrupted && (cause & CHILD_FROM_TERMINAL) && getpgid(pid) == getpgid(worker_launch()->supervisor))
		return ADOPTED_LEFT_ALONE;
	return interrupted ? SIGINT : SIGTERM;
}

/* All signals wait meanwhile: it uses memory of child.h, which handlers use, too. */
static void ask(int at, int cause)
{
	int sig = signal_for(expected[at].pid, expected[at].ends_by, cause);

	expected[at].ends_by = ADOPTED_LEFT_ALONE;
	if (sig != ADOPTED_LEFT_ALONE && !spared_has(worker_spared(), expected[at].pid))
		child_ask_to_end(expected[at].pid, sig, worker_spared());
}

/* We have adopted it, or a C module has started it: what is in its group may not be ours. */
static void ask_other(pid_t pid)
{
	if (spared_has(worker_spared(), pid))
		return;
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
}

static void ask_all_now(int cause)
{
	static pid_t listed[MAX_LISTED];
	sigset_t all, before;
	int n;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	n = os_children(getpid(), listed, MAX_LISTED);
	for (int i = 0; i < n; i++)
		if (find(listed[i]) >= 0)
			ask(find(listed[i]), cause);
		else
			ask_other(listed[i]);
	for (int i = 0; n < 0 && i < count; i++)
		ask(i, cause);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void adopted_ask_all(int cause)
{
	if (held)
		missed_cause = cause;
	else
		ask_all_now(cause);
}

void adopted_ask(pid_t pid, int cause)
{
	sigset_t all, before;
	int at;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	at = find(pid);
	if (at >= 0)
		ask(at, cause);
	else
		child_ask_to_end(pid, SIGTERM, worker_spared());
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* --- for who starts children ------------------------------------------------------ */

void adopted_hold(void)
{
	if (self == 0) {
		channel_guard();
		self = getpid();
		if (!in_doubt)
			handle(SIG_DFL, on_child);
	}
	held++;
}

void adopted_release(void)
{
	if (--held > 0)
		return;
	if (missed) {
		missed = 0;
		kill(getpid(), SIGCHLD);
	}
	if (missed_cause)
		ask_all_now(missed_cause);
	missed_cause = 0;
}

void adopted_expect(pid_t pid)
{
	if (count == MAX_EXPECTED) {
		blind = 1;
		return;
	}
	expected[count].pid = pid;
	expected[count].ends_by = SIGTERM;
	count++;
}

void adopted_forget(pid_t pid)
{
	int at = find(pid);

	if (at < 0)
		return;
	held++; /* no handler looks at it meanwhile */
	expected[at] = expected[count - 1];
	count--;
	adopted_release();
}

void adopted_ends_by(pid_t pid, int how)
{
	int at = find(pid);

	if (at >= 0)
		expected[at].ends_by = how;
}

void adopted_count_helpers(int more)
{
	helpers += more;
}

bool adopted_programs_run(void)
{
	return blind || count > helpers;
}

/* All signals wait meanwhile: nothing is reaped, so that no number is given away, and no
 * handler that signals our children uses child.h at the same time. How many were alive. */
static int kill_adopted(void)
{
	static pid_t adopted[MAX_LISTED];
	sigset_t all, before;
	int living = 0, n;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	n = os_children(self, adopted, MAX_LISTED);
	for (int i = 0; i < n; i++)
		if (may_reap(adopted[i]) && !spared_has(worker_spared(), adopted[i]) &&
		    os_process_lives(adopted[i])) {
			(void)child_signal_tree(adopted[i], SIGKILL, worker_spared());
			living++;
		}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return living;
}

void adopted_kill(void)
{
	mono_t until = mono_add_ms(mono_now(), KILL_MS);

	while (kill_adopted() > 0 && mono_now() < until)
		poll(NULL, 0, 1);
}

bool adopted_with_module(void)
{
	return in_doubt;
}

void adopted_before_module(void)
{
	in_doubt = 1;
	handle(on_child, SIG_DFL);
}

void adopted_begin_wait(void)
{
	if (self == 0 || !in_doubt)
		return;
	handle(SIG_DFL, on_child);
	kill(getpid(), SIGCHLD); /* who has died since the last */
}

void adopted_end_wait(void)
{
	if (self != 0 && in_doubt)
		handle(on_child, SIG_DFL);
}
