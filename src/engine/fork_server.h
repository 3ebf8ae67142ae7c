/*
 * fork_server.h: processes that only fork, for another one. The forker does it for a worker that will start many
 * programs; a zygote is a warm start of our own program. Each is told what to start, with its descriptors, by a packet.
 */
#ifndef RUNNER_FORK_SERVER_H
#define RUNNER_FORK_SERVER_H

#include "child.h"

/*
 * The forker: a small process beside a worker that will start many programs. fork(2) copies
 * the page tables of its caller, and every page that either then writes, so the worker
 * forks this process while it is small and has it do all later forks. What it forks are
 * children of the worker itself. Knows no Lua and no shepherd.
 */

/* What a fork runs: never returns. All signals are blocked, and `parent` is the worker. */
typedef void forker_run_fn(const struct child_spec *spec, int64_t grace_ms, pid_t parent, int held,
                           int report);

/* Start it, once in a process. Its pid, which no other code waits for; -1 where the
 * system can't do it, or it runs already. It ends when we do. */
pid_t forker_start(forker_run_fn *run);

/*
 * Have it fork a process that calls run(spec, grace_ms, us, held, report): false when it is
 * not there or the request is too large for it (then nothing was done). The caller closes
 * its own `report`: the fork has one, and if that ends before the fork has written to it, no
 * process was forked, or it died at once. Without spec->cwd, that is where we were when it
 * started.
 */
bool forker_ask(const struct child_spec *spec, int64_t grace_ms, int held, int report);

/* End it, and wait for its end. Async-signal-safe. */
void forker_dismiss(void);

/*
 * A zygote: a warm start of our own program (docs/design.md#warm-start). A zygote is a new process
 * of this program that has prepared whatever does not depend on the call, and then only forks:
 * each fork is one call, as a child of the process that asked for it. Everything about a call is
 * as after fork and exec, and the caller can always do just that: a zygote is only quicker.
 * Knows no Lua.
 */

/* --- in the process that makes many calls ---------------------------------------------- */

/* Start it, where none runs. Its pid, which no other code waits for; 0 where there is none and
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
