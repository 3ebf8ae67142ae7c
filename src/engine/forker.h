/*
 * forker.h: a small process beside a worker that will start many programs. fork(2) copies
 * the page tables of its caller, and every page that either then writes, so the worker
 * forks this process while it is small and has it do all later forks. What it forks are
 * children of the worker itself. Knows no Lua and no shepherd.
 */
#ifndef RUNNER_FORKER_H
#define RUNNER_FORKER_H

#include "child.h"

/* What a fork runs: never returns. All signals are blocked, and `parent` is the worker. */
typedef void forker_run_fn(const struct child_spec *spec, int64_t grace_ms, pid_t parent, int held,
                           int report);

/* Start it, once in a process. Its pid, which is for nobody else to wait for; -1 where the
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

#endif
