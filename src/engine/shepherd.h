/*
 * shepherd.h: a program with a process of its own that answers for it. The
 * shepherd is the program's parent and the adoptive parent of all that the program
 * leaves behind (a subreaper), ends it whole, and then ends as the program did:
 * once it is dead, so is the tree. Started by the worker; knows no Lua.
 */
#ifndef RUNNER_SHEPHERD_H
#define RUNNER_SHEPHERD_H

#include "child.h"

/* What cannot be ended by KILL is given up after this long. */
#define SHEPHERD_GIVE_UP_MS 1000

/*
 * Start *spec under a shepherd, in a process group of its own. Returns the
 * shepherd's pid, or -1 with *error exactly as child_spawn() says it. The program
 * has the signals and descriptors that child_spawn() gives; the shepherd
 * holds none of ours but `held` (-1: none), and ends with us. A lock behind `held`
 * is not given back while anything of the tree lives, though we be killed. A shepherd
 * that is killed itself takes the program along, but not what that has started.
 *
 * When the program ends, or the shepherd is told to stop, what is left of the tree
 * gets one TERM each, and KILL grace_ms later (0: KILL alone). The shepherd dies when nobody is
 * left, or SHEPHERD_GIVE_UP_MS after KILL: with the program's exit status, or
 * of the signal that killed it (without a core).
 *
 * TERM tells it to stop, as shepherd_stop() does; signals that are not about
 * stopping go on to the program's group. Without a subreaper it answers for the
 * program's group only (docs/design.md#portability).
 *
 * *word: a descriptor for shepherd_let_end(); the caller's to close.
 */
pid_t shepherd_spawn(const struct child_spec *spec, int64_t grace_ms, int held, int *word,
                     struct child_error *error);

/* Tell a shepherd to stop now, with KILL grace_ms later; a shorter grace than one
 * told before holds. 0, or -1: it is gone. */
int shepherd_stop(pid_t shepherd, int64_t grace_ms);

/* With kill(2), from a handler too: end the tree at once. */
#define SHEPHERD_KILL SIGRTMIN

/* Did this process ever start one? Async-signal-safe. */
bool shepherd_was_started(void);

/* Of a shepherd that is dead: had its program ended by itself, before it was
 * told to stop? */
bool shepherd_let_end(int word);

#endif
