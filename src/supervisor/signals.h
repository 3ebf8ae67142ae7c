/*
 * signals.h: the supervisor's signals, blocked except inside ppoll(), so that
 * a flag is never set between looking at it and going to sleep.
 */
#ifndef RUNNER_SIGNALS_H
#define RUNNER_SIGNALS_H

#include <signal.h>

#include "../common/mono.h"

/* Block what we handle and install handlers. INT, HUP, QUIT and TSTP that are
 * ignored at entry stay ignored. SIGPIPE and SIGXFSZ are ignored. */
void signals_init(void);
/* The mask for ppoll(): everything of ours can arrive. */
const sigset_t *signals_open_mask(void);

/* Did it arrive since the last call? For SIGCHLD and SIGTSTP. */
bool signals_take(int sig);
/* Stop as SIGTSTP does by default: not at all where nobody could continue us
 * (an orphaned process group). Returns when we were continued, at once where
 * that was before we got here. */
void signals_stop_self(void);
/* The first of INT, TERM, HUP, QUIT that arrived, 0 if none. It stays. */
int signals_cancelled(void);
/* Changes with every cancelling signal; those within 300 ms of the first are
 * one with it. */
int signals_count(void);
/* Did an INT come ≥ 300 ms after the first cancelling signal: kill now? */
bool signals_insisted(void);

#endif
