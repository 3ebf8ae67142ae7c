/*
 * run.h: the state of one run, from main's first line to the exit, which the
 * supervisor's files share. Owned by supervisor.c.
 */
#ifndef RUNNER_RUN_H
#define RUNNER_RUN_H

#include <time.h>

#include "../engine/child.h"
#include "../engine/launch.h"
#include "../engine/tap.h"
#include "beat.h"
#include "block.h"
#include "history.h"
#include "job.h"
#include "metas.h"
#include "outlet.h"
#include "plan.h"
#include "rows.h"
#include "secrets.h"
#include "verdict.h"
#include "warnings.h"

/* The audit ledger of the project, as the worker named it; "": there is none. */
struct audit {
	bool sync;
	int64_t from; /* no row of this call is before that byte */
	char path[4096];
	char project[4096]; /* of the call; "": it has none */
	char subject[256];  /* of its caller's policy; "": none */
	char client[3072];  /* what it came through, as JSON; "": it was typed */
};

/* What every run writes to comes first, and together: each page of it is copied once more for every worker. */
struct run {
	/* facts of the entry */
	struct launch launch;
	worker_fn *worker;
	prepare_fn *prepare; /* to be called before another attempt; NULL: no more */
	pid_t guard;      /* ends the tree if we are killed (guard.h); 0: none */
	pid_t caller;     /* our parent at the entry */
	pid_t worker_pid; /* of the attempt that runs; 0: none */
	int worker_fd;    /* the socket to it; only while worker_pid is one */
	struct timespec wall_started;
	char request_id[40];
	char session_dir[256];
	int stdout_fd; /* private; -1: it was closed */
	bool stdout_was_open;
	bool color;

	/* what accumulates during the run */
	bool err_mid_line;        /* what was passed on to stderr ends within a line */
	bool session_dir_made;
	int session_dir_lock;     /* proof that the run is alive (worker/tempdir.c); 0: none yet */
	int64_t attempts;         /* begun */
	int64_t inner_repeats;    /* RETRY frames: ctx:retry, ctx:http, ctx:lock */
	int64_t called_repeats;   /* … of these by commands that this one has called */
	mono_t paused;            /* ns spent stopped by Ctrl+Z: not counted by limits */
	volatile struct pause_clock *pauses; /* the same, where the worker sees it; may be NULL */
	struct outlet err;        /* the caller's stderr */
	struct rows rows;         /* on stdout while the command runs */
	struct beat beat;         /* lines on stderr that say that it does */
	struct tap stdout_tap;    /* stray text on fd 1 */
	struct secrets *secrets;  /* NULL: there are none */
	struct spared spared;
	struct block block;       /* the last lines of the terminal: what goes on */
	struct verdict verdict;   /* so far */
	struct warnings warnings;
	struct history history;
	struct buf rest;          /* members of meta: where what had no room in the answer is kept; empty: it had */
	int64_t warned;           /* bytes of warnings on stderr, where the answer has a budget */
	int unwarned;             /* warnings that had no room there */
	bool rest_stays;          /* the answer says so however short it is by now */
	struct plan plan;         /* of which most runs fill no more than the beginning */

	/* … and little of what follows: what lies above fits in two pages */
	char printed[512];        /* FILE:LINE of a script that has called print; "": none is known */
	struct metas metas;
	struct audit audit;
	struct job job; /* a run that its caller has detached */
	char whose[34]; /* in the names of what is kept: "-" and digests of project and subject (lua/core/own_state.lua); "": nobody's */
	char cwd[4096]; /* the caller's working directory; "": unknown */
};

/* Retries made so far, of every kind (meta.retries). */
int64_t run_repeats(const struct run *run);
/* So far, as answers have it; 0 where that is not wanted. */
int64_t run_duration_ms(const struct run *run);

#endif
