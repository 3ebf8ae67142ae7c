/*
 * notice_retry.c: the lines about retries, of whole attempts and of loops inside a command.
 * Runs in the supervisor; decides nothing.
 */
#include <string.h>

#include "line.h"
#include "notice.h"

/* What a retry line reports. max_attempts 0: unlimited; delay_ms -1, code NULL: none. */
struct retry {
	const char *event;
	int64_t attempt, max_attempts, delay_ms;
	const char *code;
	struct field message; /* of the failure */
};

static void describe_failed(const struct run *run, const struct retry *t, struct buf *text)
{
	line_add_command(text, run);
	buf_add_fmt(text, " failed (attempt %lld", (long long)t->attempt);
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
	line_add_command(text, run);
	buf_add_fmt(text, " succeeded on attempt %lld", (long long)t->attempt);
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
	line_elapsed(&l);
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
