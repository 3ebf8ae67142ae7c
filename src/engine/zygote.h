/*
 * zygote.h: a warm start of our own program (docs/design.md#warm-start). A zygote is a new process
 * of this program that has prepared whatever does not depend on the call, and then only forks:
 * each fork is one call, as a child of the process that asked for it. Everything about a call is
 * as after fork and exec, and whoever asks can always do just that: a zygote is only quicker.
 * Knows no Lua.
 */
#ifndef RUNNER_ZYGOTE_H
#define RUNNER_ZYGOTE_H

#include "child.h"

/* --- in the process that makes many calls ---------------------------------------------- */

/* Start it, where none runs. Its pid, which is for nobody else to wait for; 0 where there is none and
 * none can be had. It ends when we do. */
pid_t zygote_start(void);

/* Of the zygote that runs; 0: none. */
pid_t zygote_pid(void);

/*
 * Have *spec started by the zygote as a process group of its own: our own program, with the
 * arguments behind argv[0], as a child of ours. Its pid; 0: it was not started, and child_spawn() is to
 * do it (there is no zygote, the request is too large for it, it can't fork …). Not for a
 * spec with new_session, held_fd or mark. Nothing that we have changed of this process since the
 * zygote's start reaches the call but environment, directory and descriptors.
 *
 * The call ends in order when we die. When it is over, what is left of its tree ends, as under
 * a shepherd. *report: for shepherd_account(), whose `complete` says that this is so; if it is not, the
 * call was killed, and what it left is ours. The caller closes it.
 */
pid_t zygote_spawn(const struct child_spec *spec, int64_t grace_ms, int *report);

/* End the zygote, and wait for its end: calls that it has started go on. Async-signal-safe. */
void zygote_dismiss(void);

/* --- in the zygote --------------------------------------------------------------------- */

/* Has our parent started this process as a zygote? No argument and no variable can say so by
 * themselves: the proof is a socket that only zygote_start() hands over. */
bool zygote_is_called(int argc, char **argv);

/* One call, in a fork with its own arguments, environment, directory and descriptors, and all
 * signals blocked: its exit status. `parent` asked for it. */
typedef int zygote_run_fn(int argc, char **argv, pid_t parent);

/* Prepare, and serve until the parent is gone. `prepare` starts no process and opens nothing. */
NO_RETURN void zygote_serve(int (*prepare)(void), zygote_run_fn *run);

#endif
