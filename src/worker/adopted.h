/*
 * adopted.h: the worker is a subreaper, so what its children leave behind becomes its
 * own child. When such a process dies, the worker reaps it, or zombies pile up and use
 * up the process limit. It never reaps a child that somebody waits for.
 *
 * Code in the worker that starts a child registers it:
 *
 *   adopted_hold();  pid = fork …;  if (pid > 0) adopted_expect(pid);  adopted_release();
 *   …  waitpid(pid, …);  adopted_forget(pid);
 *
 * A C module that starts processes registers nothing. Once one is loaded, only
 * processes whose session or process group proves that the worker did not fork them
 * are reaped.
 */
#ifndef RUNNER_ADOPTED_H
#define RUNNER_ADOPTED_H

#include <sys/types.h>

#include "../common/base.h"

/* Between these calls nothing is reaped; the first installs the handler of SIGCHLD. */
void adopted_hold(void);
void adopted_release(void);
/* Somebody will wait for this child of ours … until that has happened, or will not
 * happen. */
void adopted_expect(pid_t pid);
void adopted_forget(pid_t pid);
/* So many more of those expected are helpers of ours, which do nothing by themselves. */
void adopted_count_helpers(int more);
/* Does a program run that we have started? */
bool adopted_programs_run(void);
/* Kill what we have adopted, and what that leaves to us. Blocks until it is gone, ≤ 1 s. */
void adopted_kill(void);
/* Has one been loaded, which may have changed anything of this process? */
bool adopted_with_module(void);
/* A C module is about to be loaded. From now on SIGCHLD belongs to the modules. */
void adopted_before_module(void);
/* Around our own waits: processes that die meanwhile are reaped, even with C modules. */
void adopted_begin_wait(void);
void adopted_end_wait(void);

#endif
