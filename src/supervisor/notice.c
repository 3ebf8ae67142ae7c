/*
 * notice.c: text and JSON lines for stderr. Runs in the supervisor; decides nothing.
 */
#include "notice.h"

#include <stdarg.h>
#include <string.h>

#include "../common/json.h"
#include "columns.h"
#include "redact.h"

#define RED "\033[1;31m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define CLEAR_LINE "\r\033[K"
#define PROGRESS_MAX 70 /* columns */
#define WIDTH 80        /* of a terminal that doesn't tell */
#define WIDTH_MIN 10    /* a narrower one wraps lines */
#define LIVE "step.live"

static bool on_terminal(const struct run *run)
{
	return run->launch.stderr_is_tty;
}

/* A progress line stays until the next output. */
void notice_clear(struct run *run)
{
	if (run->progress_shown)
		outlet_write(&run->err, CLEAR_LINE, strlen(CLEAR_LINE), true);
	run->progress_shown = false;
}

static void emit(struct run *run, struct buf *line)
{
	notice_clear(run);
	outlet_write(&run->err, line->data, line->len, true);
	buf_release(line);
}

static const char *command_name(const struct run *run)
{
	return run->plan.command[0] ? run->plan.command : "runner";
}

static int64_t elapsed_ms(const struct run *run)
{
	return mono_elapsed_ms(run->launch.started, mono_now());
}

/* --- one line of either kind ------------------------------------------------------ */

struct line {
	struct run *run;
	struct buf out;
	struct json_writer w;
	struct buf text; /* what people read */
};

static void line_begin(struct line *l, struct run *run, const char *level, const char *event)
{
	*l = (struct line){ .run = run };
	l->w = (struct json_writer)JSON_WRITER_INIT(&l->out);
	json_begin_object(&l->w);
	json_key(&l->w, "level"), json_cstr(&l->w, level);
	json_key(&l->w, "event"), json_cstr(&l->w, event);
	json_key(&l->w, "command"), json_cstr(&l->w, command_name(run));
}

/* A value below `least` is unknown and becomes null. */
static void line_int(struct line *l, const char *key, int64_t v, int64_t least)
{
	json_key(&l->w, key);
	if (v < least)
		json_write_null(&l->w);
	else
		json_int(&l->w, v);
}

static void line_message(struct line *l)
{
	redact_buf(&l->text); /* on a terminal, too */
	json_key(&l->w, "message"), json_str(&l->w, buf_cstr(&l->text), l->text.len);
}

static void line_end(struct line *l)
{
	struct buf clean = BUF_INIT;

	if (on_terminal(l->run)) {
		text_clean(&clean, buf_cstr(&l->text), l->text.len);
		buf_add_char(&clean, '\n');
		emit(l->run, &clean);
	} else {
		json_end_object(&l->w);
		buf_add_char(&l->out, '\n');
		outlet_write(&l->run->err, l->out.data, l->out.len, true);
	}
	buf_release(&l->out);
	buf_release(&l->text);
}

/* --- progress and logs -------------------------------------------------------------- */

void notice_step(struct run *run, struct field name)
{
	struct buf line = BUF_INIT;

	if (!on_terminal(run) || run->plan.quiet)
		return;
	buf_add_str(&line, run->color ? DIM : "");
	buf_add_fmt(&line, "%s: ", command_name(run));
	text_clean(&line, name.s, name.n);
	buf_add_str(&line, run->color ? PLAIN "\n" : "\n");
	emit(run, &line);
}

/* A line that the terminal wraps could not be erased again. */
static size_t progress_width(const struct run *run)
{
	size_t columns = columns_of(run->err.fd);

	return columns == 0 || columns > PROGRESS_MAX ? PROGRESS_MAX : columns - 1;
}

void notice_progress(struct run *run, struct field text)
{
	struct buf line = BUF_INIT;

	if (!on_terminal(run) || run->plan.quiet || !run->color || text.n == 0)
		return;
	buf_add_str(&line, CLEAR_LINE);
	text_clean(&line, text.s, columns_cut(text, progress_width(run)));
	run->progress_shown = false;
	emit(run, &line);
	run->progress_shown = true;
}

void notice_log(struct run *run, const char *level, struct field message)
{
	struct line l;

	if (run->plan.quiet || (strcmp(level, "debug") == 0 && !run->plan.verbose))
		return;
	line_begin(&l, run, level, "log");
	if (on_terminal(run) && strcmp(level, "info") != 0)
		buf_add_fmt(&l.text, "%s: ", level);
	buf_add(&l.text, message.s, message.n);
	line_message(&l);
	line_end(&l);
}

static void line_str(struct line *l, const char *key, struct field text)
{
	json_key(&l->w, key);
	if (text.n > 0)
		json_str(&l->w, text.s, text.n);
	else
		json_write_null(&l->w);
}

static void line_context(struct line *l, struct field context)
{
	if (json_check(context.s, context.n) != JSON_OBJECT)
		return;
	json_key(&l->w, "context");
	json_raw(&l->w, context.s, context.n);
}

static void line_retry(struct line *l, const struct frame *f)
{
	line_int(l, "attempt", frame_int(f, F_attempt, -1), 0);
	line_int(l, "max_attempts", frame_int(f, F_max_attempts, -1), 0);
	line_str(l, "code", frame_str(f, F_code));
	line_message(l);
	line_int(l, "delay_ms", frame_int(f, F_delay_ms, -1), 0);
}

/* What a program says while it runs has one line of a terminal; there is a log of the rest. */
static void add_live(struct line *l, struct field text)
{
	size_t columns = columns_of(l->run->err.fd);
	size_t width = (columns == 0 ? WIDTH : columns < WIDTH_MIN ? WIDTH_MIN : columns) - 1;
	size_t n = columns_cut(text, width);

	if (n < text.n)
		n = columns_cut(text, width - 2); /* … may take two */
	buf_add(&l->text, text.s, n);
	buf_add_str(&l->text, n < text.n ? "…" : "");
}

void notice_event(struct run *run, const char *level, const struct frame *f)
{
	struct field message = frame_str(f, F_message);
	char event[64];
	struct line l;

	if (run->plan.quiet || (strcmp(level, "debug") == 0 && !run->plan.verbose))
		return;
	line_begin(&l, run, level, frame_copy(f, F_event, event, sizeof(event)));
	if (on_terminal(run) && strcmp(event, LIVE) == 0)
		add_live(&l, message);
	else
		buf_add(&l.text, message.s, message.n);
	if (frame_has(f, F_attempt))
		line_retry(&l, f);
	else
		line_message(&l);
	line_int(&l, "elapsed_ms", elapsed_ms(run), 0);
	line_context(&l, frame_str(f, F_context));
	line_end(&l);
}

/* --- retries ----------------------------------------------------------------------- */

/* What a retry line reports. max_attempts 0: unlimited; delay_ms -1, code NULL: none. */
struct retry {
	const char *event;
	int64_t attempt, max_attempts, delay_ms;
	const char *code;
	struct field message; /* of the failure */
};

static void describe_failed(const struct run *run, const struct retry *t, struct buf *text)
{
	buf_add_fmt(text, "%s failed (attempt %lld", command_name(run), (long long)t->attempt);
	if (t->max_attempts > 0)
		buf_add_fmt(text, "/%lld", (long long)t->max_attempts);
	buf_add_fmt(text, "): %s: ", t->code ? t->code : "");
	buf_add(text, t->message.s, t->message.n);
}

static void describe_wait(const struct run *run UNUSED, const struct retry *t, struct buf *text)
{
	int64_t tenths = t->delay_ms / 100 + (t->delay_ms % 100 + 50) / 100;

	buf_add_fmt(text, "Retrying in %lld.%lld seconds...", (long long)(tenths / 10),
	            (long long)(tenths % 10));
}

static void describe_succeeded(const struct run *run, const struct retry *t, struct buf *text)
{
	buf_add_fmt(text, "%s succeeded on attempt %lld", command_name(run), (long long)t->attempt);
}

static const struct retry_event {
	const char *name; /* in RETRY frames */
	const char *event, *level;
	void (*describe)(const struct run *run, const struct retry *t, struct buf *text);
} retry_events[] = {
	{ "failed", "retry.failed", "warn", describe_failed },
	{ "wait", "retry.wait", "info", describe_wait },
	{ "succeeded", "retry.succeeded", "info", describe_succeeded },
};

/* Write one line, always with the same keys, so that a log pipeline needs one schema
 * (docs/design.md#retry-lines). */
static void write_retry(struct run *run, const struct retry_event *row, const struct retry *t)
{
	struct line l;

	line_begin(&l, run, row->level, row->event);
	row->describe(run, t, &l.text);
	line_int(&l, "attempt", t->attempt, 0);
	line_int(&l, "max_attempts", t->max_attempts, 1);
	json_key(&l.w, "code"), json_cstr(&l.w, t->code);
	line_message(&l);
	line_int(&l, "delay_ms", t->delay_ms, 0);
	line_int(&l, "elapsed_ms", elapsed_ms(run), 0);
	line_end(&l);
}

static void write_retry_event(struct run *run, const struct retry *t)
{
	for (size_t i = 0; i < ARRAY_LEN(retry_events) && !run->plan.quiet; i++)
		if (strcmp(retry_events[i].name, t->event) == 0)
			write_retry(run, &retry_events[i], t);
}

static struct retry retry_of(const struct run *run, const char *event)
{
	int64_t retries = run->plan.policy.retries;

	return (struct retry){ .event = event, .attempt = run->attempts, .delay_ms = -1,
	                      .max_attempts = retries < 0 ? 0 : retries + 1 };
}

void notice_failed(struct run *run, const struct report *r, int64_t wait_ms)
{
	struct retry t = retry_of(run, "failed");

	t.code = r->code;
	t.message = (struct field){ .s = buf_cstr(&r->message), .n = r->message.len };
	t.delay_ms = wait_ms;
	write_retry_event(run, &t);
	t.event = "wait";
	write_retry_event(run, &t);
}

void notice_succeeded(struct run *run)
{
	struct retry t = retry_of(run, "succeeded");

	write_retry_event(run, &t);
}

void notice_inner_retry(struct run *run, const char *event, const struct frame *f)
{
	char code[REPORT_CODE];
	struct retry t = {
		.event = event,
		.attempt = frame_int(f, F_attempt, 0),
		.max_attempts = frame_int(f, F_max_attempts, 0),
		.delay_ms = frame_int(f, F_delay_ms, -1),
		.code = frame_has(f, F_code) ? frame_copy(f, F_code, code, sizeof(code)) : NULL,
		.message = frame_str(f, F_message),
	};

	write_retry_event(run, &t);
}

/* --- the verdict for people ------------------------------------------------------------ */

static void add_labelled(struct buf *out, const char *label, const struct buf *text)
{
	if (text->len == 0)
		return;
	buf_add_fmt(out, "  %s: ", label);
	text_clean(out, text->data, text->len);
	buf_add_char(out, '\n');
}

static void add_retry_line(const struct verdict *v, struct buf *out)
{
	char wait[32];

	buf_add_fmt(out, "  retryable: %s", v->exhausted ? "no, retries exhausted"
	                                    : v->hints.retryable == RETRYABLE_TRUE    ? "yes"
	                                    : v->hints.retryable == RETRYABLE_MAYBE   ? "maybe"
	                                                                              : "no");
	if (!v->exhausted && v->hints.retryable == RETRYABLE_TRUE)
		buf_add_fmt(out, v->hints.retry_after_ms > 0 ? ", after %s" : ", immediately",
		            duration_format(v->hints.retry_after_ms, wait));
	buf_add_char(out, '\n');
}

void notice_error(struct run *run, int exit_code)
{
	const struct report *r = &run->verdict.report;
	struct buf out = BUF_INIT, code = BUF_INIT;

	buf_add_fmt(&out, "%s%s: error: %s", run->color ? RED : "", command_name(run),
	            run->color ? PLAIN : "");
	text_clean(&out, buf_cstr(&r->message), r->message.len);
	buf_add_char(&out, '\n');
	buf_add_fmt(&code, "%s (exit %d)", r->code, exit_code);
	add_labelled(&out, "code", &code);
	add_retry_line(&run->verdict, &out);
	if (!strstr(buf_cstr(&r->message), buf_cstr(&r->fix_required))) /* else the message says it */
		add_labelled(&out, "fix", &r->fix_required);
	if (r->fix_required.len == 0 && hints_fix(&run->verdict.hints))
		buf_add_fmt(&out, "  fix: %s\n", hints_fix(&run->verdict.hints));
	add_labelled(&out, "run", &r->fix_command);
	add_labelled(&out, "hint", &r->suggestion);
	if (run->plan.verbose || strcmp(r->code, "INTERNAL_ERROR") == 0)
		add_labelled(&out, "detail", &r->detail);
	add_labelled(&out, "output", &r->output);
	emit(run, &out);
	buf_release(&code);
}

void notice_warning(struct run *run, struct field code, struct field message)
{
	struct line l;

	if (run->plan.format == FORMAT_JSON || run->plan.quiet)
		return; /* the envelope has it */
	line_begin(&l, run, "warn", "warning");
	json_key(&l.w, "code");
	json_str(&l.w, code.s, code.n);
	if (on_terminal(run))
		buf_add_fmt(&l.text, "%s: warning: ", command_name(run));
	buf_add(&l.text, message.s, message.n);
	line_message(&l);
	line_end(&l);
}

void notice_plain(struct run *run, const char *fmt, ...)
{
	struct buf out = BUF_INIT;
	va_list ap;

	buf_add_str(&out, "runner: ");
	va_start(ap, fmt);
	buf_add_vfmt(&out, fmt, ap);
	va_end(ap);
	buf_add_char(&out, '\n');
	emit(run, &out);
}
