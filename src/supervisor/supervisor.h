/*
 * supervisor.h: the process that the caller sees. Owns time, processes,
 * retries, signals and stdout; parses no arguments and runs no Lua.
 */
#ifndef RUNNER_SUPERVISOR_H
#define RUNNER_SUPERVISOR_H

#include "../engine/launch.h"

/* The whole of a run: attempts until there is a verdict, then one envelope.
 * Returns the exit status (docs/design.md#registry). `prepare`, called once before a second
 * attempt, does what every worker would do anew (docs/design.md#warm-start); it starts no process
 * and opens nothing. If it fails (-1), each worker does that itself. NULL: it has been called. */
int supervisor_main(int argc, char **argv, worker_fn *worker, prepare_fn *prepare);

/* The same in a process that has been forked for this, as a child of `parent` (engine/fork_server.h):
 * where that dies, the run is cancelled. */
int supervisor_main_below(pid_t parent, int argc, char **argv, worker_fn *worker);

#endif
