/*
 * launch.h: what a worker knows from its fork. It is a fork without exec, so
 * this is plain memory; frames carry what flows the other way.
 */
#ifndef RUNNER_LAUNCH_H
#define RUNNER_LAUNCH_H

#include "../common/mono.h"
#include "../common/names.h"
#include "child.h"

/* Time of the run spent stopped by Ctrl+Z. Written by the supervisor, shared. */
struct pause_clock {
	mono_t total; /* ns, of the stops that have ended */
	mono_t since; /* when the current stop began; 0: none */
};

/* What the name of a run's directory begins with; the rest is the run's ULID. */
#define TEMPDIR_PREFIX "runner-tmp-"

struct launch {
	int argc;
	char **argv;
	int frame_fd;           /* the worker's end of the socket pair */
	int stdin_fd;           /* the caller's stdin, private; 0 is /dev/null until declared */
	int stdout_fd;          /* the same of stdout, which no child inherits; -1: it was closed */
	int above_fd;           /* what is written here goes above the lines on a terminal; -1: stderr is none */
	off_t stdin_offset;     /* where a regular file on it stood at our entry */
	bool stdout_is_tty;
	bool stderr_is_tty;
	bool stdin_is_tty;
	bool ci;                /* a CI system calls: no prompts, and the result is JSON */
	bool log_kept;          /* stderr is kept to be read later: a job, a step of a workflow */
	bool no_color;          /* the caller wants no colours */
	bool seen;              /* stdout is a terminal, or that of what needs this call */
	bool in_lines;          /* stderr is a terminal that another call reads in lines: nothing is drawn there */
	bool person;            /* a person is there to type and to read */
	bool headless;          /* nothing can open a window */
	const char *trace_id;   /* of the caller's trace, NULL: none */
	enum format format;     /* of the result, where no flag and no variable names one */
	int exit_table;         /* enum exit_table that RUNNER_EXIT_TABLE names; -1: none */
	int attempt;            /* 1-based */
	int64_t repeats_made;   /* by attempts and inner loops (docs/design.md#one-budget) */
	int64_t called_made;    /* … of these by commands that ours has called */
	mono_t started;         /* main's first line; also the mark of what outlives the run */
	mono_t attempt_started;
	const volatile struct pause_clock *pauses; /* may be NULL */
	pid_t supervisor;       /* getppid() must still say this */
	const char *request_id;
	const char *session_dir; /* path reserved for ctx.tempdir; not made yet */
	const char *seed_text;  /* first attempt's retry seed, NULL before there is one */
	const char *digest;     /* of the first attempt's command file, NULL before that */
	/* the attempt before; NULL code when this is the first */
	const char *previous_code;
	const char *previous_message;
	const char *previous_steps; /* JSON array */
	const char *previous_progress; /* JSON or NULL */
	const char *job;        /* id of the job that this run is, NULL: none */
	uint64_t mark;          /* of a worker's children, and all that descends from them: child_run_mark() */
	bool guarded;           /* the supervisor has a guard (supervisor/guard.h) */
	int job_lock;           /* of a job: its lock, which the worker holds too; else 0 */
	bool confirmed;         /* an attempt before has meta.confirmed: no person is asked again */
};

/* Runs one attempt in the freshly forked process; the return value is its exit
 * status. Given to the supervisor by main.c, so that no supervisor object
 * knows Lua. */
typedef int worker_fn(const struct launch *launch);

/* Prepares what all workers forked from here on share (worker/worker.h); 0 or -1. */
typedef int prepare_fn(void);

#endif
