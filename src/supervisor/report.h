/*
 * report.h: the outcome of one attempt: the latched verdict and everything that
 * the worker reported until then.
 */
#ifndef RUNNER_REPORT_H
#define RUNNER_REPORT_H

#include "../common/frame.h"
#include "../common/mono.h"
#include "../engine/hint.h"
#include "../engine/outcome.h"
#include "attached.h"
#include "metas.h"
#include "steps.h"

enum verdict_kind {
	VERDICT_NONE,
	VERDICT_RESULT,    /* a RESULT frame */
	VERDICT_GONE,      /* the worker ended without one */
	VERDICT_LIMIT,     /* a time limit */
	VERDICT_SIGNAL,    /* the caller's signal */
	VERDICT_BROKEN,    /* it broke the frame format */
	VERDICT_RESOURCES, /* no worker could be started */
};

enum limit { LIMIT_LOAD, LIMIT_TIMEOUT, LIMIT_ATTEMPT, LIMIT_IDLE, LIMIT_CPU, LIMIT_STALL };

#define REPORT_CODE 65
#define MESSAGE_MAX (8 << 10)
#define DETAIL_MAX (32 << 10)
#define RESULT_MAX (16 << 20)

struct report {
	enum verdict_kind verdict;
	mono_t started, ended;
	mono_t paused_before; /* run.paused when it started */
	bool entered_run;   /* RUN arrived: there may be side effects */
	bool handed_over;   /* it only waits for work that goes on without it */
	bool survivors;     /* some processes could not be killed */
	enum limit limit;   /* for VERDICT_LIMIT */
	int64_t limit_ms;
	int signal;         /* for VERDICT_SIGNAL */
	struct outcome worker; /* for VERDICT_GONE */

	bool ok;
	char code[REPORT_CODE];
	int exit_code;      /* of the answer that this one repeats, whatever its code; 0: none */
	char phase[16];
	struct own_hints own;
	int64_t exhausted;  /* retries that an inner loop used up; 0: none */
	int64_t rows;       /* rows rendered; after one, EPIPE is fine (docs/design.md#failed-writes) */
	struct buf message, detail, fix_required, fix_command, suggestion;
	struct buf data, errors, context, redirect; /* checked JSON; empty: absent */
	struct buf text;    /* the rendered result, or the data of a failure */
	struct attached *attached; /* files for the answer (attached.h); NULL: none */
	struct buf attachments;    /* what became of them, JSON */
	struct buf place;   /* in the user's script, where it failed, for a terminal */
	struct buf output;  /* the last lines of the failed program, for a terminal */
	struct buf progress; /* the newest ctx:progress, JSON */
	bool progress_is_data; /* it has the members of data, as far as they are known */
	struct buf resume_hint;   /* what to do if the run is cut off here */
	struct metas extra; /* more members of the error */
	struct steps steps;
};

void report_init(struct report *r);
void report_release(struct report *r);
/* Move *from to *to: *to is released first, *from is empty afterwards. */
void report_move(struct report *to, struct report *from);
/* Take what a PROGRESS frame says of a run that is cut off: its suggestion, and that the work
 * goes on elsewhere. */
void report_take_resume_hint(struct report *r, const struct frame *f);
/* Take a RESULT frame, the content of the verdict. Bad JSON becomes INVALID_RESULT. */
void report_take_result(struct report *r, const struct frame *f);
/* Make it a failure with this code and message; the rest stays. */
void report_fail(struct report *r, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same for a result that doesn't count: neither its data nor its hints do. */
void report_refuse(struct report *r, const char *code, const char *message);
/* We ran out of memory: the command's effects remain, but its result is lost. */
void report_no_memory(struct report *r);
/* Set the suggestion of a run that was cut off: that of its newest PROGRESS. */
void report_suggest_resume_hint(struct report *r);
/* Give every verdict other than RESULT its code, message, phase and data. */
void report_describe(struct report *r);

#endif
