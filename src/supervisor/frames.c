/*
 * frames.c: one small function for each kind of frame. Runs in the supervisor.
 */
#include "frames.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/xio.h"
#include "../engine/keep.h"
#include "audit.h"
#include "guard.h"
#include "job.h"
#include "notice.h"
#include "warn.h"

struct taking {
	struct frames *f;
	struct run *run;
	struct report *r;
	const struct frame *frame;
};

static int64_t load_limit_ms(void)
{
	const char *text = getenv("RUNNER_LOAD_TIMEOUT");
	int64_t ms;

	if (text && *text && duration_parse(text, strlen(text), &ms) == 0)
		return ms;
	return DEFAULT_load_timeout_ms;
}

void frames_init(struct frames *f, mono_t now)
{
	*f = (struct frames){ .decoder = FRAME_DECODER_INIT, .last_sign = now, .load_ms = load_limit_ms() };
}

void frames_release(struct frames *f)
{
	frame_decoder_release(&f->decoder);
}

bool frames_may_idle(const struct frames *f, const struct report *r)
{
	return r->entered_run && f->holds <= 0;
}

/* --- one per kind ------------------------------------------------------------------ */

static void take_exit(struct taking *t)
{
	plan_take_exit(&t->run->plan, t->frame);
}

static void take_plan(struct taking *t)
{
	plan_take(&t->run->plan, t->frame);
	t->run->color = t->run->color && !t->run->plan.no_color;
	t->f->planned = true;
	steps_declare(&t->r->steps, t->frame);
}

static void note_change(struct taking *t)
{
	t->f->changed = mono_now();
	t->f->changed_paused = t->run->paused;
}

static void take_run(struct taking *t)
{
	t->r->entered_run = true;
	t->f->stall_ms = MIN_OF(MAX_OF(frame_int(t->frame, F_idle_timeout_ms, 0), 0), DURATION_MAX_MS);
	note_change(t);
	plan_take_run(&t->run->plan, t->frame);
	job_note(t->run, t->r);
}

static void take_step(struct taking *t)
{
	t->r->steps.paused = t->run->paused;
	steps_take(&t->r->steps, t->frame);
	job_note(t->run, t->r);
	notice_step(t->run, frame_str(t->frame, F_name));
	picture_step(t->run, &t->r->steps);
}

static bool is_lanes(const struct frame *f)
{
	char state[16];

	return strcmp(frame_copy(f, F_state, state, sizeof(state)), "lanes") == 0;
}

static void take_progress(struct taking *t)
{
	struct field data = frame_str(t->frame, F_data);

	if (frame_has(t->frame, F_steps) && is_lanes(t->frame))
		picture_lanes(t->run, t->frame);
	else if (frame_has(t->frame, F_steps))
		block_steps(t->run, t->frame);
	if (json_check(data.s, data.n) == JSON_INVALID)
		return;
	if (data.n != t->r->progress.len || memcmp(data.s, t->r->progress.data, data.n) != 0)
		note_change(t);
	buf_clear(&t->r->progress);
	buf_add(&t->r->progress, data.s, data.n);
	t->r->progress_is_data = frame_has(t->frame, F_name);
	report_take_resume_hint(t->r, t->frame);
	job_note(t->run, t->r);
	beat_say(t->run, frame_str(t->frame, F_text));
	picture_progress(t->run, frame_str(t->frame, F_text));
	notice_progress(t->run, frame_str(t->frame, F_text));
}

static void take_log(struct taking *t)
{
	char level[16];

	frame_copy(t->frame, F_level, level, sizeof(level));
	if (frame_has(t->frame, F_event))
		notice_event(t->run, level, t->frame);
	else
		notice_log(t->run, level, frame_str(t->frame, F_message));
}

static void take_warn(struct taking *t)
{
	struct field code = frame_str(t->frame, F_code);

	if (code.n == strlen(PRINTED_CODE) && memcmp(code.s, PRINTED_CODE, code.n) == 0) {
		frame_copy(t->frame, F_message, t->run->printed, sizeof(t->run->printed));
		return;
	}
	run_warn_bytes(t->run, frame_str(t->frame, F_code), frame_str(t->frame, F_message),
	               frame_str(t->frame, F_context));
}

static void take_meta(struct taking *t)
{
	static const char of_error[] = "error.";
	size_t prefix = sizeof(of_error) - 1;
	char name[sizeof(of_error) + META_NAME];

	frame_copy(t->frame, F_name, name, sizeof(name));
	if (strncmp(name, of_error, prefix) == 0)
		metas_add_to_error(&t->r->extra, name + prefix, frame_str(t->frame, F_data));
	else
		metas_add(&t->run->metas, name, frame_str(t->frame, F_data));
}

static void take_called(struct run *run, int64_t made)
{
	made = MIN_OF(MAX_OF(made, 0), BOUND_retries);
	run->inner_repeats += made;
	run->called_repeats += made;
}

static void take_retry(struct taking *t)
{
	char event[16];

	frame_copy(t->frame, F_event, event, sizeof(event));
	if (strcmp(event, "repeat") == 0)
		t->run->inner_repeats++;
	else if (strcmp(event, "called") == 0)
		take_called(t->run, frame_int(t->frame, F_attempt, 0));
	else
		notice_inner_retry(t->run, event, t->frame);
}

static void take_hold(struct taking *t)
{
	t->f->holds += frame_int(t->frame, F_change, 0) > 0 ? 1 : -1;
}

/* The worker waits for the answer: from now on the terminal is another process's, or ours again. */
static void take_terminal(struct taking *t)
{
	struct field text = frame_str(t->frame, F_text);

	if (frame_has(t->frame, F_change)) {
		secrets_rest(t->run, true);
		block_lend(t->run, frame_int(t->frame, F_change, 0) > 0 ? 1 : -1);
		(void)send(t->run->worker_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		secrets_pass(t->run, SECRETS_SAID, text.s, text.n);
	}
}

static void take_detach(struct taking *t)
{
	pid_t session = (pid_t)frame_int(t->frame, F_pid, 0);

	/* sparing our session or the worker's would keep the tree from ending */
	if (session > 1 && session != getsid(0) && session != t->run->worker_pid)
		spared_add(&t->run->spared, session);
}

/* The worker waits for the answer. */
static void take_guard(struct taking *t)
{
	guard_begin(t->run);
	(void)send(t->run->worker_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Said before it is made, and once more when it is: then we can lock it as well, so that
 * no other run takes it for a dead one's between two attempts. */
static void take_tempdir(struct taking *t)
{
	struct run *run = t->run;
	int fd;

	run->session_dir_made = true;
	if (run->session_dir_lock > 0)
		return;
	fd = xopen(run->session_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd > 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
		run->session_dir_lock = fd;
	else
		xclose(&fd);
}

static void take_secrets(struct taking *t)
{
	secrets_take(t->run, t->frame);
}

static void take_audit(struct taking *t)
{
	audit_take(&t->run->audit, t->frame);
}

static void take_emit(struct taking *t)
{
	if (!beat_take(t->run, t->frame))
		rows_take(t->run, t->frame);
}

static void take_attach(struct taking *t)
{
	char *whose = t->run->whose;

	if (!whose[0] && frame_copy(t->frame, F_state, whose, sizeof(t->run->whose))[0] && !keep_is_whose(whose))
		whose[0] = '\0';
	if (frame_has(t->frame, F_name))
		attached_take(&t->r->attached, t->frame);
}

static void take_text(struct taking *t)
{
	frame_move(t->frame, F_text, &t->r->text);
}

static void take_result(struct taking *t)
{
	t->r->steps.paused = t->run->paused;
	report_take_result(t->r, t->frame);
}

enum when {
	ALWAYS,
	WHILE_OPEN, /* ignored once a verdict has latched */
	BEFORE_RUN, /* … and from RUN on: what names a file comes from code that isn't confined yet */
};

/* A frame is data: what each may cause stands in docs/architecture.md#frames. */
static const struct {
	void (*take)(struct taking *t);
	enum when when;
} rows[FRAME_KIND_COUNT] = {
	[FRAME_EXIT] = { take_exit, WHILE_OPEN },
	[FRAME_PLAN] = { take_plan, WHILE_OPEN },
	[FRAME_SECRETS] = { take_secrets, ALWAYS },
	[FRAME_RUN] = { take_run, WHILE_OPEN },
	[FRAME_STEP] = { take_step, WHILE_OPEN },
	[FRAME_PROGRESS] = { take_progress, WHILE_OPEN },
	[FRAME_LOG] = { take_log, ALWAYS },
	[FRAME_WARN] = { take_warn, ALWAYS },
	[FRAME_META] = { take_meta, WHILE_OPEN },
	[FRAME_RETRY] = { take_retry, WHILE_OPEN },
	[FRAME_HOLD] = { take_hold, WHILE_OPEN },
	[FRAME_TERMINAL] = { take_terminal, ALWAYS },
	[FRAME_DETACH] = { take_detach, ALWAYS },
	[FRAME_GUARD] = { take_guard, ALWAYS },
	[FRAME_TEMPDIR] = { take_tempdir, ALWAYS },
	[FRAME_AUDIT] = { take_audit, BEFORE_RUN },
	[FRAME_EMIT] = { take_emit, WHILE_OPEN },
	[FRAME_ATTACH] = { take_attach, ALWAYS },
	[FRAME_TEXT] = { take_text, WHILE_OPEN },
	[FRAME_RESULT] = { take_result, WHILE_OPEN },
};

/* What goes on without the call is named in its answer, whatever has ended the call meanwhile. */
static bool is_hand_over(const struct frame *f)
{
	char name[META_NAME];

	if (f->kind == FRAME_META)
		return strcmp(frame_copy(f, F_name, name, sizeof(name)), "job_id") == 0;
	return f->kind == FRAME_PROGRESS && frame_has(f, F_state) && !frame_has(f, F_steps);
}

/* Nothing more of this stream is read, however much comes. */
static enum frames_status broken(struct frames *f, struct report *r, enum frame_kind kind,
                                 enum frame_status status)
{
	bool no_memory = f->decoder.in.failed;

	f->broken = true;
	frame_decoder_release(&f->decoder);
	if (no_memory)
		report_no_memory(r);
	else if (status == FRAME_OVERSIZE && (kind == FRAME_RESULT || kind == FRAME_TEXT))
		report_fail(r, "OUTPUT_TOO_LARGE", "The command's result is larger than 16 MiB");
	else
		report_fail(r, "COMMAND_CRASHED", "The command violated the supervisor protocol");
	return FRAMES_BROKEN;
}

/* Nothing that follows is taken: it may be another's, too. */
static enum frames_status intruded(struct frames *f, struct report *r, bool open)
{
	f->broken = true;
	frame_decoder_release(&f->decoder);
	if (!open)
		return FRAMES_MORE;
	if (f->intruder > 0)
		report_fail(r, "COMMAND_CRASHED", "Process %d, which isn't the command's own, wrote into its channel to runner",
		            (int)f->intruder);
	else
		report_fail(r, "COMMAND_CRASHED", "A process of another namespace wrote into the command's channel to runner");
	return FRAMES_BROKEN;
}

/* Is this a frame that nothing follows from now? Of two answers neither is believed. */
static bool is_passed_over(struct taking *t, bool open)
{
	enum when when = rows[t->frame->kind].when;

	if (t->frame->kind == FRAME_RESULT && t->f->answered)
		report_refuse(t->r, "COMMAND_CRASHED", "The command answered twice");
	return (when != ALWAYS && !open && !is_hand_over(t->frame)) || (when == BEFORE_RUN && t->r->entered_run);
}

enum frames_status frames_take(struct frames *f, struct run *run, struct report *r, bool open)
{
	struct frame frame;
	struct taking t = { f, run, r, &frame };
	enum frames_status result = FRAMES_MORE;
	enum frame_status status;

	f->last_sign = mono_now();
	if (f->intruder != 0 && !f->broken)
		return intruded(f, r, open);
	if (f->broken) {
		frame_decoder_release(&f->decoder);
		return FRAMES_MORE;
	}
	while ((status = frame_next(&f->decoder, &frame)) == FRAME_READY) {
		if (is_passed_over(&t, open))
			continue;
		if (run->secrets)
			secrets_hide(run, &frame);
		rows[frame.kind].take(&t);
		if (frame.kind == FRAME_RESULT) {
			open = false;
			f->answered = true;
			result = FRAMES_RESULT;
		}
	}
	if (status == FRAME_WANT_MORE)
		return result;
	if (open)
		return broken(f, r, frame.kind, status);
	f->broken = true;
	return result;
}
