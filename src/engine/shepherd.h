/*
 * shepherd.h: a process between the worker and one program, responsible for the
 * program's whole tree. The shepherd is the program's parent and, as a subreaper,
 * adopts whatever the program leaves behind. It ends all of it, then ends as the
 * program did: once the shepherd is dead, so is the tree. Knows no Lua.
 */
#ifndef RUNNER_SHEPHERD_H
#define RUNNER_SHEPHERD_H

#include "child.h"

/* How long after KILL the shepherd gives up on a process that won't die. */
#define SHEPHERD_GIVE_UP_MS 1000

/*
 * Start *spec under a shepherd, in a process group of its own. Returns the
 * shepherd's pid, or -1 with *error exactly as child_spawn() sets it. The program
 * gets the same signals and descriptors as from child_spawn(). The shepherd keeps
 * no descriptor of ours but `held` (-1: none), and ends with us: a lock on `held`
 * stays held while any process of the tree lives, even if we are killed. If the
 * shepherd itself is killed, the program dies with it, but not what that started.
 *
 * When the program ends, or the shepherd is asked to stop, every process left in
 * the tree gets one TERM, and KILL grace_ms later (0: KILL alone). The shepherd ends
 * when no process is left, or SHEPHERD_GIVE_UP_MS after KILL: with the program's
 * exit status, or by the signal that killed it (without a core).
 *
 * TERM asks it to stop, as shepherd_stop() does; it forwards signals with other
 * meanings to the program's group. Without a subreaper it is responsible for the
 * program's group only (docs/design.md#portability).
 *
 * *report: a descriptor for shepherd_account(); the caller closes it.
 */
pid_t shepherd_spawn(const struct child_spec *spec, int64_t grace_ms, int held, int *report,
                     struct child_error *error);

/* From now on a small process forks the shepherds (fork_server.h), which are our children all the
 * same; when that is gone, we fork them. Its pid, which no other code waits for, or -1. */
pid_t shepherd_prepare(void);
/* End that process. Async-signal-safe. */
void shepherd_dismiss(void);

/* Ask a shepherd to stop now, with KILL grace_ms later; of several graces, the
 * shortest applies. 0, or -1 when it is gone. */
int shepherd_stop(pid_t shepherd, int64_t grace_ms);

/* Sent with kill(2), also from a handler: end the tree immediately. */
#define SHEPHERD_KILL SIGRTMIN

/* Has this process ever started a shepherd? Async-signal-safe. */
bool shepherd_was_started(void);

/* For a subreaper that has been a program itself, and is over with `status`: what is left of
 * its tree ends as under a shepherd; then it reports that to `report` and exits with status. */
NO_RETURN void shepherd_conclude(int status, int64_t grace_ms, pid_t worker, int report);

/* What a shepherd that is dead has reported. */
struct shepherd_account {
	bool ended_itself; /* its program ended before the shepherd was asked to stop */
	bool complete;     /* the shepherd's wait status is the program's, and it gave up on nothing;
	                      false: it was killed, and may have left processes behind */
};

/* Read it; call once. */
struct shepherd_account shepherd_account(int report);

#endif
