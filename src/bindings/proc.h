/*
 * proc.h: private to the process binding (proc*.c): one child with the pipes
 * that we hold, and the loop that serves a set of them.
 *
 *   proc_start()  plain C: pipes, fork, exec           (proc_start.c)
 *   proc_turn()   plain C: poll once, move bytes       (proc_io.c)
 *   proc_reap()   plain C: the end of one, of several   (proc_set.c)
 *   Lua half      specs, results, handles and events    (proc_spec.c, proc.c)
 *
 * Ownership: a struct proc owns its descriptors, buffers and the unreaped
 * child; proc_release() ends and frees all of it. A child is checked without
 * reaping it until it is done, so that no process can reuse its process group's number.
 */
#ifndef RUNNER_PROC_H
#define RUNNER_PROC_H

#include <lauxlib.h>
#include <poll.h>
#include <sys/resource.h>

#include "../common/buf.h"
#include "../common/mono.h"
#include "../engine/child.h"
#include "../engine/tap.h"

#define PROC_LINE_MAX 65536 /* a longer line is handed out in pieces of this size */

/* --- one child ------------------------------------------------------------------ */

struct proc_stream {
	int fd;          /* our end; -1: closed, lent or never opened */
	int64_t owed;    /* bytes that were in the pipe when the child ended */
	struct tap tap;
	struct buf queue; /* bytes not yet returned as lines */
	size_t queue_at;
};

struct proc {
	pid_t pid;       /* 0: never started */
	int pidfd;       /* -1: the system has none */
	bool group;      /* leads a process group of its own */
	bool foreground; /* in our group, and asked to end by INT on Ctrl+C */
	bool detached;   /* outlives us: never ended here */
	bool shepherd;   /* its pid is a shepherd's (shepherd.h) */
	bool warm;       /* it is a call that a zygote has started (fork_server.h) */
	int report_fd;   /* of either, for its account; -1: read, or none */
	bool ended_itself; /* … which reported that the program ended by itself */
	bool announced;  /* set:next() has reported "done" */
	bool lines;      /* output is queued for lines as well as tapped */
	bool stopping;   /* proc_stop() was called */
	bool exited;     /* dead, perhaps not reaped yet */
	bool reaped;
	bool lost;       /* how it ended is unknown: its wait status is lost, or its shepherd was killed */
	bool starved;    /* we failed to write all of its input */
	bool incomplete; /* another process still held its output when we stopped reading */
	int wait_status;
	struct rusage used;  /* by it and all that it has waited for, once it is reaped */
	mono_t started, ended;
	mono_t drain_until; /* how long to wait for EOF after its death */
	mono_t term_at;     /* to whom INT says nothing */
	mono_t kill_at, give_up_at;
	int64_t grace_ms; /* between TERM and KILL when its handle is closed */
	int in;
	bool keep_in_open; /* for later writes */
	const char *input; /* borrowed: anchored by the caller */
	size_t input_left;
	struct proc_stream out[2];
	struct buf scratch; /* for the Lua half: a longjmp can't leak it */
	const char *spill;  /* borrowed: where stdout goes once it exceeds the cap; NULL: nowhere */
	uint64_t spill_max; /* bytes */
	bool spilled;       /* the file has all that came so far */
	int spill_fd;       /* -1: not needed so far, or given up */
	int spill_error;    /* errno; EFBIG: more than spill_max */
};

struct proc_spec {
	const char *const *argv;
	const char *program;     /* the file to execute, where argv[0] is another name for it; NULL: that one */
	const char *const *envp;
	const char *cwd;
	const char *path[2];     /* files for stdout and stderr, NULL: none */
	const char *input;       /* stdin's bytes, NULL: none */
	size_t input_len;
	int input_fd;            /* borrowed; -1: none */
	struct proc *input_from; /* its stdout becomes our stdin */
	bool keep_in_open;
	bool reread_input;       /* input is a file in memory, where the system has them: no pipe */
	bool capture;            /* false: output goes to our stderr */
	bool own_stdout;         /* … and what it writes to stdout to ours */
	bool own_stderr;         /* what it writes to stderr goes to ours, whatever becomes of stdout */
	unsigned short columns;  /* its stderr is a terminal of this width, which we read; 0: a pipe */
	bool piped;              /* its stdout is a pipe all the same: the next stage reads it */
	bool merge;              /* stderr into stdout */
	bool roomy;              /* it may be unread for a while: large pipes */
	bool lines;
	bool detach;
	bool shepherd;           /* its whole tree ends with it (shepherd.h) */
	bool warm;               /* argv[0] is our own program: start it by a zygote, if one can do it */
	int held_fd;             /* … and it holds this until then; borrowed; -1: none */
	int terminal_fd;         /* its stdin, stderr and controlling terminal; borrowed; -1: none */
	int handed_fd;           /* what the program itself gets as 3; borrowed; -1: none */
	const struct bounds *bounds; /* it is confined to these; borrowed; NULL: no */
	bool foreground;         /* stay in our process group */
	int stop_signal;         /* asks it to end; 0: TERM, or INT on Ctrl+C in the foreground */
	size_t cap;              /* bytes kept of each stream */
	const char *spill;       /* a private file that takes all of stdout, should it exceed cap */
	uint64_t spill_max;      /* … and no more than this; what exceeds it leaves no file */
	int64_t grace_ms;
};

struct proc_failure {
	const char *step; /* "pipe" "open" "chdir" "exec" … */
	const char *what; /* a path or NULL; borrowed from the spec */
	int err;          /* errno */
};

void proc_init(struct proc *p);
/* Start a child. 0, or -1 with *failure and nothing left behind. */
int proc_start(struct proc *p, const struct proc_spec *spec, struct proc_failure *failure);
/* Start a warm call: its pid and report, or 0: child_spawn() is to do it. */
pid_t proc_start_warm(const struct proc_spec *spec, const struct child_spec *child, int *report);
/* Of a shepherd or a warm call that is dead: what it left ends now, before it is reported. */
void proc_take_account(struct proc *p);
/* Signal the group, or the process if it has no group. 0, or -1 (gone). */
int proc_signal(struct proc *p, int sig);
/* Bytes of stdout that its tap gets next. The file exists only for an output above the
 * cap; spill_error says why there is none although there should be. */
void proc_spill(struct proc *p, const char *bytes, size_t n);
/* Ask it to end now, unless it has been asked; KILL after grace_ms, which proc_turn() sends, or sooner at the end
 * of the attempt. A shepherd does both by itself, and is killed only if it has not ended by then. */
void proc_stop(struct proc *p, int64_t grace_ms);
/* Check, without reaping, whether the child has ended. */
void proc_notice_exit(struct proc *p);
/* Is it dead, and its output read to the end or given up? */
bool proc_done(const struct proc *p);
/* Reap a child that is done; after a stop, kills what is left of its group. */
void proc_reap(struct proc *p);
/* The next queued line of a stream, valid until the next turn. A last line
 * without newline comes once the stream has ended. */
bool proc_next_line(struct proc_stream *s, const char **text, size_t *n);
void proc_forget_lines(struct proc *p);
/* End it unless it is detached, and close our descriptors; what was captured
 * stays. Blocks ≤ grace + 1.1 s. */
void proc_end(struct proc *p, int64_t most_ms);
/* The same, and free everything. */
void proc_release(struct proc *p, int64_t most_ms);

/* --- several ---------------------------------------------------------------------- */

struct proc_watch {
	struct proc *proc;
	int kind;
};
#define PROC_WATCHES 4 /* stdin, stdout, stderr, death */

struct proc_set {
	size_t n;
	struct proc **procs;
	struct proc_watch *watches; /* PROC_WATCHES per proc, as are fds */
	struct pollfd *fds;
	mono_t until; /* the caller's limit, made when `paused` was the time stopped */
	mono_t paused;
	bool stopping;
	bool cancelled; /* … because the attempt is over */
	struct pollfd *others; /* descriptors of the caller's, for set:next(); room for them is in fds, too */
	size_t other_count;
};

enum proc_turn { PROC_TURNED, PROC_CANCELLED };

/* Wait until something happens or `until`, and handle it: feed, drain, notice
 * deaths, kill what exceeds its grace. `heed`: let a cancellation interrupt. */
enum proc_turn proc_turn(struct proc_set *set, mono_t until, bool heed);
bool proc_set_done(const struct proc_set *set);
void proc_set_stop(struct proc_set *set, int64_t grace_ms);
/* The attempt is over: stop all, and let Lua take their lines before that is raised. */
void proc_set_cancel(struct proc_set *set);
/* Stop all, each with its own grace and no more than most_ms, wait for their end, then reap them. A
 * cancellation may shorten the grace; the caller checks cancel_pending() afterwards. */
void proc_set_end(struct proc_set *set, int64_t most_ms);

/* --- Lua ---------------------------------------------------------------------------- */

#define PROC_TYPE "runner.process"
#define PROC_SET_TYPE "runner.process_set"

/* Read the table at `index` into *spec; raises for wrong types. Pushes values
 * that own what the spec points to: keep them until proc_start() is over. */
void proc_read_spec(lua_State *L, int index, struct proc_spec *spec);
/* process.set({handle…}, others): pushes a set; and the methods of sets, on top of the stack. */
int proc_make_set(lua_State *L);
extern const luaL_Reg proc_set_methods[];
/* The time when a wait for children ends even if they haven't. It is later than the
 * supervisor's TERM is due: its verdict must come before a script can continue
 * without its child. */
mono_t proc_attempt_end(void);
/* End the set, unless it is detached, and raise the cancellation. */
int proc_cancelled(lua_State *L, struct proc_set *set);

#endif
