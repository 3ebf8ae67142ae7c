/*
 * run.h: the state of one run, from main's first line to the exit: what the
 * rooms of the supervisor share. Owned by supervisor.c.
 */
#ifndef RUNNER_RUN_H
#define RUNNER_RUN_H

#include <time.h>

#include "../engine/child.h"
#include "../engine/launch.h"
#include "../engine/tap.h"
#include "outlet.h"
#include "plan.h"
#include "report.h"

#define WARNINGS_MAX 100        /* in an envelope; the last place is run_warn_dropped()'s */
#define WARNINGS_OF_COMMAND 90  /* a flood of its own must not shut out ours */
#define HISTORY_MAX 20
#define METAS_MAX 32

struct run {
	/* facts of the entry */
	struct launch launch;
	worker_fn *worker;
	pid_t worker_pid; /* of the newest attempt */
	struct timespec wall_started;
	char request_id[40];
	char session_dir[256];
	int stdout_fd; /* private; -1: it was closed */
	bool stdout_was_open;
	bool color;
	bool progress_shown; /* the terminal's last line is ctx:progress */

	/* what accumulates */
	struct plan plan;
	struct outlet err;        /* the caller's stderr */
	struct tap stdout_tap;    /* stray text on fd 1 */
	struct spared spared;
	struct buf warnings;      /* JSON objects, comma separated */
	int warning_count;
	int warnings_dropped;
	struct buf metas;         /* META frames: ,"name":value … */
	char meta_names[METAS_MAX][32];
	int meta_count;
	struct buf history[HISTORY_MAX]; /* ring of JSON rows */
	int history_count;
	int64_t attempts;         /* begun */
	int64_t inner_repeats;    /* RETRY frames: ctx:retry, ctx:http, ctx:lock */
	enum side_effects worst_effects;
	bool session_dir_made;
	mono_t paused;            /* ns spent stopped by Ctrl+Z: not counted by limits */
	volatile struct pause_clock *pauses; /* the same, where the worker sees it; may be NULL */

	/* the verdict */
	struct report final;
	struct hints hints;
	bool exhausted;           /* no retries left: final (docs/design.md#exhausted-retries) */
};

/* Repetitions made so far, of every kind (meta.retries). */
int64_t run_repeats(const struct run *run);
/* Add a warning; context: checked JSON object or NULL. */
void run_warn(struct run *run, const char *code, const char *message, const char *context);
/* … with context {key: count, "text": text}; text may be NULL. */
void run_warn_counted(struct run *run, const char *code, const char *message, const char *key,
                      int64_t count, const struct buf *text);
/* The same for what a command says itself, in any bytes. */
void run_warn_bytes(struct run *run, struct field code, struct field message, struct field context);
/* WARNINGS_DROPPED, if any were; nothing more may be added after it. */
void run_warn_dropped(struct run *run);

#endif
