/*
 * adopted.h: the worker is a subreaper, so what its children leave behind becomes its
 * own child. When such a process dies, the worker reaps it, or zombies pile up and use
 * up the process limit. It never reaps a child that somebody waits for.
 *
 * Whoever in the worker starts a child says so:
 *
 *   adopted_hold();  pid = fork …;  if (pid > 0) adopted_expect(pid);  adopted_release();
 *   …  waitpid(pid, …);  adopted_forget(pid);
 *
 * A C module that starts processes says nothing. Once one is loaded, only those
 * are reaped whose session or process group proves that the worker did not fork them.
 */
#ifndef RUNNER_ADOPTED_H
#define RUNNER_ADOPTED_H

#include <sys/types.h>

#include "../common/base.h"

/* Between these nothing is reaped; the first installs the handler of SIGCHLD. */
void adopted_hold(void);
void adopted_release(void);
/* This child of ours has somebody who waits for it … until it was waited for, or
 * nobody will. */
void adopted_expect(pid_t pid);
void adopted_forget(pid_t pid);
/* A C module is about to be loaded. From now on SIGCHLD is the modules' own. */
void adopted_doubt(void);
/* Around a wait of ours: what dies meanwhile is reaped then also in doubt. */
void adopted_begin_wait(void);
void adopted_end_wait(void);

#endif
