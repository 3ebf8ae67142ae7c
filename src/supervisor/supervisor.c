/*
 * supervisor.c: attempts until there is a verdict, then one envelope and one
 * exit status. The process that the caller sees.
 */
#include "supervisor.h"

#include <string.h>
#include <unistd.h>

#include "../common/json.h"
#include "../engine/test_page.h"
#include "attempt.h"
#include "decide.h"
#include "deliver.h"
#include "entry.h"
#include "envelope.h"
#include "guard.h"
#include "notice.h"
#include "pause.h"
#include "plan.h"
#include "report.h"
#include "signals.h"
#include "warn.h"

/* What set the time limit that ended an attempt, and how to get a longer one. Runs in the
 * supervisor. */

/* The limits whose sources the plan has, in its order. */
static const struct limit_key {
	enum limit limit;
	const char *key, *flag, *variable;
} keys[] = {
	{ LIMIT_TIMEOUT, "timeout", "--timeout", "RUNNER_TIMEOUT" },
	{ LIMIT_ATTEMPT, "attempt_timeout", "--attempt-timeout", "RUNNER_ATTEMPT_TIMEOUT" },
	{ LIMIT_IDLE, "idle_timeout", "--idle-timeout", "RUNNER_IDLE_TIMEOUT" },
};

/* The n-th of the sources that the plan has, separated by commas; "" is the default. */
static void source_of(const struct plan *p, size_t n, char *out, size_t size)
{
	const char *at = p->limit_sources;
	size_t len;

	while (n-- > 0 && *at)
		at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
	len = strcspn(at, ",");
	if (len >= size)
		len = 0;
	memcpy(out, at, len);
	out[len] = '\0';
}

static void advise(struct buf *out, const struct limit_key *k, const char *source)
{
	if (strcmp(source, "flag") == 0)
		buf_add_fmt(out, "%s of this call set the limit: give a longer one", k->flag);
	else if (strcmp(source, "environment") == 0)
		buf_add_fmt(out, "%s set the limit; %s DURATION overrides it for one call", k->variable, k->flag);
	else if (strcmp(source, "command") == 0)
		buf_add_fmt(out, "%s = … of the command's file set the limit; %s DURATION overrides it for one call",
		            k->key, k->flag);
	else if (strcmp(source, "runner.lua") == 0)
		buf_add_fmt(out,
		            "%s = … of runner.lua set the limit; a command that needs longer declares %s = \"5m\" in its file, "
		            "and %s 5m gives one call longer", k->key, k->key, k->flag);
	else if (strcmp(source, "interruption") == 0)
		buf_add_str(out, "max_lifetime in interruption of the command's file set the limit");
	else if (strcmp(source, "policy") == 0)
		buf_add_str(out, "A policy of the caller set the limit (meta.policy has its file), and no flag gives longer");
	else if (strcmp(source, "outer run") == 0)
		buf_add_str(out, "The run that made this call ends then: give that one a longer --timeout");
	else
		buf_add_fmt(out,
		            "The limit is the default: a command that needs longer declares %s = \"5m\" in its file, "
		            "and %s 5m gives one call longer", k->key, k->flag);
}

/* Set that as the suggestion of a report that report_describe() has described, or as fix_required where the
 * suggestion is the command's own. Nothing for any other verdict. */
static void limit_advise(struct report *r, const struct plan *p)
{
	struct buf *out = r->suggestion.len > 0 ? &r->fix_required : &r->suggestion; /* it says how to go on */

	if (r->verdict != VERDICT_LIMIT)
		return;
	if (r->limit == LIMIT_LOAD)
		buf_add_str(out, "RUNNER_LOAD_TIMEOUT sets how long a file may take to load (5s)");
	else if (r->limit == LIMIT_CPU)
		buf_add_str(out, "cpu in limits of the command's file set the limit");
	else if (r->limit == LIMIT_STALL)
		buf_add_str(out, "idle_timeout in interruption of the command's file set the limit");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].limit == r->limit) {
			char source[16];

			source_of(p, i, source, sizeof(source));
			advise(out, &keys[i], source);
		}
}

/* --- one attempt after another ---------------------------------------------------------- */

/* What attempt n + 1 learns of attempt n. The strings live until the next call. */
static void brief(struct run *run, const struct report *r)
{
	static struct buf steps, message, progress, seed;
	static char code[REPORT_CODE];
	struct json_writer w = JSON_WRITER_INIT(&steps);

	buf_clear(&steps);
	steps_names(&r->steps, STEP_COMPLETED, &w);
	buf_clear(&message);
	buf_add(&message, r->message.data, r->message.len);
	buf_clear(&progress);
	buf_add(&progress, r->progress.data, r->progress.len);
	buf_clear(&seed);
	buf_add_fmt(&seed, "%lld", (long long)run->plan.policy.seed);
	strcpy(code, r->code);
	run->launch.previous_code = code;
	run->launch.previous_message = buf_cstr(&message);
	run->launch.previous_steps = buf_cstr(&steps);
	run->launch.previous_progress = progress.len ? buf_cstr(&progress) : NULL;
	run->launch.seed_text = buf_cstr(&seed);
	run->launch.digest = run->plan.digest;
	run->launch.confirmed = metas_have(&run->metas, "confirmed");
}

/* Most of what a worker begins with, it does as the one before it did: once for all to come. */
static void prepare_workers(struct run *run)
{
	if (run->prepare)
		(void)run->prepare(); /* which makes them quicker, nothing else */
	run->prepare = NULL;
}

/* Wait for a backoff while serving stderr and Ctrl+Z. False when a signal ends it. */
static bool wait_for(struct run *run, int64_t ms)
{
	mono_t until = mono_add_ms(mono_now(), ms);
	mono_t unused = 0;

	prepare_workers(run);
	while (!signals_cancelled() && mono_now() < until && !test_page_skip(until)) {
		outlet_poll(&run->err, NULL, 0, MIN_OF(until, beat_next(run)));
		run_warn_busy(run);
		beat_give(run, NULL);
		if (signals_take(SIGTSTP))
			pause_run(run, &unused);
		until += unused, unused = 0;
	}
	return !signals_cancelled();
}

static void cancel_in_wait(struct run *run)
{
	struct report *r = &run->verdict.report;

	r->verdict = VERDICT_SIGNAL;
	r->signal = signals_cancelled();
	r->own = (struct own_hints)OWN_HINTS_NONE;
	report_describe(r);
	run->verdict.hints = decide_hints(run, r);
}

/* After an attempt that reached run, a later one that fails before run never becomes
 * the verdict: its "nothing was touched" would be false for the run
 * (docs/design.md#rejected-attempts). */
static bool is_rejected(struct run *run, const struct report *r)
{
	bool changed = strcmp(r->code, "COMMAND_CHANGED") == 0 ||
	               strcmp(r->code, "COMMAND_INVALID") == 0 ||
	               strcmp(r->code, "COMMAND_NOT_FOUND") == 0;

	if (run->attempts == 1 || r->ok || r->entered_run || r->verdict == VERDICT_SIGNAL ||
	    (r->verdict == VERDICT_LIMIT && r->limit == LIMIT_TIMEOUT))
		return false;
	run_warn(run, changed ? "COMMAND_CHANGED" : "RETRY_REJECTED",
	         changed ? "The command file changed between attempts; the earlier error stands"
	                 : "Another attempt failed before run; the earlier error stands",
	         NULL);
	return true;
}

/* One attempt. True: the run is over, run->verdict is set. */
static bool try_once(struct run *run)
{
	struct report r, *newest = &run->verdict.report;
	enum policy_verdict next;
	int64_t wait_ms = -1;

	run->launch.attempt = (int)run->attempts + 1;
	run->launch.repeats_made = run->attempts ? run_repeats(run) + 1 : 0;
	run->launch.called_made = run->called_repeats;
	attempt_run(run, &r);
	limit_advise(&r, &run->plan);
	picture_leave(run, &r);
	if (run->plan.interactive)
		pause_restore_terminal();
	if (is_rejected(run, &r))
		return report_release(&r), true;
	report_move(newest, &r);
	if (newest->ok)
		return true;
	next = decide_next(run, &wait_ms);
	history_add(&run->history, run->attempts, newest, next == POLICY_WAIT ? wait_ms : -1);
	if (next != POLICY_WAIT)
		return true;
	notice_failed(run, newest, wait_ms);
	brief(run, newest);
	if (!wait_for(run, wait_ms))
		return cancel_in_wait(run), true;
	return false;
}

int supervisor_main(int argc, char **argv, worker_fn *worker, prepare_fn *prepare)
{
	static struct run run;
	int status;

	run.launch.started = mono_now();
	run.prepare = prepare;
	if (entry_prepare(&run, argc, argv, worker) < 0) {
		(void)!write(1, envelope_last_resort(), strlen(envelope_last_resort()));
		return 12;
	}
	while (!try_once(&run))
		;
	guard_end(&run);
	status = deliver_verdict(&run);
	guard_reap(&run);
	return status;
}

int supervisor_main_below(pid_t parent, int argc, char **argv, worker_fn *worker)
{
	signals_end_with(parent);
	return supervisor_main(argc, argv, worker, NULL); /* which is done */
}
