/*
 * notice.c: text and JSON lines for stderr. Runs in the supervisor; decides nothing.
 */
#include "notice.h"

#include <stdarg.h>
#include <string.h>

#include "../common/json.h"
#include "columns.h"
#include "line.h"

#define RED "\033[1;31m"
#define PLAIN "\033[0m"
#define WIDTH 80        /* of a terminal that doesn't tell */
#define WIDTH_MIN 10    /* a narrower one wraps lines */
#define LIVE "step.live"

/* --- progress and logs -------------------------------------------------------------- */

/* Off a terminal nobody reads how a command is getting on; a log that is kept is read later
 * (REQ-F-038). */
static bool is_wanted(const struct run *run, const char *level)
{
	bool watched = (line_is_text(run) && !run->launch.ci) || run->launch.log_kept;

	if (run->plan.quiet)
		return false;
	if (run->plan.verbose)
		return true;
	return strcmp(level, "debug") != 0 && (watched || strcmp(level, "info") != 0);
}

/* What a terminal shows of its own accord is a line elsewhere, where the caller wants to see all. */
static void add_event(struct run *run, const char *event, struct field text)
{
	struct line l;

	if (!run->plan.verbose || run->plan.quiet)
		return;
	line_begin(&l, run, "info", event);
	buf_add(&l.text, text.s, text.n);
	line_message(&l);
	line_end(&l);
}

void notice_progress(struct run *run, struct field text)
{
	for (; text.n > 0 && text.s[0] == ' '; text.s++) /* it is aligned for a line that is rewritten */
		text.n--;
	if (!line_is_text(run) && text.n > 0)
		add_event(run, "progress", text);
}

void notice_step(struct run *run, struct field name)
{
	struct buf line = BUF_INIT;

	if (!line_is_text(run))
		return add_event(run, "step", name);
	if (!is_wanted(run, "info") || block_is_wanted(run))
		return;
	line_add_command(&line, run);
	buf_add_str(&line, ": ");
	text_clean(&line, name.s, name.n);
	buf_add_char(&line, '\n');
	line_emit(run, &line);
}

void notice_log(struct run *run, const char *level, struct field message)
{
	struct line l;

	if (!is_wanted(run, level))
		return;
	line_begin(&l, run, level, "log");
	if (line_is_text(run) && strcmp(level, "info") != 0)
		buf_add_fmt(&l.text, "%s: ", level);
	buf_add(&l.text, message.s, message.n);
	line_message(&l);
	line_end(&l);
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
	size_t columns = columns_of(l->run->err.to.fd);
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
	if (line_is_text(run) && strcmp(event, LIVE) == 0)
		add_live(&l, message);
	else
		buf_add(&l.text, message.s, message.n);
	if (frame_has(f, F_attempt))
		line_retry(&l, f);
	else
		line_message(&l);
	line_elapsed(&l);
	line_context(&l, frame_str(f, F_context));
	line_end(&l);
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

/* What has been said by whoever said no, or by the call of several that has failed (lua/commands/several.lua): a line says the rest. */
static bool is_told(const struct run *run, const struct report *r)
{
	return (strcmp(r->code, "CALLS_FAILED") == 0 && strcmp(run->plan.command, "several") == 0) ||
	       (strcmp(r->code, "CONFIRMATION_REQUIRED") == 0 && strstr(buf_cstr(&r->message), "was not confirmed, and nothing was done"));
}

/* What to do. Of two pieces of advice the nearer one, which is of this call; with --verbose both. */
static void add_advice(const struct run *run, struct buf *out)
{
	const struct report *r = &run->verdict.report;
	const char *fix = r->fix_required.len > 0 ? buf_cstr(&r->fix_required) : hints_fix(&run->verdict.hints);
	bool is_said = fix == NULL || strstr(buf_cstr(&r->message), fix) || strcmp(fix, buf_cstr(&r->suggestion)) == 0;

	if (!is_said && (run->plan.verbose || r->suggestion.len == 0)) {
		struct buf text = BUF_INIT;

		buf_add_str(&text, fix);
		add_labelled(out, "fix", &text);
		buf_release(&text);
	}
	add_labelled(out, "run", &r->fix_command);
	add_labelled(out, "hint", &r->suggestion);
}

void notice_error(struct run *run, int exit_code)
{
	const struct report *r = &run->verdict.report;
	struct buf out = BUF_INIT, code = BUF_INIT;

	if (is_told(run, r)) {
		text_clean(&out, buf_cstr(&r->message), r->message.len);
		buf_add_char(&out, '\n');
		line_emit(run, &out);
		return;
	}
	buf_add_str(&out, run->color ? RED : "");
	line_add_command(&out, run);
	buf_add_fmt(&out, ": error: %s", run->color ? PLAIN : "");
	text_clean(&out, buf_cstr(&r->message), r->message.len);
	buf_add_char(&out, '\n');
	buf_add_fmt(&code, "%s (exit %d)", r->code, exit_code);
	add_labelled(&out, "code", &code);
	if (run->plan.verbose || run->verdict.exhausted || run->verdict.hints.retryable != RETRYABLE_FALSE)
		add_retry_line(&run->verdict, &out);
	add_advice(run, &out);
	if (run->plan.verbose || strcmp(r->code, "INTERNAL_ERROR") == 0)
		add_labelled(&out, "detail", &r->detail);
	add_labelled(&out, "output", &r->output);
	add_labelled(&out, strncmp(buf_cstr(&r->place), "runner ", 7) == 0 ? "usage" : "at", &r->place);
	line_emit(run, &out);
	buf_release(&code);
}

void notice_warning(struct run *run, struct field code, struct field message)
{
	struct line l;

	if (run->plan.format == FORMAT_JSON || run->plan.quiet)
		return; /* the envelope has it */
	run->warned += (int64_t)(code.n + message.n);
	if (run->plan.max_bytes > 0 && run->warned > run->plan.max_bytes) {
		run->unwarned++;
		return;
	}
	line_begin(&l, run, "warn", "warning");
	json_key(&l.w, "code");
	json_str(&l.w, code.s, code.n);
	if (line_is_text(run)) {
		line_add_command(&l.text, run);
		buf_add_str(&l.text, ": warning: ");
	}
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
	line_emit(run, &out);
}
