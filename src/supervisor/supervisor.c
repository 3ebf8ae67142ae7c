/*
 * supervisor.c: attempts until there is a verdict, then one envelope and one
 * exit status. The process that the caller sees.
 */
#include "supervisor.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/xio.h"
#include "attempt.h"
#include "entry.h"
#include "envelope.h"
#include "notice.h"
#include "pause.h"
#include "signals.h"

#define STDERR_DRAIN_MS 1000

/* --- warnings ---------------------------------------------------------------------- */

int64_t run_repeats(const struct run *run)
{
	return run->attempts - 1 + run->inner_repeats;
}

void run_warn_bytes(struct run *run, struct field code, struct field message, struct field context)
{
	struct json_writer w = JSON_WRITER_INIT(&run->warnings);

	if (run->warning_count >= WARNINGS_MAX) {
		run->warnings_dropped++;
		return;
	}
	notice_warning(run, code, message);
	w.need_comma = run->warning_count++ > 0;
	json_begin_object(&w);
	json_key(&w, "code");
	json_str(&w, code_well_formed(code.s, code.n) ? code.s : "WARNING",
	         code_well_formed(code.s, code.n) ? code.n : 7);
	json_key(&w, "message");
	json_str(&w, message.s, MIN_OF(message.n, MESSAGE_MAX));
	if (json_check(context.s, context.n) == JSON_OBJECT) {
		json_key(&w, "context");
		json_raw(&w, context.s, context.n);
	}
	json_end_object(&w);
}

static struct field as_field(const char *s)
{
	return (struct field){ .s = s ? s : "", .n = s ? strlen(s) : 0 };
}

void run_warn(struct run *run, const char *code, const char *message, const char *context)
{
	run_warn_bytes(run, as_field(code), as_field(message), as_field(context));
}

static void warn_counted(struct run *run, const char *code, const char *message, const char *key,
                         int64_t count, const struct buf *text)
{
	struct buf context = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&context);

	json_begin_object(&w);
	json_key(&w, key);
	json_int(&w, count);
	if (text) {
		json_key(&w, "text");
		json_str(&w, buf_cstr(text), text->len);
	}
	json_end_object(&w);
	run_warn(run, code, message, buf_cstr(&context));
	buf_release(&context);
}

/* Text that anything but us wrote to fd 1 (REQ-F-060). */
static void warn_about_stdout(struct run *run)
{
	struct buf text = BUF_INIT;

	if (run->stdout_tap.total == 0)
		return;
	tap_text(&run->stdout_tap, &text);
	warn_counted(run, "THIRD_PARTY_STDOUT",
	             "The command wrote to stdout; the text went to stderr", "bytes",
	             (int64_t)run->stdout_tap.total, &text);
	buf_release(&text);
}

/* --- may we try again? ---------------------------------------------------------------- */

static struct hints resolve(struct run *run, const struct report *r)
{
	struct declared_codes declared = { run->plan.codes, run->plan.code_count };
	struct hints h = hints_resolve(r->code, &r->own, &declared, run->plan.table);

	/* an argument's row may name a code of its own (design §4) */
	if (!h.known && r->verdict == VERDICT_RESULT && !r->entered_run)
		h = hints_resolve("VALIDATION_ERROR", &r->own, &declared, run->plan.table);
	if (!r->entered_run)
		h.side_effects = SIDE_EFFECTS_NONE;
	return h;
}

/* A code that neither the registry nor the command knows (design §3). */
static void refuse_undeclared(struct report *r)
{
	struct buf told = BUF_INIT;
	char code[REPORT_CODE];

	strcpy(code, r->code);
	buf_add(&told, r->message.data, r->message.len);
	report_fail(r, "UNDECLARED_EXIT_CODE", "The command raised the undeclared code %s: %s", code,
	            buf_cstr(&told));
	r->own = (struct own_hints)OWN_HINTS_NONE;
	buf_release(&told);
}

static void note_effects(struct run *run, const struct hints *h)
{
	if (h->side_effects == SIDE_EFFECTS_PARTIAL || run->worst_effects == SIDE_EFFECTS_INHERIT)
		run->worst_effects = h->side_effects;
	else if (h->side_effects > run->worst_effects)
		run->worst_effects = h->side_effects;
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

/* POLICY_WAIT with *wait_ms, or the reason why this failure is the end. */
static enum policy_verdict ask_policy(struct run *run, const struct report *r, int64_t *wait_ms)
{
	struct policy_question q = {
		.made = run->plan.one_budget ? run_repeats(run) : run->attempts - 1,
		.position = run->attempts - 1,
		.own_wait_ms = r->own.retry_after_ms,
		.left_ms = left_ms(run),
	};
	enum policy_verdict verdict = policy_decide(&run->plan.policy, &q, wait_ms);

	if (verdict == POLICY_WAIT && stdin_is_spent(run)) {
		run_warn(run, "STDIN_CONSUMED",
		         "No retry: stdin is a pipe that the first attempt has read", NULL);
		return POLICY_AS_RAISED;
	}
	if (verdict == POLICY_BUDGET)
		run_warn(run, "RETRY_BUDGET", "No retry: the wait does not fit into the time that is left",
		         NULL);
	return verdict;
}

/* --- one attempt after another ---------------------------------------------------------- */

/* What attempt n + 1 is told of attempt n. The strings live until the next. */
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
}

/* Wait out a backoff; stderr and Ctrl+Z go on. False when a signal ends it. */
static bool wait_for(struct run *run, int64_t ms)
{
	mono_t until = mono_add_ms(mono_now(), ms);
	mono_t unused = 0;

	while (!signals_cancelled() && mono_now() < until) {
		struct pollfd p = { .fd = outlet_waiting(&run->err) ? run->err.fd : -1, .events = POLLOUT };
		struct timespec ts;

		ppoll(&p, 1, mono_left(until, mono_now(), &ts), signals_open_mask());
		outlet_flush(&run->err);
		if (signals_take(SIGTSTP))
			pause_run(run, &unused);
		until += unused, unused = 0;
	}
	return !signals_cancelled();
}

static void cancel_in_wait(struct run *run)
{
	struct report *r = &run->final;

	r->verdict = VERDICT_SIGNAL;
	r->signal = signals_cancelled();
	r->own = (struct own_hints)OWN_HINTS_NONE;
	report_word(r);
	run->hints = resolve(run, r);
}

/* After an attempt that reached run, a later one that fails before it never
 * becomes the verdict (design §5); the earlier error stays. */
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
	                 : "A further attempt failed before it began; the earlier error stands",
	         NULL);
	return true;
}

/* One attempt. True: the run is over, run->final and run->hints are set. */
static bool try_once(struct run *run)
{
	struct report r;
	enum policy_verdict verdict;
	int64_t wait_ms = -1;

	run->launch.attempt = (int)run->attempts + 1;
	run->launch.repeats_made = run->attempts ? run_repeats(run) + 1 : 0;
	attempt_run(run, &r);
	if (is_rejected(run, &r))
		return report_release(&r), true;
	report_move(&run->final, &r);
	if (run->final.ok)
		return true;
	run->hints = resolve(run, &run->final);
	if (!run->hints.known) {
		refuse_undeclared(&run->final);
		run->hints = resolve(run, &run->final);
	}
	note_effects(run, &run->hints);
	if (!may_retry(run, &run->final, &run->hints))
		return envelope_add_history(run, &run->final, -1), true;
	verdict = ask_policy(run, &run->final, &wait_ms);
	run->exhausted = verdict == POLICY_EXHAUSTED;
	if (verdict != POLICY_WAIT)
		return envelope_add_history(run, &run->final, -1), true;
	envelope_add_history(run, &run->final, wait_ms);
	notice_failed(run, &run->final);
	notice_wait(run, wait_ms);
	brief(run, &run->final);
	if (!wait_for(run, wait_ms))
		return cancel_in_wait(run), true;
	return false;
}

/* --- the end ------------------------------------------------------------------------------ */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

static int exit_code_of(const struct run *run)
{
	const struct report *r = &run->final;

	if (r->ok)
		return 0;
	if (r->verdict == VERDICT_SIGNAL)
		return r->signal == SIGINT ? 130 : 143;
	/* 2 promises that nothing was touched (design §3) */
	if (run->hints.entry == EXIT_ENTRY_ARG_ERROR && r->entered_run)
		return 1;
	return run->hints.exit_code;
}

/* The success of a run can still fail at its end. */
static void judge_success(struct run *run)
{
	struct report *r = &run->final;

	if (!r->ok || !run->plan.warnings_as_errors || run->warning_count == 0)
		return;
	report_fail(r, "WARNINGS_AS_ERRORS", "The command succeeded with %d warning%s",
	            run->warning_count, run->warning_count == 1 ? "" : "s");
	strcpy(r->phase, "execution");
	r->own.side_effects = SIDE_EFFECTS_COMPLETE;
	run->hints = resolve(run, r);
	note_effects(run, &run->hints);
}

static bool is_text(const struct run *run)
{
	return run->final.ok ? run->plan.format != FORMAT_JSON
	                     : run->launch.stdout_is_tty && run->plan.format != FORMAT_JSON;
}

static void compose(struct run *run, int exit_code, struct buf *out)
{
	const struct report *r = &run->final;

	if (!is_text(run)) {
		envelope_write(run, exit_code, out);
	} else if (r->ok) {
		buf_add(out, r->text.data, r->text.len);
	} else {
		notice_error(run, exit_code);
		if (r->verdict == VERDICT_LIMIT || r->verdict == VERDICT_SIGNAL)
			envelope_step_text(run, out);
	}
}

/* A reader that left after rows of a safe command has what it wanted. */
static bool reader_has_enough(const struct run *run, int error)
{
	return error == EPIPE && run->final.ok && run->plan.safe && run->final.rows > 0 &&
	       (run->plan.format == FORMAT_JSONL || run->plan.format == FORMAT_TSV ||
	        run->plan.format == FORMAT_PLAIN);
}

/* The exit status: what could not be written counts (design §4). */
static int deliver(struct run *run, int exit_code, const struct buf *out)
{
	struct outlet stdout_outlet;
	int error, status;

	outlet_init(&stdout_outlet, run->stdout_fd);
	if (out->failed)
		outlet_write(&stdout_outlet, envelope_last_resort(), strlen(envelope_last_resort()), false);
	else
		outlet_write(&stdout_outlet, out->data, out->len, false);
	status = outlet_drain(&stdout_outlet, MONO_NEVER);
	error = stdout_outlet.error;
	outlet_release(&stdout_outlet);
	if (status == 0 || reader_has_enough(run, error))
		return out->failed ? 12 : exit_code;
	if (out->len == 0 && run->stdout_fd >= 0)
		return exit_code;
	notice_plain(run, "OUTPUT_FAILED: can't write the result to stdout: %s",
	             error ? strerror(error) : "cancelled while waiting for its reader");
	return exit_code == 0 ? 1 : exit_code;
}

static int finish(struct run *run)
{
	struct buf out = BUF_INIT;
	int exit_code;

	if (run->session_dir_made)
		nftw(run->session_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	warn_about_stdout(run);
	if (run->final.ok && run_repeats(run) > 0 && run->attempts > 1)
		notice_succeeded(run);
	if (!run->exhausted && !run->final.ok && run->final.exhausted > 0 && run->attempts == 1)
		run->exhausted = true;
	judge_success(run);
	if (run->warnings_dropped > 0) {
		run->warning_count = WARNINGS_MAX - 1;
		warn_counted(run, "WARNINGS_DROPPED", "More warnings came than are kept", "dropped",
		             run->warnings_dropped, NULL);
	}
	exit_code = exit_code_of(run);
	compose(run, exit_code, &out);
	exit_code = deliver(run, exit_code, &out);
	outlet_drain(&run->err, mono_add_ms(mono_now(), STDERR_DRAIN_MS));
	if (run->plan.interactive)
		pause_restore_terminal();
	buf_release(&out);
	return exit_code;
}

int supervisor_main(int argc, char **argv, worker_fn *worker)
{
	static struct run run;

	run.launch.started = mono_now();
	if (entry_prepare(&run, argc, argv, worker) < 0) {
		(void)!write(1, envelope_last_resort(), strlen(envelope_last_resort()));
		return 12;
	}
	while (!try_once(&run))
		;
	return finish(&run);
}
