/*
 * signals.c: flags that handlers set. Runs in the supervisor; a worker resets
 * everything after its fork.
 */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"
#include "../engine/child.h"
#include "../engine/os.h"

#define INSIST_AFTER_NS 300000000

static volatile sig_atomic_t child_died;
static volatile sig_atomic_t stop_asked;
static volatile sig_atomic_t resized;
static volatile sig_atomic_t cancelled;
static bool requested; /* through `control`, by a command that cancels jobs */
static volatile sig_atomic_t from_terminal; /* … by Ctrl+C, so each process in our group knows */
static volatile sig_atomic_t insisted;
static volatile sig_atomic_t count;
static volatile mono_t cancelled_at;
static volatile sig_atomic_t orphaned;
static pid_t front; /* 0: none */
static pid_t keeper; /* our parent, with which we end; 0: any */
static sigset_t open_mask;
static int others = -1; /* signals without a handler of ours are read from this */
static int control = -1; /* a process that writes to it cancels */

static void note_orphaned(void)
{
	if (front != 0 && getppid() != front)
		orphaned = insisted = 1;
}

/* An alarm, a limit, any other fatal signal: ends the run, but never counts as a second INT. */
static void on_other(int sig)
{
	int saved = errno;

	if (!cancelled) {
		cancelled_at = mono_now();
		cancelled = sig;
		count = 1;
	}
	note_orphaned();
	errno = saved;
}

static void on_cancel(int sig)
{
	int saved = errno;
	mono_t now = mono_now();

	if (!cancelled) {
		on_other(sig);
	} else if (now - cancelled_at >= INSIST_AFTER_NS) {
		insisted |= sig == SIGINT;
		count = count == SIG_ATOMIC_MAX ? 2 : count + 1;
	}
	note_orphaned();
	errno = saved;
}

static void on_interrupt(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (!cancelled)
		from_terminal = info->si_code > 0;
	on_cancel(sig);
}

static void on_child(int sig)
{
	(void)sig;
	child_died = 1;
}

/* Most CONTs are only what they seem. */
static void on_continued(int sig)
{
	(void)sig;
	if (getppid() != keeper)
		on_cancel(SIGTERM);
}

static void on_stop(int sig)
{
	(void)sig;
	stop_asked = 1;
}

static void on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

static const struct {
	int sig;
	void (*handler)(int);
	bool may_be_ignored;
} rows[] = {
	{ SIGINT, on_cancel, true },
	{ SIGHUP, on_cancel, true },
	{ SIGQUIT, on_cancel, true },
	{ SIGTERM, on_cancel, false },
	{ SIGCHLD, on_child, false },
	{ SIGTSTP, on_stop, true },
	{ SIGWINCH, on_resize, false },
	{ SIGPIPE, SIG_IGN, false },
	{ SIGXFSZ, SIG_IGN, false }, /* a write beyond RLIMIT_FSIZE fails instead: OUTPUT_FAILED */
};

static void install(int sig, void (*handler)(int), bool may_be_ignored)
{
	struct sigaction act, old;

	if (may_be_ignored && sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	if (sig == SIGINT) {
		act.sa_sigaction = on_interrupt;
		act.sa_flags = SA_SIGINFO;
	}
	sigfillset(&act.sa_mask);
	sigaction(sig, &act, NULL);
}

/* --- every other signal ------------------------------------------------------------- */

/* These end no process. */
static const int harmless[] = { SIGSTOP, SIGTTIN, SIGTTOU, SIGURG };

/* A fault of our own ends us even if blocked; a sanitizer wants to report it first. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };

#if defined(__SANITIZE_ADDRESS__)
#define FAULTS_ARE_OURS false
#else
#define FAULTS_ARE_OURS true
#endif

static void remove_signals(sigset_t *set, const int *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sigdelset(set, list[i]);
}

static void remove_rows(sigset_t *set, bool handled)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if ((rows[i].handler != SIG_IGN) == handled)
			sigdelset(set, rows[i].sig);
}

/* What we keep out: all but what ends no process, or is ignored. CONT continues us all the same,
 * and can be seen: is_continued(). */
static void blocked_signals(sigset_t *set)
{
	sigfillset(set);
	sigdelset(set, SIGKILL);
	remove_signals(set, harmless, ARRAY_LEN(harmless));
	remove_rows(set, false);
	if (!FAULTS_ARE_OURS)
		remove_signals(set, faults, ARRAY_LEN(faults));
}

/* … and of it what has no row of its own. */
static void other_signals(sigset_t *set)
{
	blocked_signals(set);
	remove_rows(set, true);
	sigdelset(set, SIGCONT);
}

static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) < 0 || now.sa_handler == SIG_IGN;
}

static bool is_fault(int sig)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		if (faults[i] == sig)
			return true;
	return false;
}

/* A fault that is real happens again behind the handler, and is fatal then. */
static void catch_signal(int sig, void (*handler)(int))
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	act.sa_flags = SA_RESTART | (is_fault(sig) ? (int)SA_RESETHAND : 0);
	sigfillset(&act.sa_mask);
	if (!is_ignored(sig))
		sigaction(sig, &act, NULL);
}

static void catch_all(const sigset_t *set, void (*handler)(int))
{
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (sigismember(set, sig) == 1)
			catch_signal(sig, handler);
}

void signals_catch_fatal(void (*handler)(int sig))
{
	sigset_t fatal;

	other_signals(&fatal);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].handler == on_cancel)
			sigaddset(&fatal, rows[i].sig);
	catch_all(&fatal, handler);
}

/* One descriptor for all of them: sixty handlers would be sixty system calls. */
static void watch_others(void)
{
	sigset_t set;

	other_signals(&set);
	others = os_watch_signals(&set);
	if (others >= 0)
		open_mask = set;
	else
		catch_all(&set, on_other);
}

/* Blocked ones come even if they are ignored. */
static void take_others(void)
{
	for (int sig; (sig = os_take_signal(others)) != 0;)
		if (!is_ignored(sig))
			on_other(sig);
}

/* A byte counts as one TERM. */
static void take_control(void)
{
	char bytes[64];

	if (xread(control, bytes, sizeof(bytes)) <= 0)
		return;
	requested = requested || !cancelled;
	on_cancel(SIGTERM);
}

void signals_obey(int fd)
{
	control = fd;
}

void signals_end_with(pid_t parent)
{
	keeper = parent;
}

/* --- the table ------------------------------------------------------------------------ */

void signals_init(void)
{
	sigset_t ours;

	child_remember_ignored();
	blocked_signals(&ours);
	sigprocmask(SIG_SETMASK, &ours, NULL);
	sigemptyset(&open_mask);
	watch_others();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		install(rows[i].sig, rows[i].handler, rows[i].may_be_ignored);
	if (keeper == 0)
		return;
	install(SIGCONT, on_continued, false);
	os_parent_death_signal(SIGCONT);
	on_continued(SIGCONT); /* it may have died before the request took effect */
}

void signals_expect_parent(pid_t parent)
{
	front = parent;
}

bool signals_orphaned(void)
{
	return orphaned;
}

/* The system can't wait for us: look at everything, a little later. Nothing of it
 * blocks; signals come in here as they do inside of ppoll(). */
static int wait_blindly(struct pollfd *fds, int n)
{
	const struct timespec a_while = { .tv_nsec = 1000000 };
	sigset_t before;

	sigprocmask(SIG_SETMASK, &open_mask, &before);
	nanosleep(&a_while, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	take_others();
	if (control >= 0)
		take_control();
	for (int i = 0; i < n; i++)
		fds[i].revents = fds[i].fd >= 0 ? fds[i].events : 0;
	return n;
}

int signals_poll(struct pollfd *fds, int n, mono_t deadline)
{
	struct pollfd all[SIGNALS_POLL_MAX + 2] = { { .fd = -1 } };
	int ready;

	memcpy(all, fds, (size_t)n * sizeof(*fds));
	all[n] = (struct pollfd){ .fd = others, .events = POLLIN };
	all[n + 1] = (struct pollfd){ .fd = control, .events = POLLIN };
	ready = rest_poll(all, n + 2, deadline, &open_mask);
	if (ready < 0 && errno != EINTR)
		return wait_blindly(fds, n);
	for (int i = 0; i < n; i++)
		fds[i].revents = ready > 0 ? all[i].revents : 0;
	if (ready <= 0)
		return 0;
	if (all[n].revents)
		take_others(), ready--;
	if (all[n + 1].revents)
		take_control(), ready--;
	return ready;
}

const sigset_t *signals_open_mask(void)
{
	return &open_mask;
}

bool signals_take(int sig)
{
	volatile sig_atomic_t *flag = sig == SIGCHLD ? &child_died : sig == SIGWINCH ? &resized : &stop_asked;
	bool was = *flag;

	*flag = 0;
	return was;
}

/* Is a CONT pending? A TSTP discards one, so it came after the TSTP that we obey. */
static bool is_continued(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

void signals_stop_self(void)
{
	struct sigaction act, before;
	sigset_t stop, mask;

	if (is_continued())
		return;
	memset(&act, 0, sizeof(act));
	act.sa_handler = SIG_DFL;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &act, &before);
	kill(getpid(), SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTSTP, &before, NULL);
}

int signals_cancelled(void)
{
	return cancelled;
}

int signals_cause(void)
{
	return requested ? 0 : cancelled | (from_terminal ? CHILD_FROM_TERMINAL : 0);
}

int signals_count(void)
{
	return count;
}

bool signals_insisted(void)
{
	return insisted;
}
