/*
 * report.c: turns RESULT frames and verdicts into a report. Runs in the supervisor;
 * trusts no worker: every JSON fragment must pass the strict checker.
 */
#include "report.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../common/json.h"

void report_init(struct report *r)
{
	memset(r, 0, sizeof(*r));
	r->own = (struct own_hints)OWN_HINTS_NONE;
}

void report_release(struct report *r)
{
	struct buf *all[] = { &r->message, &r->detail, &r->fix_required, &r->fix_command,
	                      &r->suggestion, &r->data, &r->errors, &r->context, &r->text,
	                      &r->progress, &r->resume_hint, &r->output, &r->place, &r->redirect, &r->attachments,
	                      &r->extra.members };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		buf_release(all[i]);
	attached_release(&r->attached);
	steps_release(&r->steps);
	report_init(r);
}

void report_move(struct report *to, struct report *from)
{
	report_release(to);
	*to = *from;
	report_init(from);
}

void report_fail(struct report *r, const char *code, const char *fmt, ...)
{
	va_list ap;

	r->ok = false;
	r->code[0] = '\0';
	strncat(r->code, code, sizeof(r->code) - 1);
	buf_clear(&r->message);
	va_start(ap, fmt);
	buf_add_vfmt(&r->message, fmt, ap);
	va_end(ap);
}

void report_no_memory(struct report *r)
{
	r->own = (struct own_hints){ RETRYABLE_MAYBE, SIDE_EFFECTS_PARTIAL, -1, RETRY_STRATEGY_NONE };
	r->exhausted = 0;
	r->entered_run = true; /* it may have; better too careful */
	report_fail(r, "RESOURCE_EXHAUSTED", "runner itself ran out of memory");
}

/* --- from a RESULT frame --------------------------------------------------------- */

static void take_text(struct buf *out, const struct frame *f, enum field_id id, size_t max)
{
	struct field text = frame_str(f, id);

	buf_clear(out);
	buf_add(out, text.s, text_cut(text.s, text.n, max));
}

/* 0, or -1 when the fragment is neither `want` nor null (which means absent). With `move` the frame is not looked
 * at again. */
static int take_json(struct buf *out, const struct frame *f, enum field_id id,
                     enum json_kind want, enum json_kind or_want, bool move)
{
	struct field text = frame_str(f, id);
	enum json_kind kind;

	buf_clear(out);
	if (text.n == 0)
		return 0;
	kind = json_check(text.s, text.n);
	if (kind == JSON_NULL)
		return 0;
	if (kind != want && kind != or_want)
		return -1;
	if (move)
		frame_move(f, id, out);
	else
		buf_add(out, text.s, text.n);
	return 0;
}

static int parse_field(const struct frame *f, enum field_id id, enum names set)
{
	char name[32];
	int v = name_parse(set, frame_copy(f, id, name, sizeof(name)));

	return v < 0 ? 0 : v;
}

/* Any other name is ignored, and report_describe() sets the phase. */
static void take_phase(struct report *r, const struct frame *f)
{
	static const char *const phases[] = { "validation", "execution", "cleanup" };
	char name[sizeof(r->phase)];

	r->phase[0] = '\0';
	frame_copy(f, F_phase, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_LEN(phases); i++)
		if (strcmp(name, phases[i]) == 0)
			strcpy(r->phase, name);
}

static void take_failure(struct report *r, const struct frame *f)
{
	struct field code = frame_str(f, F_code);

	if (code_well_formed(code.s, code.n))
		frame_copy(f, F_code, r->code, sizeof(r->code));
	else
		strcpy(r->code, "INTERNAL_ERROR");
	take_text(&r->message, f, F_message, MESSAGE_MAX);
	take_text(&r->detail, f, F_detail, DETAIL_MAX);
	take_text(&r->fix_required, f, F_fix_required, MESSAGE_MAX);
	take_text(&r->fix_command, f, F_fix_command, MESSAGE_MAX);
	take_text(&r->suggestion, f, F_suggestion, MESSAGE_MAX);
	take_text(&r->output, f, F_output, MESSAGE_MAX);
	take_text(&r->place, f, F_text, MESSAGE_MAX);
	take_phase(r, f);
	r->own.retryable = (enum retryable)parse_field(f, F_retryable, NAMES_RETRYABLE);
	r->own.side_effects = (enum side_effects)parse_field(f, F_side_effects, NAMES_SIDE_EFFECTS);
	r->own.strategy = (enum retry_strategy)parse_field(f, F_retry_strategy, NAMES_RETRY_STRATEGY);
	r->own.retry_after_ms = MIN_OF(MAX_OF(frame_int(f, F_retry_after_ms, -1), -1), DURATION_MAX_MS);
	r->exhausted = MAX_OF(frame_int(f, F_retries_exhausted, 0), 0);
}

void report_refuse(struct report *r, const char *code, const char *message)
{
	struct buf *fragments[] = { &r->errors, &r->context, &r->redirect, &r->data };

	for (size_t i = 0; i < ARRAY_LEN(fragments); i++)
		buf_clear(fragments[i]);
	metas_clear(&r->extra);
	r->own = (struct own_hints)OWN_HINTS_NONE;
	r->exhausted = 0;
	r->exit_code = 0;
	report_fail(r, code, "%s", message);
}

static bool is_too_large(const struct frame *f)
{
	return frame_str(f, F_data).n > RESULT_MAX || frame_str(f, F_errors).n > RESULT_MAX ||
	       frame_str(f, F_context).n > RESULT_MAX;
}

static void take_fragments(struct report *r, const struct frame *f)
{
	if (is_too_large(f))
		report_refuse(r, "OUTPUT_TOO_LARGE", "The command's result is larger than 16 MiB");
	else if (take_json(&r->errors, f, F_errors, JSON_ARRAY, JSON_ARRAY, false) < 0 ||
	         take_json(&r->context, f, F_context, JSON_OBJECT, JSON_OBJECT, false) < 0 ||
	         take_json(&r->redirect, f, F_redirect, JSON_OBJECT, JSON_OBJECT, false) < 0 ||
	         take_json(&r->data, f, F_data, JSON_OBJECT, JSON_ARRAY, true) < 0)
		report_refuse(r, "INVALID_RESULT", "The command's result is not valid JSON");
	else if (r->errors.failed || r->context.failed || r->redirect.failed || r->data.failed)
		report_no_memory(r);
}

void report_take_resume_hint(struct report *r, const struct frame *f)
{
	if (frame_has(f, F_suggestion))
		take_text(&r->resume_hint, f, F_suggestion, MESSAGE_MAX);
	if (frame_has(f, F_state))
		r->handed_over = r->entered_run = true; /* its RUN may have come too late to count */
}

void report_take_result(struct report *r, const struct frame *f)
{
	r->ok = frame_int(f, F_ok, 0) == 1;
	r->rows = frame_int(f, F_rows, 0);
	r->exit_code = r->ok ? 0 : (int)MIN_OF(MAX_OF(frame_int(f, F_exit_code, 0), 0), 255);
	if (r->ok)
		steps_finish(&r->steps);
	else
		take_failure(r, f);
	take_fragments(r, f);
}

/* --- verdicts as errors ------------------------------------------------------------ */

/* What the failure itself gave as data: the members of an object, else one "value". */
static void add_own_data(struct json_writer *w, const struct buf *own)
{
	if (own->len == 0)
		return;
	if (json_check(own->data, own->len) == JSON_OBJECT) {
		w->need_comma = json_add_members(w->out, own->data, own->len);
		return;
	}
	json_key(w, "value");
	json_raw(w, own->data, own->len);
}

static void add_progress(struct report *r, struct json_writer *w)
{
	if (r->progress_is_data) {
		add_own_data(w, &r->progress);
	} else if (r->progress.len > 0) {
		json_key(w, "progress");
		json_raw(w, r->progress.data, r->progress.len);
	}
}

void report_suggest_resume_hint(struct report *r)
{
	buf_clear(&r->suggestion);
	buf_add(&r->suggestion, r->resume_hint.data, r->resume_hint.len);
}

/* Set data to how far the command got, if it reported anything, and suggest how to
 * resume from there. */
static void partial_data(struct report *r, bool cancelled)
{
	struct json_writer w = JSON_WRITER_INIT(&r->data);

	report_suggest_resume_hint(r);
	buf_clear(&r->data);
	if (!cancelled && r->steps.count == 0 && r->progress.len == 0)
		return;
	json_begin_object(&w);
	if (r->steps.count > 0)
		steps_of_failure(&r->steps, &w);
	add_progress(r, &w);
	if (cancelled) {
		json_key(&w, "partial");
		json_bool(&w, true);
	}
	json_end_object(&w);
}

static bool speaks_of_steps(const struct buf *data)
{
	static const char *const keys[] = { "completed_steps", "failed_step", "pending_steps",
	                                    "skipped_steps" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (json_has_member(buf_cstr(data), data->len, keys[i]))
			return true;
	return false;
}

/* A failure that the script reported itself: how far it got stands beside its data,
 * unless that says so in its own words (REQ-C-008, docs/design.md#partial-results). */
static void merge_data(struct report *r)
{
	struct buf own = r->data;
	bool steps = r->steps.count > 0 && !speaks_of_steps(&own);
	bool progress = r->progress.len > 0 && !r->progress_is_data && !json_has_member(buf_cstr(&own), own.len, "progress");
	struct json_writer w = JSON_WRITER_INIT(&r->data);

	if (!steps && !progress)
		return;
	r->data = (struct buf)BUF_INIT;
	json_begin_object(&w);
	add_own_data(&w, &own);
	if (steps && json_has_member(buf_cstr(&own), own.len, "resume_from"))
		steps_members(&r->steps, &w);
	else if (steps)
		steps_of_failure(&r->steps, &w);
	if (progress)
		add_progress(r, &w);
	json_end_object(&w);
	r->data.failed |= own.failed;
	buf_release(&own);
}

static void context_str(struct report *r, const char *key, const char *value)
{
	struct json_writer w = JSON_WRITER_INIT(&r->context);

	buf_clear(&r->context);
	json_begin_object(&w);
	json_key(&w, key);
	json_cstr(&w, value);
	json_end_object(&w);
}

static void describe_limit(struct report *r)
{
	static const char *const names[] = { "load", "timeout", "attempt", "idle", "cpu", "stall" };
	static const char *const kinds[] = { "load timeout", "timeout", "attempt timeout",
	                                     "idle timeout", "CPU time limit", "limit for progress" };

	report_fail(r, r->limit == LIMIT_STALL ? "STALLED" : "TIMEOUT", "Command exceeded %s of %lldms",
	            kinds[r->limit], (long long)r->limit_ms);
	strcpy(r->phase, r->limit == LIMIT_LOAD ? "validation" : "execution");
	context_str(r, "limit", names[r->limit]);
	partial_data(r, false);
}

/* A signal ended the wait: drop what the failure before it reported. */
static void forget_failure(struct report *r)
{
	struct buf *all[] = { &r->detail, &r->fix_required, &r->fix_command, &r->suggestion, &r->errors,
	                      &r->context, &r->redirect, &r->output, &r->place, &r->text };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		buf_clear(all[i]);
	metas_clear(&r->extra);
	r->exhausted = 0;
}

/* Nothing is cancelled: the caller that waits was only told to stop that (REQ-F-081). The data is what
 * the last PROGRESS said of the work. */
static void describe_handed_over(struct report *r)
{
	report_fail(r, "INCOMPLETE", "The work goes on as a job");
	r->verdict = VERDICT_RESULT;
	report_suggest_resume_hint(r);
	buf_clear(&r->data);
	buf_add(&r->data, r->progress.data, r->progress.len);
}

static void describe_signal(struct report *r)
{
	char scratch[16];

	forget_failure(r);
	if (r->handed_over && r->signal == SIGTERM) {
		describe_handed_over(r);
		return;
	}
	report_fail(r, "CANCELLED", "Cancelled by %s", signal_name(r->signal, scratch));
	context_str(r, "signal", signal_name(r->signal, scratch)); /* REQ-F-069 */
	if (!r->entered_run)
		r->own.side_effects = SIDE_EFFECTS_NONE;
	partial_data(r, true);
}

static void describe_gone(struct report *r)
{
	struct json_writer w = JSON_WRITER_INIT(&r->context);
	char scratch[16];

	if (r->worker.signalled)
		report_fail(r, "COMMAND_CRASHED", "The command was killed by %s",
		            signal_name(r->worker.status, scratch));
	else
		report_fail(r, "COMMAND_CRASHED",
		            "The command exited with status %d and returned no result",
		            r->worker.status);
	partial_data(r, false); /* to resume, the caller must know how far it got */
	if (r->resume_hint.len > 0)
		r->own.retryable = RETRYABLE_FALSE; /* the identical call would begin again */
	if (r->worker.signalled) {
		context_str(r, "signal", signal_name(r->worker.status, scratch));
		return;
	}
	json_begin_object(&w);
	json_key(&w, "exit_status");
	json_int(&w, r->worker.status);
	json_end_object(&w);
}

void report_describe(struct report *r)
{
	switch (r->verdict) {
	case VERDICT_LIMIT:
		describe_limit(r);
		break;
	case VERDICT_SIGNAL:
		describe_signal(r);
		break;
	case VERDICT_GONE:
		describe_gone(r);
		break;
	default: /* described when it was latched */
		if (!r->ok && r->entered_run)
			merge_data(r);
		break;
	}
	if (!r->phase[0] && !r->ok)
		strcpy(r->phase, r->entered_run ? "execution" : "validation");
}
