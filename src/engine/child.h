/*
 * child.h: how a child starts, how a tree of processes ends, and the proof that
 * it is gone. Used by the supervisor for workers and by the worker for ctx:run.
 * It formats no errors: it returns {step, errno} and the caller reports them, as
 * git does.
 */
#ifndef RUNNER_CHILD_H
#define RUNNER_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "../common/mono.h"

/* --- starting ------------------------------------------------------------------ */

enum child_step {
	CHILD_OK,
	CHILD_PIPE,
	CHILD_FORK,
	CHILD_CHDIR,
	CHILD_SESSION,
	CHILD_DUP,
	CHILD_CONFINE,
	CHILD_EXEC,
};

struct child_error {
	enum child_step step;
	int err; /* errno */
};

struct bounds;

struct child_spec {
	const char *const *argv; /* NULL-ended; argv[0] is looked up in PATH of envp unless it has a slash */
	const char *program;     /* the file to execute, in argv[0]'s place; NULL: that one */
	const char *const *envp; /* NULL: ours */
	const char *cwd;         /* NULL: ours */
	int fd[3];               /* become 0, 1, 2; -1: /dev/null */
	bool new_session;        /* setsid */
	bool new_group;          /* setpgid(0, 0) */
	bool takes_terminal;     /* setsid, and fd[0] becomes the terminal of that session */
	bool dies_with_parent;   /* KILL when the process that starts it has died */
	uint64_t mark;           /* os_mark(), for it and its descendants; 0: none */
	int held_fd;             /* becomes 3; 0: none */
	const struct bounds *bounds; /* it is confined to these; NULL: no */
	bool borrow_memory;      /* os_fork_borrowing(): cheaper; for a process without handlers */
};

/* Fork and exec. Returns the pid, or -1 with *error (the child has been
 * reaped). The caller flushes stdio first. In the child all signals have their
 * default disposition (those that child_remember_ignored() found ignored stay
 * ignored) and the mask is empty. */
pid_t child_spawn(const struct child_spec *spec, struct child_error *error);
const char *child_step_name(enum child_step step); /* "fork", "exec" … */
/* In a fresh fork: all that is done for *spec before its program is executed, but the signals.
 * Where report_fd is now, above the descriptors of *spec; no other is open. On failure it
 * writes a struct child_error there and ends. */
int child_become(const struct child_spec *spec, int report_fd, pid_t parent);

/* Note which of INT, HUP, QUIT are ignored now (nohup), before handlers are set. */
void child_remember_ignored(void);
bool child_was_ignored(int sig);
/* In a fresh fork: default dispositions, empty mask. */
void child_reset_signals(void);

/* --- ending ---------------------------------------------------------------------- */

/* Processes that are not to be ended (ctx:spawn{detach}): whole sessions, and what
 * descends from them, in whatever session it is now. */
#define CHILD_MAX_SPARED 64
struct spared {
	pid_t session[CHILD_MAX_SPARED];
	int count;
	uint64_t mark; /* child_spec.mark of them all; 0: only sessions count */
	pid_t guard;   /* to be ended by its maker alone (supervisor/guard.h); 0: none */
};

/* The mark of a job's supervisor, which leads a session: no run ends it, whatever process started it
 * (docs/design.md#jobs). The worker below it has no mark. It is none that a run has, either (child_run_mark). */
#define CHILD_JOB_MARK UINT64_C(0x2a6f622e72756e72)

/* The mark of all that descends from the workers of a run, which began then in this process.
 * No other run has it, and what is detached has another. */
uint64_t child_run_mark(mono_t started);

/* Add a session. 0, or -1 when the list is full. */
int spared_add(struct spared *s, pid_t session);
bool spared_has(const struct spared *s, pid_t pid);

/*
 * What follows lists, signals and reaps what descends from a process, in memory that
 * all of it shares: async-signal-safe, but one use at a time, so a handler of ours
 * that may come in between blocks every signal. "Ours" is what descends from us by the
 * /proc of our own PID namespace and is not spared; where /proc is missing or another
 * namespace's, no process can be listed, and none is signalled by number.
 */

/* Between TERM and KILL, the time that children leave to their parent, which has to clean up after them. */
#define CHILD_RESERVE_MS 5000
static inline int64_t child_reserve_ms(int64_t grace_ms)
{
	return MIN_OF(grace_ms / 4, CHILD_RESERVE_MS);
}

/* Beside the number of a signal: the terminal has sent it to all of its foreground group. */
#define CHILD_FROM_TERMINAL 0x100

/* TERM, with the number of the signal that is its cause; and CONT, or a stopped one would never see it. */
void child_term(pid_t pid, int cause);
/* Ask a child of ours to end, with the other processes of its group: all of it where the child leads one, else
 * those who descend from the child. CONT comes along, or a stopped one would not see it. */
void child_ask_to_end(pid_t pid, int sig, const struct spared *spare);
/* Signal our direct children except the spared. Returns how many were signalled,
 * -1 when the system can't list them. */
int child_signal_direct(int sig, const struct spared *spare);
/* `root` and all that descends from it, parents before their children, but the
 * spared and what descends from them: all are found before the first is signalled,
 * since once a parent is dead its children are another process's. How many;
 * `out` holds CHILD_MAX_FOUND. */
#define CHILD_MAX_FOUND 4096
int child_find_tree(pid_t root, pid_t *out, const struct spared *spare);
/* Signal every descendant of `root` (itself included, the calling process
 * never), depth first found, up to CHILD_MAX_FOUND of them. How many, or -1 where the system
 * can't list them: then it was the root alone. TERM comes with CONT, or a stopped one
 * would not see it. Not for a clean run: it walks /proc. In a crowd that takes longer than
 * 50 ms it leaves out the rest. */
int child_signal_tree(pid_t root, int sig, const struct spared *spare);
/* KILL to all that descends from us, whole process groups first: a process that forks all the
 * time does not escape that. To be repeated until child_reap() has the proof. How many,
 * or -1 as above. Where that is allowed, it runs with realtime priority from here to the
 * proof. */
int child_kill_all(const struct spared *spare);
/* When to do so again, where that began then and found so many: until then, they are to be reaped. */
mono_t child_kill_again(mono_t began, int alive);

/* Signal every process that has that mark of a run, wherever it is now: KILL goes to whole groups
 * as well, but in `session`, which isn't theirs. Without /proc it asks for every number since the run's.
 * Did one of them live? */
bool child_signal_marked(uint64_t mark, int sig, pid_t session);

/* Reap what is dead, for 10 ms at most; never blocks. For each: on_exit(pid, status).
 * Returns true when no child is left other than spared ones: the proof. When more
 * may be dead already, SIGCHLD says so once more. */
typedef void child_exit_fn(pid_t pid, int wait_status, void *data);
bool child_reap(const struct spared *spare, child_exit_fn *on_exit, void *data);

#endif
