/*
 * adopted.h: the worker is a subreaper, so what its children leave behind becomes its
 * own child. When such a process dies, the worker reaps it, or zombies pile up and use
 * up the process limit. It never reaps a child that a caller waits for.
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
/* A caller will wait for this child of ours … until that has happened, or will not
 * happen. */
void adopted_expect(pid_t pid);
void adopted_forget(pid_t pid);
/* How such a child is asked to end, once: by a signal, TERM if nothing is said. */
#define ADOPTED_LEFT_ALONE 0    /* or it has been asked */
#define ADOPTED_FOREGROUND (-1) /* by TERM; by INT on Ctrl+C, which comes from the terminal itself if it can */
void adopted_ends_by(pid_t pid, int how);
/* Ask it now, unless it has been asked. `cause`: of cancel_cause(). */
void adopted_ask(pid_t pid, int cause);
/* Ask all our children, expected or not. For a handler; during adopted_hold() it is done at the release. */
void adopted_ask_all(int cause);
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
