/*
 * signals.c: flags that handlers set. Runs in the supervisor; a worker resets
 * everything after its fork.
 */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../engine/child.h"

#define INSIST_AFTER_NS 300000000

static volatile sig_atomic_t child_died;
static volatile sig_atomic_t stop_asked;
static volatile sig_atomic_t cancelled;
static volatile sig_atomic_t insisted;
static volatile sig_atomic_t count;
static volatile mono_t cancelled_at;
static sigset_t open_mask;

static void on_cancel(int sig)
{
	int saved = errno;
	mono_t now = mono_now();

	if (!cancelled) {
		cancelled = sig;
		cancelled_at = now;
		count = 1;
	} else if (now - cancelled_at >= INSIST_AFTER_NS) {
		insisted |= sig == SIGINT;
		count = count == SIG_ATOMIC_MAX ? 2 : count + 1;
	}
	errno = saved;
}

static void on_child(int sig)
{
	(void)sig;
	child_died = 1;
}

static void on_stop(int sig)
{
	(void)sig;
	stop_asked = 1;
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
	sigfillset(&act.sa_mask);
	sigaction(sig, &act, NULL);
}

void signals_init(void)
{
	sigset_t ours;

	child_remember_ignored();
	sigemptyset(&ours);
	sigaddset(&ours, SIGCONT); /* it continues us all the same, and can be seen: is_continued() */
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].handler != SIG_IGN)
			sigaddset(&ours, rows[i].sig);
	sigprocmask(SIG_SETMASK, &ours, NULL);
	sigemptyset(&open_mask);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		install(rows[i].sig, rows[i].handler, rows[i].may_be_ignored);
}

const sigset_t *signals_open_mask(void)
{
	return &open_mask;
}

bool signals_take(int sig)
{
	volatile sig_atomic_t *flag = sig == SIGCHLD ? &child_died : &stop_asked;
	bool was = *flag;

	*flag = 0;
	return was;
}

/* Behind the TSTP that we are about to obey, which would have discarded it. */
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

int signals_count(void)
{
	return count;
}

bool signals_insisted(void)
{
	return insisted;
}
