/*
 * attempt.c: the life of one attempt. In the supervisor: one ppoll() over all that may happen.
 */
#include "attempt.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/xio.h"
#include "../engine/os.h"
#include "channels.h"
#include "deadline.h"
#include "frames.h"
#include "guard.h"
#include "notice.h"
#include "pause.h"
#include "resource_usage.h"
#include "signals.h"
#include "warn.h"

#define LAST_REAP_MS 1000 /* how long we wait after KILL for proof that all are gone */
#define LAST_ROUNDS 20    /* … or 5 times as long, if we got no processor for that many rounds of KILL */
#define LAST_DEAD_MS 30000 /* … or so long, if none is alive any more: they are only to be reaped */

enum state {
	WORKING,    /* no verdict yet */
	CLEANING,   /* the result has arrived, cleanup runs */
	ENDING,     /* TERM went to the worker */
	ENDING_ALL, /* TERM went to every process */
	KILLING,    /* KILL goes to every process, repeatedly */
	OVER,
	STATE_COUNT
};

enum event {
	EV_RESULT,  /* a RESULT frame was latched */
	EV_GONE,    /* the worker was reaped */
	EV_EMPTY,   /* no process is left, as ECHILD proves */
	EV_LIMIT,   /* a time limit was reached */
	EV_SIGNAL,  /* the caller cancels */
	EV_INSIST,  /* … a second time: kill now */
	EV_BROKEN,  /* the frame channel can't be trusted any more */
	EV_TIMER,   /* the state's own time is up */
	EVENT_COUNT
};

struct attempt {
	struct run *run;
	struct report *r;
	struct channels ch;
	pid_t worker;
	bool gone;
	bool left_behind; /* processes outlived a worker that ended by itself */
	bool ended;       /* we sent TERM or KILL to the worker */
	bool session_empty; /* … and no process of its group is left */
	enum state state;
	mono_t timer;     /* of the state */
	mono_t kill_at;   /* end of the grace; then the first KILL */
	int rounds;       /* of KILL */
	int alive;        /* … in the last one; -1: not known */
	struct frames frames;
	struct resource_usage usage;
};

typedef enum state handler_fn(struct attempt *a);

/* --- ending a tree ------------------------------------------------------------- */

/* Where processes can't be listed, the worker's session is what we know; once empty, its number may be another's. */
static void signal_session(struct attempt *a, int sig)
{
	if (!a->gone)
		kill(a->worker, sig);
	a->session_empty |= !a->session_empty && kill(-a->worker, sig) < 0 && a->gone;
}

static enum state enter(struct attempt *a, enum state state, mono_t timer)
{
	a->timer = timer;
	return state;
}

static enum state kill_all(struct attempt *a)
{
	mono_t began = mono_now();

	a->ended |= !a->gone;
	if (a->rounds++ == 0)
		a->kill_at = began;
	resource_usage_kill(&a->usage, a->run); /* first: no process can fork its way out of a group */
	a->alive = child_kill_all(&a->run->spared);
	if (a->alive < 0)
		signal_session(a, SIGKILL);
	return enter(a, KILLING, child_kill_again(began, a->alive));
}

static enum state term_all(struct attempt *a)
{
	if (child_signal_tree(getpid(), SIGTERM, &a->run->spared) < 0)
		signal_session(a, SIGTERM), signal_session(a, SIGCONT);
	return enter(a, ENDING_ALL, a->kill_at);
}

/* TERM to the worker first: it asks its children to end, and knows that their death is then not a failure. It
 * kills them when the reserve begins, which is for cleaning up; then what it doesn't know is asked to end. */
static enum state term_worker(struct attempt *a)
{
	mono_t now = mono_now();

	a->kill_at = mono_add_ms(now, a->run->plan.grace_ms);
	if (a->gone)
		return term_all(a);
	a->ended = true;
	child_term(a->worker, signals_cause()); /* on Ctrl+C, some of its children get INT */
	return enter(a, ENDING, mono_add_ms(now, a->run->plan.grace_ms - child_reserve_ms(a->run->plan.grace_ms)));
}

/* --- handlers: what an event does in a state --------------------------------------- */

static enum state over(struct attempt *a UNUSED)
{
	return OVER;
}

static enum state vanish(struct attempt *a)
{
	a->r->verdict = VERDICT_GONE;
	return OVER;
}

#define GRACE_AFTER_RESULT_MS 100 /* a grace of 0 kills immediately, but a worker that has answered needs time to exit */

static enum state start_cleaning(struct attempt *a)
{
	a->r->verdict = VERDICT_RESULT;
	return enter(a, CLEANING, mono_add_ms(mono_now(), MAX_OF(a->run->plan.grace_ms, GRACE_AFTER_RESULT_MS)));
}

static enum state cancel(struct attempt *a)
{
	a->r->verdict = VERDICT_SIGNAL;
	a->r->signal = signals_cancelled();
	return term_worker(a);
}

static enum state reach_limit(struct attempt *a)
{
	a->r->verdict = VERDICT_LIMIT;
	return term_worker(a);
}

static enum state refuse(struct attempt *a)
{
	a->r->verdict = VERDICT_BROKEN;
	if (!a->r->code[0])
		report_fail(a->r, "COMMAND_CRASHED", "The command violated the supervisor protocol");
	return term_worker(a);
}

static enum state crashed(struct attempt *a)
{
	a->r->verdict = VERDICT_GONE;
	a->kill_at = mono_add_ms(mono_now(), a->run->plan.grace_ms);
	return term_all(a);
}

/* The worker is done, but something it started still runs. */
static enum state end_the_rest(struct attempt *a)
{
	a->left_behind = true;
	a->kill_at = mono_add_ms(mono_now(), a->run->plan.grace_ms);
	return term_all(a);
}

static enum state skip_cleanup(struct attempt *a)
{
	run_warn(a->run, "CLEANUP_SKIPPED", "cleanup did not finish within the grace period and was killed", NULL);
	return kill_all(a);
}

static enum state kill_again(struct attempt *a)
{
	int64_t starved = a->rounds < LAST_ROUNDS ? 5 * LAST_REAP_MS : LAST_REAP_MS;

	if (mono_now() < mono_add_ms(a->kill_at, a->alive == 0 ? LAST_DEAD_MS : starved))
		return kill_all(a);
	a->r->survivors = true;
	return OVER;
}

/* What an event means in a state; nothing where there is no entry. */
static handler_fn *const table[STATE_COUNT][EVENT_COUNT] = {
	[WORKING] = {
		[EV_RESULT] = start_cleaning, [EV_GONE] = crashed,       [EV_EMPTY] = vanish,
		[EV_LIMIT] = reach_limit,     [EV_SIGNAL] = cancel,      [EV_INSIST] = cancel,
		[EV_BROKEN] = refuse,
	},
	[CLEANING] = {
		[EV_GONE] = end_the_rest,     [EV_EMPTY] = over,         [EV_SIGNAL] = term_worker,
		[EV_INSIST] = kill_all,       [EV_BROKEN] = term_worker, [EV_TIMER] = skip_cleanup,
	},
	[ENDING] = {
		[EV_GONE] = term_all,         [EV_EMPTY] = over,         [EV_INSIST] = kill_all,
		[EV_TIMER] = term_all,
	},
	[ENDING_ALL] = {
		[EV_EMPTY] = over,            [EV_INSIST] = kill_all,    [EV_TIMER] = kill_all,
	},
	[KILLING] = {
		[EV_EMPTY] = over,            [EV_TIMER] = kill_again,
	},
};

static void happen(struct attempt *a, enum event event)
{
	handler_fn *handler = table[a->state][event];

	if (handler)
		a->state = handler(a);
}

/* --- sources of events -------------------------------------------------------------- */

static void take_frames(struct attempt *a, int max_reads)
{
	while (max_reads-- > 0 && channels_read_frames(&a->ch, &a->frames.decoder, &a->frames.intruder)) {
		enum frames_status status = frames_take(&a->frames, a->run, a->r, a->state == WORKING);

		if (a->r->entered_run)
			resource_usage_enter(&a->usage, a->run);
		rows_flush(a->run);
		if (status == FRAMES_RESULT)
			happen(a, EV_RESULT);
		else if (status == FRAMES_BROKEN)
			happen(a, EV_BROKEN);
	}
}

static void note_exit(pid_t pid, int wait_status, void *data)
{
	struct attempt *a = data;

	if (pid != a->worker)
		return;
	a->gone = true;
	a->r->worker = outcome_decode(wait_status);
}

/* What the worker sent before it ended comes first. */
static void reap(struct attempt *a)
{
	bool was_gone = a->gone, empty = child_reap(&a->run->spared, note_exit, a);

	if (a->gone && !was_gone)
		take_frames(a, 64);
	if (a->gone && !empty)
		guard_begin(a->run);
	if (empty)
		happen(a, EV_EMPTY);
	else if (a->gone && !was_gone)
		happen(a, EV_GONE);
}

static mono_t next_limit(const struct attempt *a, enum limit *which, int64_t *ms)
{
	return deadline_next(a->run, a->r, &a->frames, which, ms);
}

static void reach(struct attempt *a, enum limit which, int64_t ms)
{
	a->r->limit = which;
	a->r->limit_ms = ms;
	happen(a, EV_LIMIT);
}

/* Frames are read first: a result sent in time must beat a clock that is read later (docs/design.md#first-verdict). */
static void judge_time(struct attempt *a)
{
	mono_t now = mono_now();
	enum limit which;
	int64_t ms;

	if (a->state == WORKING && next_limit(a, &which, &ms) <= now) {
		take_frames(a, 16);
		if (a->state == WORKING && next_limit(a, &which, &ms) <= now)
			reach(a, which, ms);
	} else if (a->state != WORKING && a->state != OVER && a->timer <= now) {
		happen(a, EV_TIMER);
	}
	if (a->state == WORKING && resource_usage_is_spent(&a->usage, a->run)) {
		take_frames(a, 16);
		if (a->state == WORKING)
			reach(a, LIMIT_CPU, a->run->plan.limits.of[RESOURCE_CPU]);
	}
}

static void look_at_signals(struct attempt *a, bool *cancel_seen)
{
	if (signals_cancelled() && !*cancel_seen) {
		*cancel_seen = true;
		happen(a, EV_SIGNAL);
	}
	if (signals_orphaned())
		outlet_mute(&a->run->err);
	if (signals_insisted())
		happen(a, EV_INSIST);
	if (signals_take(SIGTSTP))
		pause_run(a->run, &a->frames.last_sign);
}

/* The reader of the rows has seen enough: as good as a result, and nothing more to do. */
static void look_at_reader(struct attempt *a)
{
	if (a->state != WORKING || !rows_are_enough(a->run))
		return;
	a->r->ok = true;
	happen(a, EV_RESULT);
	happen(a, EV_SIGNAL); /* which asks the worker to end: the result stands */
}

static void watch(struct attempt *a)
{
	bool cancel_seen = false;
	enum limit which;

	while (look_at_signals(a, &cancel_seen), a->state != OVER) {
		mono_t deadline = MIN_OF(MIN_OF(a->timer, block_next(a->run)), secrets_next(a->run));
		int64_t ms;

		if (a->state == WORKING)
			deadline = MIN_OF(MIN_OF(deadline, next_limit(a, &which, &ms)),
			                  MIN_OF(a->usage.check_at, beat_next(a->run)));
		channels_wait(&a->ch, &a->run->err, a->state == WORKING && rows_crowded(a->run), deadline);
		run_warn_busy(a->run);
		if (channels_has_frames(&a->ch)) {
			take_frames(a, 1);
			rows_gather(a->run);
		}
		if (channels_read_taps(&a->ch, a->run))
			a->frames.last_sign = mono_now();
		block_draw(a->run);
		look_at_reader(a);
		notice_held(a->run, false);
		if (a->state == WORKING)
			beat_give(a->run, steps_running(&a->r->steps));
		if (signals_take(SIGCHLD))
			reap(a);
		judge_time(a);
	}
	notice_held(a->run, true);
}

/* --- the whole ------------------------------------------------------------------------ */

static void warn_about_rest(struct attempt *a)
{
	struct buf context = BUF_INIT;

	if (a->r->survivors) {
		pause_describe_children(&a->run->spared, &context);
		run_warn(a->run, "SURVIVORS", "Some processes could not be killed", buf_cstr(&context));
	} else if (a->left_behind) {
		run_warn(a->run, "PROCESS_LEFT",
		         "The command left processes running in the background; they were terminated", NULL);
	}
	if (a->r->verdict == VERDICT_RESULT && a->r->ok && a->gone && !a->ended &&
	    (a->r->worker.signalled || a->r->worker.status != 0) && !a->left_behind)
		run_warn(a->run, "WORKER_EXIT", "The worker exited abnormally after sending its result", NULL);
	buf_release(&context);
}

static void no_worker(struct attempt *a, const char *step)
{
	a->r->verdict = VERDICT_RESOURCES;
	report_fail(a->r, "RESOURCE_EXHAUSTED", "Can't start a worker: %s: %s", step, strerror(errno));
}

void attempt_run(struct run *run, struct report *r)
{
	struct attempt a = { .run = run, .r = r, .state = WORKING, .timer = MONO_NEVER, .usage = RESOURCE_USAGE_INIT };

	report_init(r);
	r->started = mono_now();
	r->paused_before = run->paused;
	run->attempts++;
	frames_init(&a.frames, r->started);
	if (channels_open(&a.ch) < 0) {
		no_worker(&a, "channels");
	} else if ((a.worker = channels_fork(&a.ch, run, r->started)) < 0) {
		no_worker(&a, "fork");
	} else {
		run->worker_pid = a.worker;
		watch(&a);
		channels_read_rest(&a.ch, run);
		warn_about_rest(&a);
	}
	run->worker_pid = 0;
	channels_close(&a.ch);
	frames_release(&a.frames);
	r->ended = mono_now();
	report_describe(r);
	resource_usage_end(&a.usage, run, r);
}
