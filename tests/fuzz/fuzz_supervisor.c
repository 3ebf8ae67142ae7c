/*
 * fuzz_supervisor.c: whatever workers send, and however they end, the run gives
 * exactly one valid envelope that agrees with its exit status, and clean lines
 * on stderr. No process is started: frames come from the input. The first plan rules,
 * nothing behind a verdict changes it, and frames that come at once mean what they
 * mean one by one: each input is played both ways.
 *
 * The input is either bytes off the wire (it begins with "RF") or lines:
 *
 *   KIND               a frame of that name begins
 *   field=value        its field; in lists ',' ends an item, 0x1e is a newline
 *   SIGNAL 15, LIMIT 2, GONE 139    how the attempt ends (else: exit status 0)
 *   AGAIN              another attempt, if the policy grants one
 *   TTY, COLOR         what stderr and stdout are
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../../src/common/json.h"
#include "../../src/supervisor/block.h"
#include "../../src/supervisor/decide.h"
#include "../../src/supervisor/deliver.h"
#include "../../src/supervisor/envelope.h"
#include "../../src/supervisor/frames.h"
#include "../../src/supervisor/notice.h"
#include "envelope_check.h"

#define ATTEMPTS_MAX 30
#define FRAME_MAX 60000 /* below what AGAIN, STEP … may carry */

struct stage {
	struct run run;
	struct report r;
	struct frames frames;
	struct buf wire;
	size_t frame; /* where the frame that is being written began */
	enum frame_kind kind;
	bool open, over;
	bool one_by_one; /* each frame is taken before the next is there */
};

/* What an attempt came to, to be compared. */
static void add_report(struct buf *out, const struct report *r)
{
	const struct buf *all[] = { &r->message, &r->detail, &r->fix_required, &r->fix_command, &r->suggestion,
		                    &r->data, &r->errors, &r->context, &r->text, &r->progress };

	buf_add_fmt(out, "%d %d %d %d %s %s %lld %lld\n", (int)r->verdict, (int)r->limit, r->ok, r->entered_run,
	            r->code, r->phase, (long long)r->exhausted, (long long)r->rows);
	buf_add_fmt(out, "%d %d %d %lld\n", (int)r->own.retryable, (int)r->own.side_effects, (int)r->own.strategy,
	            (long long)r->own.retry_after_ms);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		buf_add_fmt(out, "%zu ", all[i]->len);
		buf_add(out, buf_cstr(all[i]), all[i]->len);
	}
	for (int i = 0; i < r->steps.count; i++)
		buf_add_fmt(out, "%s %d\n", r->steps.row[i].name, (int)r->steps.row[i].state);
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(buf_cstr(a), buf_cstr(b), a->len) == 0;
}

/* --- one attempt --------------------------------------------------------------------- */

static void begin(struct stage *s)
{
	report_init(&s->r);
	s->r.started = mono_now();
	s->run.attempts++;
	frames_init(&s->frames, s->r.started);
	s->open = true;
}

/* What a frame may have us write to: named before RUN, once. */
static void check_reach(struct stage *s, bool entered_run, const struct audit *before)
{
	HOLDS(strcmp(before->path, s->run.audit.path) == 0 || (!before->path[0] && !entered_run));
}

/* frames_take(), which may change neither a plan that there is nor a verdict, but for one: the second of two
 * answers makes it a crash. */
static enum frames_status take(struct stage *s)
{
	static struct plan plan;
	struct buf before = BUF_INIT, after = BUF_INIT;
	struct audit audit = s->run.audit;
	bool entered_run = s->r.entered_run;
	enum frames_status status;

	memcpy(&plan, &s->run.plan, sizeof(plan));
	if (!s->open)
		add_report(&before, &s->r);
	status = frames_take(&s->frames, &s->run, &s->r, s->open);
	HOLDS(!plan.known || memcmp(&plan, &s->run.plan, sizeof(plan)) == 0);
	if (!s->open)
		add_report(&after, &s->r);
	HOLDS(same(&before, &after) || (!s->r.ok && strcmp(s->r.code, "COMMAND_CRASHED") == 0 && s->r.data.len == 0));
	check_reach(s, entered_run, &audit);
	buf_release(&before);
	buf_release(&after);
	return status;
}

static void receive(struct stage *s)
{
	enum frames_status status;

	if (s->wire.len == 0)
		return;
	HOLDS(frame_feed(&s->frames.decoder, s->wire.data, s->wire.len) == 0);
	buf_clear(&s->wire);
	status = take(s);
	if (status == FRAMES_RESULT || status == FRAMES_BROKEN)
		s->r.verdict = status == FRAMES_RESULT ? VERDICT_RESULT : VERDICT_BROKEN;
	s->open = s->open && status == FRAMES_MORE;
	frames_may_idle(&s->frames, &s->r);
}

/* As try_once() in supervisor.c, without the wait. */
static void end(struct stage *s)
{
	int64_t wait_ms = -1;

	receive(s);
	if (s->open) {
		s->r.verdict = s->r.verdict == VERDICT_NONE ? VERDICT_GONE : s->r.verdict;
		s->open = false;
	}
	frames_release(&s->frames);
	s->r.ended = mono_now();
	report_describe(&s->r);
	report_move(&s->run.verdict.report, &s->r);
	s->over = true;
	if (s->run.verdict.report.ok)
		return;
	if (decide_next(&s->run, &wait_ms) != POLICY_WAIT) {
		history_add(&s->run.history, s->run.attempts, &s->run.verdict.report, -1);
		return;
	}
	history_add(&s->run.history, s->run.attempts, &s->run.verdict.report, wait_ms);
	notice_failed(&s->run, &s->run.verdict.report, wait_ms);
	s->over = s->run.attempts == ATTEMPTS_MAX;
}

/* --- lines --------------------------------------------------------------------------- */

static void end_frame(struct stage *s)
{
	if (s->kind != FRAME_NONE)
		(void)!frame_end(&s->wire, s->frame);
	s->kind = FRAME_NONE;
	if (s->one_by_one)
		receive(s);
}

static void add_field(struct stage *s, char *name, char *value, size_t n)
{
	enum field_type type = FIELD_STR;
	int id = s->kind != FRAME_NONE ? frame_field_find(s->kind, name, &type) : -1;

	if (id < 0 || s->wire.len - s->frame + n > FRAME_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		value[i] = (char)(value[i] == '\x1e' ? '\n' : value[i] == ',' && type == FIELD_LIST ? 0 : value[i]);
	if (type == FIELD_INT)
		frame_add_int(&s->wire, (enum field_id)id, strtoll(value, NULL, 10));
	else /* the NUL behind a list's last item counts */
		frame_add_bytes(&s->wire, (enum field_id)id, value, n + (type == FIELD_LIST && n > 0));
}

static bool end_by(struct stage *s, const char *line)
{
	int number;

	if (sscanf(line, "SIGNAL %d", &number) == 1) {
		s->r.verdict = s->open ? VERDICT_SIGNAL : s->r.verdict;
		s->r.signal = number & 63;
	} else if (sscanf(line, "LIMIT %d", &number) == 1) {
		s->r.verdict = s->open ? VERDICT_LIMIT : s->r.verdict;
		s->r.limit = (enum limit)(number & 3);
		s->r.limit_ms = 1 + (number & 0xffff);
	} else if (sscanf(line, "GONE %d", &number) == 1) {
		s->r.worker = outcome_decode(number & 0xff7f);
	} else {
		return false;
	}
	s->open = s->open && s->r.verdict == VERDICT_NONE;
	return true;
}

static void act(struct stage *s, char *line, size_t n)
{
	char *equals = memchr(line, '=', n);
	int kind = frame_kind_find(line);

	if (equals) {
		*equals = '\0';
		add_field(s, line, equals + 1, n - (size_t)(equals + 1 - line));
		return;
	}
	end_frame(s);
	if (kind > 0) {
		s->kind = (enum frame_kind)kind;
		s->frame = frame_begin(&s->wire, s->kind);
	} else if (strcmp(line, "TTY") == 0) {
		s->run.launch.stderr_is_tty = s->run.launch.stdout_is_tty = true;
	} else if (strcmp(line, "COLOR") == 0) {
		s->run.color = s->run.launch.stderr_is_tty;
	} else if (strcmp(line, "AGAIN") == 0 && !s->over) {
		end(s);
		if (!s->over)
			begin(s);
	} else {
		receive(s);
		end_by(s, line);
	}
}

static void read_lines(struct stage *s, char *text, size_t size)
{
	for (char *line = text, *next; line < text + size && !s->over; line = next + 1) {
		next = memchr(line, '\n', (size_t)(text + size - line));
		next = next ? next : text + size;
		*next = '\0';
		act(s, line, (size_t)(next - line));
	}
	end_frame(s);
}

/* --- a run ----------------------------------------------------------------------------- */

static int scratch_file(const char *name)
{
	int fd = memfd_create(name, 0);

	HOLDS(fd >= 0);
	return fd;
}

static size_t contents(int fd, char **out)
{
	off_t size = lseek(fd, 0, SEEK_END);

	*out = calloc(1, (size_t)size + 1);
	HOLDS(*out && pread(fd, *out, (size_t)size, 0) == size);
	HOLDS(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return (size_t)size;
}

static void open_run(struct run *run, int out, int err)
{
	memset(run, 0, sizeof(*run));
	run->launch.started = mono_now();
	run->launch.stdin_fd = -1;
	run->stdout_fd = out;
	run->stdout_was_open = true;
	strcpy(run->request_id, "req_00000000000000000000000000");
	strcpy(run->session_dir, "/nonexistent/runner");
	plan_init(&run->plan, &run->launch);
	tap_init(&run->stdout_tap, 256);
	outlet_init(&run->err, err);
	report_init(&run->verdict.report);
}

static void close_run(struct run *run)
{
	report_release(&run->verdict.report);
	buf_release(&run->warnings.rows);
	buf_release(&run->metas.members);
	for (int i = 0; i < HISTORY_MAX; i++)
		buf_release(&run->history.row[i]);
	outlet_release(&run->err);
	block_release(run);
	tap_release(&run->stdout_tap);
	secrets_release(run);
}

static void check(struct run *run, int status, int out, int err)
{
	bool as_text = run->verdict.report.ok ? run->plan.format != FORMAT_JSON
	                             : run->launch.stdout_is_tty && run->plan.format != FORMAT_JSON;
	char *text;
	size_t n = contents(out, &text);

	HOLDS(status >= 0 && status <= 255 && (status == 0) == run->verdict.report.ok);
	if (!as_text)
		envelope_check(run, text, n, status);
	free(text);
	n = contents(err, &text);
	stderr_check(run, text, n);
	free(text);
}

static void read_input(struct stage *s, const uint8_t *data, size_t size)
{
	char *text;

	if (size >= 2 && memcmp(data, "RF", 2) == 0) {
		buf_add(&s->wire, data, size);
		return;
	}
	text = calloc(1, size + 1);
	HOLDS(text);
	memcpy(text, data, size);
	read_lines(s, text, size);
	free(text);
}

/* The whole run; what it came to is added to *told. */
static void play(const uint8_t *data, size_t size, bool one_by_one, int out, int err, struct buf *told)
{
	static struct stage s;
	int status;

	s = (struct stage){ .wire = BUF_INIT, .one_by_one = one_by_one };
	open_run(&s.run, out, err);
	begin(&s);
	read_input(&s, data, size);
	if (!s.over)
		end(&s);
	/* a wait was granted, but nothing followed: as a signal during it */
	s.run.audit.path[0] = '\0'; /* it would be any file of ours */
	status = deliver_verdict(&s.run);
	check(&s.run, status, out, err);
	add_report(told, &s.run.verdict.report);
	buf_add_fmt(told, "%d %lld\n", status, (long long)s.run.attempts);
	buf_add(told, buf_cstr(&s.run.warnings.rows), s.run.warnings.rows.len);
	buf_add(told, buf_cstr(&s.run.metas.members), s.run.metas.members.len);
	buf_release(&s.wire);
	close_run(&s.run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int out = -1, err = -1;
	struct buf at_once = BUF_INIT, one_by_one = BUF_INIT;

	if (out < 0) {
		out = scratch_file("out"), err = scratch_file("err");
		unsetenv("CI"), unsetenv("RUNNER_FORMAT"), unsetenv("RUNNER_EXIT_TABLE");
	}
	play(data, size, false, out, err, &at_once);
	play(data, size, true, out, err, &one_by_one);
	HOLDS(same(&at_once, &one_by_one));
	buf_release(&at_once);
	buf_release(&one_by_one);
	return 0;
}
