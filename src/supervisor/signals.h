/*
 * signals.h: the supervisor's signals, blocked except inside ppoll(), so that no
 * flag is set between checking it and going to sleep.
 */
#ifndef RUNNER_SIGNALS_H
#define RUNNER_SIGNALS_H

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#include "../common/mono.h"

/* Block what we handle and install handlers. INT, HUP, QUIT and TSTP that are
 * ignored at entry stay ignored. SIGPIPE and SIGXFSZ are ignored. Every other signal that
 * would end us cancels the run. */
void signals_init(void);
/* poll(2) until a descriptor is ready, a signal arrives, or `deadline`: the number of
 * ready ones, 0 otherwise. Where the system can't wait, a little later, as if all were
 * ready: nothing may block on them. n ≤ SIGNALS_POLL_MAX. */
#define SIGNALS_POLL_MAX 5
int signals_poll(struct pollfd *fds, int n, mono_t deadline);
/* The mask during ppoll(), when our handlers may run. */
const sigset_t *signals_open_mask(void);
/* Install this handler for every signal that would end the process, unless it is ignored. */
void signals_catch_fatal(void (*handler)(int sig));
/* From now on a byte that can be read from this descriptor, which doesn't block, counts as a TERM. */
void signals_obey(int fd);
/* We are a child of this process, which waits in front of us on behalf of our caller. */
void signals_expect_parent(pid_t front);
/* Is it dead, so that no process waits for an answer? Implies signals_insisted(). */
bool signals_orphaned(void);
/* Call before signals_init(): the death of this process, our parent, counts as a TERM. It is announced by
 * a CONT, which reaches us even if we are stopped. */
void signals_end_with(pid_t parent);

/* Did it arrive since the last call? For SIGCHLD, SIGTSTP and SIGWINCH. */
bool signals_take(int sig);
/* Stop as SIGTSTP does by default, but not where no process could continue us (an
 * orphaned process group). Returns once we are continued, immediately if that
 * happened before we got here. */
void signals_stop_self(void);
/* The first signal that cancels (INT, TERM, HUP, QUIT, ALRM …), 0 if none came. It stays. */
int signals_cancelled(void);
/* … and whether the terminal sent it: with CHILD_FROM_TERMINAL (engine/child.h). */
int signals_cause(void);
/* Changes with the first cancelling signal and every further INT, TERM, HUP and QUIT; those
 * within 300 ms of the first count as one with it. */
int signals_count(void);
/* Did an INT come ≥ 300 ms after the first cancelling signal: kill now? */
bool signals_insisted(void);

#endif
