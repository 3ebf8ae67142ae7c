/*
 * envelope.c: writes struct run as JSON. Runs in the supervisor, once, at the end;
 * it decides nothing and builds no tree.
 */
#include "envelope.h"

#include <string.h>

#include "../common/json.h"
#include "line.h"

#define MAX_RETRIES_ADVICE 3
#define NO_CONFIG_HASH "cbf29ce484222325" /* host.digest("") */

static void member_str(struct json_writer *w, const char *key, const struct buf *text)
{
	if (text->len == 0)
		return;
	json_key(w, key);
	json_str(w, text->data, text->len);
}

static void member_cstr(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_cstr(w, text);
}

static void member_int(struct json_writer *w, const char *key, int64_t v)
{
	json_key(w, key);
	json_int(w, v);
}

static void member_raw(struct json_writer *w, const char *key, const struct buf *json)
{
	if (json->len == 0)
		return;
	json_key(w, key);
	json_raw(w, json->data, json->len);
}

/* --- error ----------------------------------------------------------------------- */

/* A loop resumed from an earlier process has used more retries than we saw. */
static int64_t repeats_used_up(const struct run *run)
{
	return MAX_OF(run_repeats(run), run->verdict.report.exhausted);
}

static void write_retry_hints(struct run *run, struct json_writer *w)
{
	const struct hints *h = &run->verdict.hints;
	enum retryable shown = run->verdict.exhausted ? RETRYABLE_FALSE : h->retryable;
	int64_t retries = run->plan.policy.retries;

	json_key(w, "retryable");
	if (shown == RETRYABLE_MAYBE)
		json_cstr(w, "maybe");
	else
		json_bool(w, shown == RETRYABLE_TRUE);
	if (shown == RETRYABLE_TRUE || h->rate_limited)
		member_int(w, "retry_after_ms", h->retry_after_ms);
	if (shown == RETRYABLE_TRUE)
		member_cstr(w, "retry_strategy", name_of(NAMES_RETRY_STRATEGY, h->strategy));
	if (run->verdict.exhausted)
		member_int(w, "max_retries", repeats_used_up(run));
	else if (shown != RETRYABLE_FALSE)
		member_int(w, "max_retries", retries > 0 ? retries : MAX_RETRIES_ADVICE);
	if (run->verdict.exhausted)
		member_int(w, "retries_exhausted", repeats_used_up(run));
}

static void write_fix(const struct verdict *v, struct json_writer *w)
{
	const struct report *r = &v->report;

	if (r->fix_required.len > 0)
		member_str(w, "fix_required", &r->fix_required);
	else if (hints_fix(&v->hints))
		member_cstr(w, "fix_required", hints_fix(&v->hints));
	member_str(w, "fix_command", &r->fix_command);
	member_str(w, "suggestion", &r->suggestion);
}

static void write_error(struct run *run, struct json_writer *w)
{
	const struct report *r = &run->verdict.report;
	char scratch[16];

	json_begin_object(w);
	member_cstr(w, "code", r->code);
	json_key(w, "message");
	json_str(w, buf_cstr(&r->message), r->message.len);
	member_str(w, "detail", &r->detail);
	write_retry_hints(run, w);
	member_cstr(w, "side_effects", name_of(NAMES_SIDE_EFFECTS, run->verdict.worst_effects));
	member_cstr(w, "phase", r->phase);
	write_fix(&run->verdict, w);
	if (r->verdict == VERDICT_SIGNAL)
		member_cstr(w, "signal", signal_name(r->signal, scratch));
	member_raw(w, "errors", &r->errors);
	member_raw(w, "context", &r->context);
	member_raw(w, "redirect", &r->redirect);
	buf_add(w->out, r->extra.members.data, r->extra.members.len);
	json_end_object(w);
}

/* --- meta -------------------------------------------------------------------------- */

static bool wants(const struct run *run, const char *name)
{
	return metas_want(&run->metas, name);
}

static void write_attempts(struct run *run, struct json_writer *w)
{
	const struct policy *p = &run->plan.policy;
	char seed[24];

	if (wants(run, "attempt")) {
		member_int(w, "attempt", run->attempts);
		json_key(w, "max_attempts");
		if (p->retries < 0)
			json_write_null(w);
		else
			json_int(w, p->retries + 1);
	}
	if (run_repeats(run) > 0)
		member_int(w, "retries", run_repeats(run));
	if (run->history.count > 0 && run->attempts > 1 && wants(run, "retry_history")) {
		json_key(w, "retry_history");
		history_write(&run->history, w);
	}
	if (p->retries != 0 && p->jitter != JITTER_NONE && wants(run, "retry_seed")) {
		struct buf text = BUF_INIT;

		buf_add_fmt(&text, "%llu", (unsigned long long)p->seed);
		strncpy(seed, buf_cstr(&text), sizeof(seed) - 1);
		seed[sizeof(seed) - 1] = '\0';
		member_cstr(w, "retry_seed", seed);
		buf_release(&text);
	}
}

/* How a success got there (REQ-C-008): data has no room for it, since its form is the command's. */
static void write_steps(struct run *run, struct json_writer *w)
{
	const struct report *r = &run->verdict.report;

	if (!r->ok || !r->entered_run || r->handed_over || r->steps.count == 0)
		return;
	json_key(w, "steps");
	json_begin_object(w);
	steps_members(&r->steps, w);
	json_end_object(w);
}

static void write_caller(struct run *run, struct json_writer *w)
{
	if (run->launch.trace_id && wants(run, "trace_id"))
		member_cstr(w, "trace_id", run->launch.trace_id);
	if (run->launch.headless && wants(run, "headless")) {
		json_key(w, "headless");
		json_bool(w, true);
	}
}

/* What holds where the worker has said nothing else. */
static void write_defaults(struct run *run, struct json_writer *w)
{
	if (!wants(run, "cwd"))
		return;
	if (run->cwd[0] && !metas_have(&run->metas, "cwd"))
		member_cstr(w, "cwd", run->cwd);
	if (!metas_have(&run->metas, "config_sources")) {
		json_key(w, "config_sources");
		json_begin_array(w);
		json_end_array(w);
	}
	if (!metas_have(&run->metas, "effective_config_hash"))
		member_cstr(w, "effective_config_hash", NO_CONFIG_HASH);
}

static void write_meta(struct run *run, int exit_code, struct json_writer *w)
{
	char when[32];

	json_begin_object(w);
	if (wants(run, "command"))
		member_cstr(w, "command", run->plan.command);
	member_int(w, "exit_code", exit_code);
	if (run->rows.streams)
		member_int(w, "items_emitted", run->rows.count);
	member_int(w, "duration_ms", run_duration_ms(run));
	member_int(w, "timeout_ms", run->plan.timeout_ms);
	if (wants(run, "request_id"))
		member_cstr(w, "request_id", run->request_id);
	if (wants(run, "timestamp"))
		member_cstr(w, "timestamp", rfc3339_format(&run->wall_started, when));
	if (wants(run, "schema_version"))
		member_cstr(w, "schema_version", run->plan.schema_version);
	if (wants(run, "tool_version") && !metas_have(&run->metas, "tool_version")) /* the version of a tool of its own (lua/project/tool_name.lua) */
		member_cstr(w, "tool_version", RUNNER_VERSION);
	write_caller(run, w);
	write_attempts(run, w);
	write_steps(run, w);
	if (wants(run, "attachments"))
		member_raw(w, "attachments", &run->verdict.report.attachments);
	write_defaults(run, w);
	metas_write(&run->metas, w->out);
	json_end_object(w);
}

/* A buf that lost an append holds an incomplete fragment. */
static bool has_lost_bytes(const struct run *run)
{
	const struct report *r = &run->verdict.report;

	return run->warnings.rows.failed || run->metas.members.failed || history_failed(&run->history) ||
	       r->data.failed || r->errors.failed || r->context.failed || r->redirect.failed || r->attachments.failed ||
	       r->extra.members.failed;
}

/* --- the whole ------------------------------------------------------------------------ */

static void write_data(struct run *run, struct json_writer *w)
{
	struct buf *data = &run->verdict.report.data;

	json_key(w, "data");
	json_raw(w, "null", data->len ? 0 : 4);
	buf_give(w->out, data);
}

static void write_rest(struct run *run, int exit_code, struct json_writer *w)
{
	json_key(w, "warnings");
	json_begin_array(w);
	if (run->warnings.rows.len > 0)
		json_raw(w, run->warnings.rows.data, run->warnings.rows.len);
	json_end_array(w);
	json_key(w, "meta");
	write_meta(run, exit_code, w);
	json_end_object(w);
	buf_add_char(w->out, '\n');
	w->out->failed |= has_lost_bytes(run);
}

void envelope_write(struct run *run, int exit_code, struct buf *out)
{
	struct json_writer w = JSON_WRITER_INIT(out);

	json_begin_object(&w);
	json_key(&w, "ok");
	json_bool(&w, exit_code == 0);
	write_data(run, &w);
	json_key(&w, "error");
	if (exit_code == 0)
		json_write_null(&w);
	else
		write_error(run, &w);
	write_rest(run, exit_code, &w);
}

void envelope_write_summary(struct run *run, int exit_code, struct buf *out)
{
	struct json_writer w = JSON_WRITER_INIT(out);

	json_begin_object(&w);
	rows_summary(run, &w);
	write_data(run, &w);
	write_rest(run, exit_code, &w);
}

const char *envelope_last_resort(void)
{
	return "{\"ok\":false,\"data\":null,\"error\":{\"code\":\"RESOURCE_EXHAUSTED\","
	       "\"message\":\"runner itself ran out of memory\",\"retryable\":\"maybe\","
	       "\"max_retries\":3,\"side_effects\":\"partial\",\"phase\":\"execution\"},"
	       "\"warnings\":[],\"meta\":{\"exit_code\":12,\"duration_ms\":0}}\n";
}

void envelope_step_text(const struct run *run, struct buf *out)
{
	static const char *const words[] = { "pending", "failed", "completed", "skipped" };
	const struct steps *s = &run->verdict.report.steps;

	for (int i = 0; i < s->count; i++)
		buf_add_fmt(out, "%-10s %s\n", words[s->row[i].state], s->row[i].name);
	/* REQ-F-012: stdout is never empty on a timeout. Ctrl+C needs no second line. */
	if (s->count == 0 && !(run->launch.stderr_is_tty && run->verdict.report.verdict == VERDICT_SIGNAL))
		line_add_command(out, run), buf_add_fmt(out, ": %s\n", run->verdict.report.code);
}
