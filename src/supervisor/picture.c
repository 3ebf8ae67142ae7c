/*
 * picture.c: the lines of a command's steps (picture.h). Runs in the supervisor; block.c draws
 * them.
 */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "block_text.h"
#include "columns.h"
#include "run.h"

#define MOST 20       /* lines of steps; the terminal may have room for fewer */
#define SAID_MAX 1000 /* bytes of progress */

/* --- the lines -------------------------------------------------------------------------- */

static void take(struct buf *given, struct buf *line)
{
	block_text_take(given, buf_cstr(line));
	buf_clear(line);
}

/* What is in a field can't begin another one. */
static void add_text(struct buf *line, const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		buf_add_char(line, text->data[i] == BLOCK_US || text->data[i] == '\0' ? ' ' : text->data[i]);
}

static const char *mark_of(enum step_state state, bool failed)
{
	static const char *const marks[] = { "d·", "c▸", "g✓", "d-" };

	return failed ? "r✗" : marks[state];
}

/* Where the command has declared its steps, one knows how many there are: 2/5. */
static void add_name(struct buf *line, const struct steps *s, int i)
{
	int digits = s->declared > 99 ? 3 : s->declared > 9 ? 2 : 1;

	if (i < s->declared)
		buf_add_fmt(line, "%*d/%d ", digits, i + 1, s->declared);
	buf_add_str(line, s->row[i].name);
}

static void add_clock(struct buf *line, const struct step *step, bool failed, mono_t now)
{
	if (step->state == STEP_RUNNING)
		buf_add_fmt(line, "%c%lld", failed ? '=' : '+', (long long)mono_elapsed_ms(step->since, now));
	else if (step->state == STEP_COMPLETED)
		buf_add_fmt(line, "=%lld", (long long)step->took_ms);
}

/* `message`: why the running step has failed; NULL: it runs. */
static void add_step(struct buf *given, const struct run *run, int i, const struct buf *message)
{
	const struct steps *s = run->block.picture.steps;
	bool runs = s->row[i].state == STEP_RUNNING, failed = runs && message;
	struct buf line = BUF_INIT;

	buf_add_fmt(&line, "%s%c", mark_of(s->row[i].state, failed), BLOCK_US);
	add_name(&line, s, i);
	buf_add_char(&line, BLOCK_US);
	add_clock(&line, &s->row[i], failed, mono_now() - run->paused);
	buf_add_char(&line, BLOCK_US);
	if (failed)
		add_text(&line, message);
	else if (runs)
		add_text(&line, &run->block.picture.said);
	else if (s->row[i].state == STEP_SKIPPED)
		buf_add_str(&line, "skipped");
	take(given, &line);
	buf_release(&line);
}

/* Their clocks that count up began when the lines came. */
static void add_lanes(struct buf *given, const struct run *run)
{
	const struct picture *p = &run->block.picture;
	int64_t passed = mono_elapsed_ms(p->lanes_at, mono_now() - run->paused);
	struct buf line = BUF_INIT;

	for (const char *s = p->lanes.data; s && s < p->lanes.data + p->lanes.len; s += strlen(s) + 1) {
		const char *name = strchr(s, BLOCK_US), *clock = name ? strchr(name + 1, BLOCK_US) : NULL;
		const char *text = clock && clock[1] == '+' ? strchr(clock + 1, BLOCK_US) : NULL;

		if (text) {
			int64_t ms = MIN_OF(MAX_OF(strtoll(clock + 2, NULL, 10), 0), DURATION_MAX_MS);

			buf_add(&line, s, (size_t)(clock + 2 - s));
			buf_add_fmt(&line, "%lld%s", (long long)(ms + passed), text);
			take(given, &line);
		} else {
			block_text_take(given, s);
		}
	}
	buf_release(&line);
}

static void add_note(struct buf *given, int count, const char *one, const char *many)
{
	struct buf line = BUF_INIT;

	buf_add_fmt(&line, "d…%c%c%c%d %s", BLOCK_US, BLOCK_US, BLOCK_US, count, count == 1 ? one : many);
	take(given, &line);
	buf_release(&line);
}

static int running(const struct steps *s)
{
	int last = 0;

	for (int i = 0; i < s->count; i++)
		if (s->row[i].state == STEP_RUNNING)
			return i;
		else if (s->row[i].state != STEP_PENDING)
			last = i;
	return last;
}

/* The nearest to what runs, where there is no room for all. */
static void add_steps(struct buf *given, const struct run *run, const struct buf *message)
{
	const struct steps *s = run->block.picture.steps;
	int rows = (int)rows_of(run->err.to.fd), most = rows > 3 ? MIN_OF(rows - 1, MOST) : rows > 0 ? 1 : MOST;
	int from = 0, to = s->count, now = running(s);

	if (s->count > most) {
		most = MAX_OF(most - 2, 1);
		from = MIN_OF(MAX_OF(now - most / 2, 0), s->count - most);
		to = from + most;
	}
	if (from > 0)
		add_note(given, from, "step before", "steps before");
	for (int i = from; i < to; i++) {
		add_step(given, run, i, message);
		if (i == now && s->row[i].state == STEP_RUNNING && !message)
			add_lanes(given, run);
	}
	if (to < s->count)
		add_note(given, s->count - to, "step more", "steps more");
}

static bool has_begun(const struct steps *s)
{
	for (int i = 0; s && i < s->count; i++)
		if (s->row[i].state != STEP_PENDING)
			return true;
	return false;
}

static void compose(const struct run *run, struct buf *given, const struct buf *message)
{
	const struct picture *p = &run->block.picture;
	bool begun = has_begun(p->steps);
	struct buf line = BUF_INIT;

	if (begun)
		add_steps(given, run, message);
	if (!begun)
		add_lanes(given, run);
	if (p->said.len > 0 && !(begun && steps_running(p->steps))) {
		add_text(&line, &p->said);
		take(given, &line);
	}
	buf_release(&line);
}

void picture_compose(const struct run *run, struct buf *given)
{
	compose(run, given, NULL);
}

/* --- from outside -------------------------------------------------------------------------- */

void picture_step(struct run *run, const struct steps *s)
{
	if (!block_is_wanted(run))
		return;
	run->block.picture.steps = s;
	buf_clear(&run->block.picture.said);
	buf_clear(&run->block.picture.lanes);
	block_change(run);
}

void picture_progress(struct run *run, struct field text)
{
	struct buf *said = &run->block.picture.said;

	if (!block_is_wanted(run) || text.n == 0 || run->block.has_steps)
		return;
	buf_clear(said);
	buf_add(said, text.s, text_cut(text.s, text.n, SAID_MAX));
	block_change(run);
}

void picture_lanes(struct run *run, const struct frame *f)
{
	struct picture *p = &run->block.picture;
	const char *line;
	int count = 0;

	if (!block_is_wanted(run) || run->block.has_steps)
		return;
	buf_clear(&p->lanes);
	p->lanes_at = mono_now() - run->paused;
	for (size_t at = 0; (line = frame_list_next(f, F_steps, &at)) && count < BLOCK_MAX; count++)
		buf_add(&p->lanes, line, strlen(line) + 1);
	block_change(run);
}

/* The running step of an attempt that failed is the one that failed. */
void picture_leave(struct run *run, const struct report *r)
{
	struct buf given = BUF_INIT;

	run->block.picture.steps = &r->steps;
	if (block_is_wanted(run) && has_begun(&r->steps)) {
		compose(run, &given, r->ok ? NULL : &r->message);
		block_stay(run, &given);
	}
	block_close(run);
	buf_release(&given);
}

void picture_release(struct run *run)
{
	buf_release(&run->block.picture.said);
	buf_release(&run->block.picture.lanes);
}
