/*
 * notice.c: words for stderr. Runs in the supervisor; decides nothing.
 */
#include "notice.h"

#include <stdarg.h>
#include <string.h>

#include "../common/json.h"

#define RED "\033[1;31m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define CLEAR_LINE "\r\033[K"

static bool on_terminal(const struct run *run)
{
	return run->launch.stderr_is_tty;
}

static void emit(struct run *run, struct buf *line)
{
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

static void line_int(struct line *l, const char *key, int64_t v)
{
	json_key(&l->w, key);
	json_int(&l->w, v);
}

static void line_str(struct line *l, const char *key, const char *s)
{
	json_key(&l->w, key);
	json_cstr(&l->w, s);
}

static void line_end(struct line *l)
{
	struct buf clean = BUF_INIT;

	if (on_terminal(l->run)) {
		text_clean(&clean, buf_cstr(&l->text), l->text.len);
		buf_add_char(&clean, '\n');
		emit(l->run, &clean);
	} else {
		json_key(&l->w, "message");
		json_str(&l->w, buf_cstr(&l->text), l->text.len);
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

void notice_progress(struct run *run, struct field text)
{
	struct buf line = BUF_INIT;

	if (!on_terminal(run) || run->plan.quiet || !run->color || text.n == 0)
		return;
	buf_add_str(&line, CLEAR_LINE);
	text_clean(&line, text.s, MIN_OF(text.n, 70));
	buf_add_str(&line, "\r");
	emit(run, &line);
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
	line_end(&l);
}

/* --- retries ----------------------------------------------------------------------- */

static void attempt_members(struct line *l, int64_t attempt, int64_t max_attempts)
{
	line_int(l, "attempt", attempt);
	if (max_attempts > 0)
		line_int(l, "max_attempts", max_attempts);
}

static void say_failed(struct run *run, int64_t attempt, int64_t max_attempts, const char *code,
                       const char *message, size_t n)
{
	struct line l;

	line_begin(&l, run, "warn", "retry.failed");
	attempt_members(&l, attempt, max_attempts);
	line_str(&l, "code", code);
	line_int(&l, "elapsed_ms", elapsed_ms(run));
	if (max_attempts > 0)
		buf_add_fmt(&l.text, "%s failed (attempt %lld/%lld): %s: ", command_name(run),
		            (long long)attempt, (long long)max_attempts, code);
	else
		buf_add_fmt(&l.text, "%s failed (attempt %lld): %s: ", command_name(run),
		            (long long)attempt, code);
	buf_add(&l.text, message, n);
	line_end(&l);
}

static void say_wait(struct run *run, int64_t attempt, int64_t delay_ms)
{
	struct line l;
	int64_t tenths = (delay_ms + 50) / 100;

	line_begin(&l, run, "info", "retry.wait");
	line_int(&l, "attempt", attempt);
	line_int(&l, "delay_ms", delay_ms);
	line_int(&l, "elapsed_ms", elapsed_ms(run));
	buf_add_fmt(&l.text, "Retrying in %lld.%lld seconds...", (long long)(tenths / 10),
	            (long long)(tenths % 10));
	line_end(&l);
}

static void say_succeeded(struct run *run, int64_t attempt, int64_t max_attempts)
{
	struct line l;

	line_begin(&l, run, "info", "retry.succeeded");
	attempt_members(&l, attempt, max_attempts);
	line_int(&l, "elapsed_ms", elapsed_ms(run));
	buf_add_fmt(&l.text, "%s succeeded on attempt %lld", command_name(run), (long long)attempt);
	line_end(&l);
}

static int64_t max_attempts(const struct run *run)
{
	return run->plan.policy.retries < 0 ? 0 : run->plan.policy.retries + 1;
}

void notice_failed(struct run *run, const struct report *r)
{
	if (!run->plan.quiet)
		say_failed(run, run->attempts, max_attempts(run), r->code, buf_cstr(&r->message),
		           r->message.len);
}

void notice_wait(struct run *run, int64_t delay_ms)
{
	if (!run->plan.quiet)
		say_wait(run, run->attempts, delay_ms);
}

void notice_succeeded(struct run *run)
{
	if (!run->plan.quiet)
		say_succeeded(run, run->attempts, max_attempts(run));
}

void notice_inner_retry(struct run *run, const char *event, const struct frame *f)
{
	int64_t attempt = frame_int(f, F_attempt, 0);
	int64_t most = frame_int(f, F_max_attempts, 0);
	struct field message = frame_str(f, F_message);
	char code[REPORT_CODE];

	if (run->plan.quiet)
		return;
	if (strcmp(event, "failed") == 0)
		say_failed(run, attempt, most, frame_copy(f, F_code, code, sizeof(code)), message.s,
		           message.n);
	else if (strcmp(event, "wait") == 0)
		say_wait(run, attempt, frame_int(f, F_delay_ms, 0));
	else if (strcmp(event, "succeeded") == 0)
		say_succeeded(run, attempt, most);
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

static void add_retry_line(struct run *run, struct buf *out)
{
	char wait[32];

	buf_add_fmt(out, "  retryable: %s", run->exhausted ? "no, all retries are used up"
	                                    : run->hints.retryable == RETRYABLE_TRUE    ? "yes"
	                                    : run->hints.retryable == RETRYABLE_MAYBE   ? "maybe"
	                                                                                : "no");
	if (!run->exhausted && run->hints.retryable == RETRYABLE_TRUE)
		buf_add_fmt(out, run->hints.retry_after_ms > 0 ? ", after %s" : ", at once",
		            duration_format(run->hints.retry_after_ms, wait));
	buf_add_char(out, '\n');
}

void notice_error(struct run *run, int exit_code)
{
	const struct report *r = &run->final;
	struct buf out = BUF_INIT, code = BUF_INIT;

	buf_add_fmt(&out, "%s%s: error: %s", run->color ? RED : "", command_name(run),
	            run->color ? PLAIN : "");
	text_clean(&out, buf_cstr(&r->message), r->message.len);
	buf_add_char(&out, '\n');
	buf_add_fmt(&code, "%s (exit %d)", r->code, exit_code);
	add_labelled(&out, "code", &code);
	add_retry_line(run, &out);
	add_labelled(&out, "fix", &r->fix_required);
	add_labelled(&out, "run", &r->fix_command);
	add_labelled(&out, "hint", &r->suggestion);
	if (run->plan.verbose || strcmp(r->code, "INTERNAL_ERROR") == 0)
		add_labelled(&out, "detail", &r->detail);
	emit(run, &out);
	buf_release(&code);
}

void notice_warning(struct run *run, struct field code, struct field message)
{
	struct buf out = BUF_INIT;

	if (run->plan.format != FORMAT_TEXT || run->plan.quiet)
		return; /* the envelope has it */
	buf_add_fmt(&out, "%s: warning: ", command_name(run));
	text_clean(&out, message.s, message.n);
	buf_add_str(&out, " (");
	text_clean(&out, code.s, code.n);
	buf_add_str(&out, ")\n");
	emit(run, &out);
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
