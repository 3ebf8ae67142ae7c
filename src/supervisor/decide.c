/*
 * decide.c: the decision between two attempts. Runs in the supervisor; neither
 * waits nor forks.
 */
#include "decide.h"

#include <string.h>
#include <unistd.h>

#include "warn.h"

static bool declares_effects(const struct plan *p, const char *code)
{
	for (size_t i = 0; i < p->code_count; i++)
		if (p->codes[i].side_effects && hint_name_matches(p->codes[i].name, code))
			return true;
	return false;
}

struct hints decide_hints(struct run *run, const struct report *r)
{
	struct declared_codes declared = { run->plan.codes, run->plan.code_count };
	struct hints h = hints_resolve(r->code, &r->own, &declared, run->plan.table);

	/* an argument may name its own error code, which needs no declaration
	 * (docs/design.md#argument-errors) */
	if (!h.known && r->verdict == VERDICT_RESULT && !r->entered_run)
		h = hints_resolve("VALIDATION_ERROR", &r->own, &declared, run->plan.table);
	if (!r->entered_run)
		h.side_effects = SIDE_EFFECTS_NONE;
	else if (h.entry == EXIT_ENTRY_ARG_ERROR && !r->own.side_effects &&
	         !declares_effects(&run->plan, r->code))
		h.side_effects = SIDE_EFFECTS_PARTIAL; /* its "none" applies only before run */
	if (run->plan.safe && !r->own.side_effects && !declares_effects(&run->plan, r->code))
		h.side_effects = SIDE_EFFECTS_NONE; /* it changes nothing, so nothing is half done */
	return h;
}

/* A code that is neither in the registry nor declared: no caller could know
 * what it means (docs/design.md#undeclared-codes). */
static void refuse_undeclared(struct report *r)
{
	struct buf message = BUF_INIT;
	char code[REPORT_CODE];

	strcpy(code, r->code);
	buf_add(&message, r->message.data, r->message.len);
	report_fail(r, "UNDECLARED_EXIT_CODE", "The command raised the undeclared code %s: %s", code,
	            buf_cstr(&message));
	r->own = (struct own_hints)OWN_HINTS_NONE;
	buf_release(&message);
}

static bool stdin_is_spent(const struct run *run)
{
	return run->plan.reads_stdin && !run->launch.stdin_is_tty &&
	       lseek(run->launch.stdin_fd, 0, SEEK_CUR) < 0;
}

static int64_t left_ms(const struct run *run)
{
	mono_t deadline = mono_deadline(run->launch.started + run->paused, run->plan.timeout_ms);

	return deadline == MONO_NEVER ? INT64_MAX : mono_elapsed_ms(mono_now(), deadline);
}

static bool may_retry(const struct run *run, const struct report *r, const struct hints *h)
{
	if (r->ok || r->survivors || r->verdict == VERDICT_SIGNAL)
		return false;
	if (r->verdict == VERDICT_LIMIT && (r->limit == LIMIT_TIMEOUT || r->limit == LIMIT_LOAD))
		return false;
	return r->entered_run && plan_retries_code(&run->plan, r->code, h);
}

/* POLICY_WAIT with *wait_ms, or the reason why this failure is final. */
static enum policy_verdict ask_policy(struct run *run, const struct report *r, int64_t *wait_ms)
{
	struct policy_input q = {
		.made = run->plan.one_budget ? run_repeats(run) : run->attempts - 1 + run->called_repeats,
		.position = run->attempts - 1,
		.own_wait_ms = r->own.retry_after_ms,
		.left_ms = left_ms(run),
	};
	enum policy_verdict verdict = policy_decide(&run->plan.policy, &q, wait_ms);

	if (verdict == POLICY_WAIT && stdin_is_spent(run)) {
		run_warn(run, "STDIN_CONSUMED",
		         "No retry: stdin is a pipe, and the first attempt may have read from it", NULL);
		return POLICY_AS_RAISED;
	}
	if (verdict == POLICY_WAIT && run->rows.streams && run->rows.count > 0 && !run->rows.may_repeat) {
		run_warn(run, "ROWS_WRITTEN",
		         "No retry: rows have been written, and another attempt would write them again; "
		         "rows_may_repeat = true allows that",
		         NULL);
		return POLICY_AS_RAISED;
	}
	if (verdict == POLICY_BUDGET)
		run_warn(run, "RETRY_BUDGET", "No retry: the wait would overrun the time left",
		         NULL);
	return verdict;
}

enum policy_verdict decide_next(struct run *run, int64_t *wait_ms)
{
	struct verdict *v = &run->verdict;
	enum policy_verdict next;

	v->hints = decide_hints(run, &v->report);
	if (!v->hints.known && !v->report.exit_code) {
		refuse_undeclared(&v->report);
		v->hints = decide_hints(run, &v->report);
	}
	verdict_note_effects(v, &v->hints);
	if (!may_retry(run, &v->report, &v->hints))
		return POLICY_AS_RAISED;
	next = ask_policy(run, &v->report, wait_ms);
	v->exhausted = next == POLICY_EXHAUSTED;
	return next;
}
