/*
 * notice.c: text and JSON lines for stderr. Runs in the supervisor; decides nothing.
 */
#include "notice.h"

#include <ctype.h>
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

/* Off a terminal no person reads how a command is getting on; a log that is kept is read later
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
	if (line_is_text(run) || text.n == 0 || !run->plan.verbose)
		return;
	buf_clear(&run->beat.held);
	buf_add(&run->beat.held, text.s, text.n);
	notice_held(run, false);
}

void notice_held(struct run *run, bool must)
{
	struct buf *held = &run->beat.held;

	if (held->len == 0 || (!must && outlet_waiting(&run->err)))
		return;
	add_event(run, "progress", (struct field){ .s = held->data, .n = held->len });
	buf_clear(held);
}

void notice_step(struct run *run, struct field name)
{
	struct buf line = BUF_INIT;

	notice_held(run, true);
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

/* What has been said by the person who said no, or by the call of several that has failed (lua/commands/several.lua): a line says the rest. */
static bool is_told(const struct run *run, const struct report *r)
{
	return (strcmp(r->code, "CALLS_FAILED") == 0 && strcmp(run->plan.command, "several") == 0) ||
	       (strcmp(r->code, "CONFIRMATION_REQUIRED") == 0 && strstr(buf_cstr(&r->message), "was not confirmed, and nothing was done"));
}

/* --- nothing is said twice ------------------------------------------------------------- */

/* Words that add nothing to those that they stand among. */
static bool is_filler(const char *word, size_t n)
{
	static const char *const fillers[] = { "a", "did", "give", "it", "mean", "the", "use", "write", "you" };
	char low[8];

	if (n >= sizeof(low))
		return false;
	for (size_t i = 0; i < n; i++)
		low[i] = (char)(word[i] | 0x20);
	for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
		if (strlen(fillers[i]) == n && memcmp(fillers[i], low, n) == 0)
			return true;
	return false;
}

static bool is_mark(char c)
{
	return c == '\0' || isspace((unsigned char)c) || strchr("'\"()?:;,.", c) != NULL;
}

static bool has_word(const char *text, const char *word, size_t n)
{
	for (const char *at = text; (at = strchr(at, word[0])) != NULL; at++)
		if (strncmp(at, word, n) == 0 && (at == text || is_mark(at[-1])) && is_mark(at[n]))
			return true;
	return false;
}

/* Does a text have a word that those before it lack? */
static bool is_news(const char *text, const char *said)
{
	for (size_t n; *text != '\0'; text += n) {
		while (*text != '\0' && is_mark(*text))
			text++;
		for (n = 0; !is_mark(text[n]); n++)
			;
		if (n > 0 && !is_filler(text, n) && !has_word(said, text, n))
			return true;
	}
	return false;
}

static void add_news(const struct run *run, struct buf *out, const char *label, const char *text)
{
	struct buf copy = BUF_INIT;

	if (run->plan.verbose ? strstr(buf_cstr(out), text) == NULL : is_news(text, buf_cstr(out))) {
		buf_add_str(&copy, text);
		add_labelled(out, label, &copy);
	}
	buf_release(&copy);
}

/* What to do. Of two pieces of advice the nearer one, which is of this call; with --verbose both. A call that can be typed comes
 * first, and says what needs no other words. */
static void add_advice(const struct run *run, struct buf *out)
{
	const struct report *r = &run->verdict.report;
	const char *fix = r->fix_required.len > 0 ? buf_cstr(&r->fix_required) : hints_fix(&run->verdict.hints);

	add_labelled(out, "run", &r->fix_command);
	if (fix != NULL && (run->plan.verbose || r->suggestion.len == 0) && strcmp(fix, buf_cstr(&r->suggestion)) != 0)
		add_news(run, out, "fix", fix);
	if (r->suggestion.len > 0)
		add_news(run, out, "hint", buf_cstr(&r->suggestion));
}

/* The lines of a program's output but for the one that the message ends with. */
static void add_output(struct buf *out, const struct buf *message, const struct buf *output)
{
	struct buf left = BUF_INIT, line = BUF_INIT;

	for (const char *at = buf_cstr(output); *at != '\0';) {
		size_t blanks = strspn(at, " \n"), n = strcspn(at + blanks, "\n");

		line.len = 0;
		buf_add(&line, at + blanks, n);
		if (n > 0 && !(message->len >= n && strcmp(buf_cstr(message) + message->len - n, buf_cstr(&line)) == 0))
			buf_add_fmt(&left, "\n    %s", buf_cstr(&line));
		at += blanks + n;
	}
	add_labelled(out, "output", &left);
	buf_release(&left);
	buf_release(&line);
}

/* How it is called, where no call that can be typed is above it; or where the script is: "FILE:LINE" and the line itself, without the
 * first where the message has it. */
static void add_place(struct buf *out, const struct report *r)
{
	struct buf place = BUF_INIT;
	const char *text = buf_cstr(&r->place), *below = strchr(text, '\n');

	buf_add(&place, text, below ? (size_t)(below - text) : strlen(text));
	if (strncmp(text, "runner ", 7) == 0) {
		if (r->fix_command.len == 0)
			add_labelled(out, "usage", &r->place);
	} else if (place.len > 0 && strstr(buf_cstr(&r->message), buf_cstr(&place)) != NULL) {
		place.len = 0;
		if (below)
			buf_add_str(&place, below + 1 + strspn(below + 1, " "));
		add_labelled(out, "line", &place);
	} else {
		add_labelled(out, "at", &r->place);
	}
	buf_release(&place);
}

void notice_error(struct run *run, int exit_code)
{
	const struct report *r = &run->verdict.report;
	bool of_script = strcmp(r->code, "INTERNAL_ERROR") == 0 && r->place.len > 0;
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
	buf_add_fmt(&code, "%s (exit %d)%s", r->code, exit_code, of_script ? ", an error of the script" : "");
	add_labelled(&out, "code", &code);
	if (run->plan.verbose || run->verdict.exhausted || (run->verdict.hints.retryable != RETRYABLE_FALSE && !of_script))
		add_retry_line(&run->verdict, &out);
	add_advice(run, &out);
	if (run->plan.verbose || strcmp(r->code, "INTERNAL_ERROR") == 0)
		add_labelled(&out, "detail", &r->detail);
	add_output(&out, &r->message, &r->output);
	add_place(&out, r);
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
