/*
 * deliver.c: one answer on stdout and one exit status. Runs in the supervisor,
 * once; when it begins, no process of the run is left but what was spared.
 */
#include "deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/remover.h"
#include "../engine/os.h"
#include "audit.h"
#include "budget.h"
#include "decide.h"
#include "envelope.h"
#include "job.h"
#include "line.h"
#include "notice.h"
#include "pause.h"
#include "run.h"
#include "secrets.h"
#include "signals.h"
#include "warn.h"

/* Data that the caller hands over on stdin and that nothing of the run reads. */

/* Bytes that a pipe, a socket or a file has for its next reader; 0 of all else, as a terminal or /dev/null. */
static int64_t waiting(int fd, const struct stat *st)
{
	int n = 0;
	off_t at;

	if (S_ISREG(st->st_mode))
		return (at = lseek(fd, 0, SEEK_CUR)) >= 0 && st->st_size > at ? st->st_size - at : 0;
	if ((S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) && ioctl(fd, FIONREAD, &n) == 0)
		return n;
	return 0;
}

/* A caller that has the same stdin goes on to read it: a loop of a shell over lines, a script that is piped into
 * one. Where that can't be seen, it is taken to be so. */
static bool is_shared(pid_t caller, const struct stat *ours)
{
	struct stat theirs;

	if (caller <= 0) /* the first process of a container: its caller is outside */
		return false;
	switch (os_process_stdin(caller, &theirs)) {
	case 0:  return theirs.st_dev == ours->st_dev && theirs.st_ino == ours->st_ino;
	case 1:  return false;
	default: return true;
	}
}

/* Warn (STDIN_IGNORED) about what is left on stdin, where the run had no use for it and it was meant for us alone.
 * Never waits, and reads nothing. */
static void unread_warn(struct run *run)
{
	const struct report *r = &run->verdict.report;
	struct stat st;
	int64_t n;

	if (!r->entered_run || run->plan.reads_stdin || run->launch.stdin_is_tty)
		return;
	if ((fcntl(run->launch.stdin_fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return;
	if (fstat(run->launch.stdin_fd, &st) < 0 || (n = waiting(run->launch.stdin_fd, &st)) == 0)
		return;
	if (getenv("RUNNER_ARGUMENTS") || is_shared(run->caller, &st)) /* the first: what is there are arguments */
		return;
	run_warn_counted(run, "STDIN_IGNORED",
	                 "Nothing has read what came on stdin: the command declares no stdin, or takes it only with --input-file -",
	                 "bytes", n, NULL);
}

#define STDERR_DRAIN_MS 1000
#define SHOWN_MAX 60 /* bytes of a line that a warning repeats */
#define READER_MS 1000
#define REMOVE_TRIES 3
#define REMOVE_MS 2000       /* a larger directory is left for a later run to remove */
#define REMOVE_LATE_MS 300   /* the same after a limit or a signal, when the answer is due */

/* Warn about text that the command or its children wrote to fd 1, since stdout is
 * reserved for the envelope (REQ-F-060, docs/design.md#streams). */
static void warn_about_stdout(struct run *run)
{
	struct buf text = BUF_INIT, message = BUF_INIT;
	size_t n;

	if (run->stdout_tap.total == 0)
		return;
	tap_text(&run->stdout_tap, &text);
	secrets_hide_buf(run, &text); /* what came before they were known */
	n = strcspn(buf_cstr(&text), "\"\\\n");
	if (run->printed[0] != '\0')
		buf_add_fmt(&message, "%s: stdout is for the answer, so what print writes goes to stderr. ", run->printed);
	else
		buf_add_str(&message, "The command wrote to stdout, which is for its answer: the text went to stderr. ");
	if (run->printed[0] != '\0' && n > 0 && n <= SHOWN_MAX && text.len == n + 1 && buf_cstr(&text)[n] == '\n')
		buf_add_fmt(&message, "Write ctx:log(\"%.*s\"), or return it from run", (int)n, buf_cstr(&text));
	else
		buf_add_str(&message, "Return it from run, or write it with ctx:log");
	run_warn_counted(run, "THIRD_PARTY_STDOUT", buf_cstr(&message), "bytes", (int64_t)run->stdout_tap.total, &text);
	buf_release(&text);
	buf_release(&message);
}

/* Warns if it is still there: a file in it may be the caller's secret. */
static void warn_about_session_dir(struct run *run, const struct removal *left)
{
	struct buf context = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&context);

	json_begin_object(&w);
	json_key(&w, "path");
	json_cstr(&w, run->session_dir);
	json_key(&w, "left");
	json_cstr(&w, buf_cstr(&left->left));
	json_key(&w, "reason");
	json_cstr(&w, remover_reason(left));
	json_key(&w, "count");
	json_int(&w, left->left_count);
	json_end_object(&w);
	run_warn(run, "TEMPDIR_LEFT", "Can't remove the run's temporary directory", buf_cstr(&context));
	buf_release(&context);
}

/* The frame that announced it can be lost, but only in a run that failed. */
static void remove_session_dir(struct run *run)
{
	const struct report *r = &run->verdict.report;
	bool late = r->verdict == VERDICT_LIMIT || r->verdict == VERDICT_SIGNAL;
	struct removal removal = REMOVAL_INIT;
	int status = -1;

	if (!run->session_dir_made && r->ok)
		return;
	removal.deadline = mono_add_ms(mono_now(), late ? REMOVE_LATE_MS : REMOVE_MS);
	for (int i = 0; i < REMOVE_TRIES && status < 0 && (i == 0 || removal.reason != ETIMEDOUT); i++)
		status = remover_remove(&removal, run->session_dir);
	if (status < 0)
		warn_about_session_dir(run, &removal);
	buf_release(&removal.left);
}

/* REQ-F-078: "Connection refused after 3 attempts". An inner loop says so itself. */
static void say_attempts(struct run *run)
{
	struct verdict *v = &run->verdict;

	if (v->exhausted && !v->report.ok && v->report.exhausted == 0)
		buf_add_fmt(&v->report.message, " after %lld attempts", (long long)run_repeats(run) + 1);
}

/* With --warnings-as-errors, a success can still become a failure here. */
static void judge_success(struct run *run)
{
	struct report *r = &run->verdict.report;
	int count = run->warnings.count - run->warnings.told;

	if (!r->ok || !run->plan.warnings_as_errors || count == 0)
		return;
	report_fail(r, "WARNINGS_AS_ERRORS", "The command succeeded with %d warning%s",
	            count, count == 1 ? "" : "s");
	strcpy(r->phase, "execution");
	r->own.side_effects = run->plan.safe ? SIDE_EFFECTS_NONE : SIDE_EFFECTS_COMPLETE;
	run->verdict.hints = decide_hints(run, r);
	verdict_note_effects(&run->verdict, &run->verdict.hints);
}

static bool is_text(const struct run *run)
{
	return run->plan.format != FORMAT_JSON && (run->verdict.report.ok || run->launch.stdout_is_tty);
}

static void envelope_on_stderr(struct run *run, int exit_code)
{
	struct buf line = BUF_INIT;

	block_end(run);
	if (run->err_mid_line)
		outlet_write(&run->err, "\n", 1, false);
	budget_write(run, exit_code, &line);
	if (line.failed)
		outlet_write(&run->err, envelope_last_resort(), strlen(envelope_last_resort()), false);
	else
		outlet_write(&run->err, line.data, line.len, false);
	buf_release(&line);
}

/* Does stdout belong to what the command passes on or serves? Then ours is stderr. */
static bool is_raw(const struct run *run)
{
	const struct report *r = &run->verdict.report;

	return run->plan.output != OUTPUT_ANSWER &&
	       (r->entered_run || (run->plan.output == OUTPUT_PROTOCOL && !r->ok) ||
	        metas_have(&run->metas, "idempotency_hit"));
}

/* A server that ended well has said everything. */
static void answer_on_stderr(struct run *run, int exit_code)
{
	if (run->verdict.report.ok && (run->plan.output == OUTPUT_PROTOCOL || is_text(run)))
		return;
	if (is_text(run))
		notice_error(run, exit_code);
	else
		envelope_on_stderr(run, exit_code);
}

/*
 * A caller that puts the ids on stdout into another command line must find no JSON there (REQ-O-005); but a timeout never leaves
 * stdout empty (REQ-F-012).
 */
static bool hides_failure(const struct run *run)
{
	const struct report *r = &run->verdict.report;

	return run->plan.format == FORMAT_ID && !r->ok && !run->launch.stdout_is_tty && r->verdict != VERDICT_LIMIT &&
	       strcmp(r->code, "TIMEOUT") != 0;
}

static void compose(struct run *run, int exit_code, struct buf *out)
{
	struct report *r = &run->verdict.report;

	if (is_raw(run)) {
		answer_on_stderr(run, exit_code);
	} else if (hides_failure(run)) {
		envelope_on_stderr(run, exit_code);
	} else if (run->rows.streams && run->plan.format == FORMAT_JSONL && r->ok) {
		envelope_write_summary(run, exit_code, out);
	} else if (!is_text(run)) {
		budget_write(run, exit_code, out);
	} else if (r->ok) {
		budget_write_text(run, &r->text, out);
	} else {
		notice_error(run, exit_code);
		if (r->verdict == VERDICT_RESULT)
			budget_write_text(run, &r->text, out);
		/* a timeout never leaves stdout empty (REQ-F-012) */
		if (r->verdict == VERDICT_LIMIT || (r->entered_run && r->steps.count > 0 && !block_is_wanted(run)))
			envelope_step_text(run, out);
	}
}

/* A reader that left after rows of a safe command (head, say) has what it wanted. */
static bool reader_has_enough(const struct run *run, int error)
{
	return error == EPIPE && run->verdict.report.ok && run->plan.safe &&
	       (run->verdict.report.rows > 0 || run->rows.count > 0) &&
	       (run->plan.format == FORMAT_JSONL || run->plan.format == FORMAT_TSV ||
	        run->plan.format == FORMAT_PLAIN || run->plan.format == FORMAT_ID);
}

/*
 * How long the answer waits for its reader: until a signal comes. One that came after the verdict changed nothing, but
 * asked for the end as well: then the wait is short, and needs no second signal.
 */
static mono_t patience(const struct run *run)
{
	bool asked = signals_cancelled() && run->verdict.report.verdict != VERDICT_SIGNAL;

	return asked ? mono_add_ms(mono_now(), READER_MS) : MONO_NEVER;
}

/* The exit status: a success that could not be written is a failure
 * (docs/design.md#failed-writes). */
static int deliver(struct run *run, int exit_code, struct buf *out)
{
	bool failed = out->failed, empty = out->len == 0, rows = run->rows.opened;
	struct outlet *to = &run->rows.out;
	int error, status;

	if (!rows)
		outlet_init(to, run->stdout_fd);
	if (failed)
		outlet_write(to, envelope_last_resort(), strlen(envelope_last_resort()), false);
	else if (rows)
		outlet_write(to, out->data, out->len, false);
	else
		outlet_give(to, out);
	status = outlet_drain(to, patience(run));
	error = to->error;
	run->rows.opened = true;
	rows_release(run);
	beat_release(run);
	secrets_release(run);
	if (status == 0 || reader_has_enough(run, error))
		return failed ? 12 : exit_code;
	if (empty && !rows && run->stdout_fd >= 0)
		return exit_code;
	notice_plain(run, "OUTPUT_FAILED: can't write the result to stdout: %s",
	             error ? strerror(error) : "cancelled while waiting for the reader");
	return exit_code == 0 ? 1 : exit_code;
}

int deliver_verdict(struct run *run)
{
	struct verdict *v = &run->verdict;
	struct buf out = BUF_INIT;
	int exit_code;

	if (signals_orphaned())
		outlet_mute(&run->err);
	remove_session_dir(run);
	if (signals_orphaned()) {
		audit_end(run, verdict_exit_code(v));
		return verdict_exit_code(v);
	}
	warn_about_stdout(run);
	unread_warn(run);
	if (v->report.ok && run_repeats(run) > 0 && run->attempts > 1)
		notice_succeeded(run);
	if (!v->report.ok && v->report.exhausted > 0 && run->attempts == 1)
		v->exhausted = true;
	say_attempts(run);
	judge_success(run);
	attached_keep(run);
	budget_judge(run);
	audit_end(run, verdict_exit_code(v));
	run_warn_dropped(run);
	if (run->unwarned > 0)
		notice_plain(run, "%d more warnings have no room on stderr; --format json has them", run->unwarned);
	exit_code = verdict_exit_code(v);
	block_end(run);
	if (run->job.is) {
		exit_code = job_deliver(run, exit_code);
	} else {
		compose(run, exit_code, &out);
		exit_code = deliver(run, exit_code, &out);
	}
	outlet_drain(&run->err, mono_add_ms(mono_now(), STDERR_DRAIN_MS));
	/* otherwise a pager after a pipe may own the terminal by now */
	if (run->plan.interactive || run->launch.stdout_is_tty)
		pause_restore_terminal();
	buf_release(&out);
	return exit_code;
}
