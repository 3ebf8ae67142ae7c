/*
 * block.c: the lines at the bottom of a terminal. Runs in the supervisor, which alone writes
 * there; decides nothing.
 */
#include "block.h"

#include <signal.h>
#include <string.h>

#include "block_text.h"
#include "columns.h"
#include "pause.h"
#include "run.h"
#include "signals.h"

#define FRAME_MS 100
#define AWAY_MS 1000           /* how soon to look again whether the terminal is ours */
#define OPEN_MS 1000           /* how long to wait for the rest of a line */
#define ABOVE_MAX (64 << 10)   /* bytes that wait for the next frame */
#define NO_WRAP "\033[?7l"     /* a character that is wider than we think must not begin a line */
#define WRAP "\033[?7h"

bool block_is_wanted(const struct run *run)
{
	return run->launch.stderr_is_tty && !run->launch.in_lines && run->color && !run->plan.quiet;
}

static void plan_frame(struct run *run)
{
	struct block *b = &run->block;
	mono_t at = MAX_OF(mono_add_ms(b->drawn_at, FRAME_MS), mono_now());

	b->due = b->due ? MIN_OF(b->due, at) : at;
}

/* --- what a frame is made of ------------------------------------------------------------- */

/* A line that was wider than the terminal is now takes several of its rows. */
static int rows_on_screen(const struct block *b, size_t columns)
{
	int rows = 0;

	for (int i = 0; i < b->rows; i++)
		rows += columns > 0 && b->width[i] > columns ? (int)((b->width[i] - 1) / columns) + 1 : 1;
	return rows;
}

static void go_up(struct buf *out, int rows)
{
	if (rows > 0)
		buf_add_fmt(out, "\033[%dA", rows);
}

static void erase(struct run *run, struct buf *out)
{
	struct block *b = &run->block;
	int rows = rows_on_screen(b, columns_of(run->err.to.fd));

	if (rows == 0)
		return;
	buf_add_char(out, '\r');
	go_up(out, rows - 1);
	buf_add_str(out, rows > 1 ? "\033[J" : "\033[K");
	b->rows = 0;
}

static bool ends_within_a_line(const struct run *run)
{
	const struct buf *above = &run->block.above;

	return above->len > 0 ? above->data[above->len - 1] != '\n' : run->err_mid_line;
}

static void add_above(struct run *run, struct buf *out)
{
	struct block *b = &run->block;

	if (b->above.len == 0)
		return;
	erase(run, out);
	run->err_mid_line = ends_within_a_line(run);
	b->open_until = mono_add_ms(mono_now(), OPEN_MS);
	buf_add(out, b->above.data, b->above.len);
	buf_clear(&b->above);
}

/* The rest of a line may come soon: nothing can stand below it before. */
static bool is_open(struct run *run, struct buf *out, mono_t now)
{
	struct block *b = &run->block;

	if (!run->err_mid_line)
		return false;
	if (now < b->open_until) {
		b->due = b->open_until;
		return true;
	}
	buf_add_str(out, "\n");
	run->err_mid_line = false;
	return false;
}

/* Over what is there, or from where the cursor is. */
static void add_all(const struct block *b, const struct block_text *t, struct buf *out)
{
	const char *s = t->lines.data;

	go_up(out, b->rows - 1);
	for (int i = 0; i < t->count; i++, s += strlen(s) + 1)
		buf_add_fmt(out, "%s\r\033[K%s", i > 0 ? "\r\n" : "", s);
	if (b->rows > t->count)
		buf_add_str(out, "\033[J");
}

/* As many lines as before: only what has changed. */
static void add_changed(const struct block *b, const struct block_text *t, struct buf *out)
{
	const char *s = t->lines.data, *before = b->shown.data;
	int at = t->count - 1, last = at;

	for (int i = 0; i <= last; i++, s += strlen(s) + 1, before += strlen(before) + 1) {
		if (strcmp(s, before) == 0)
			continue;
		go_up(out, at - i);
		if (i > at)
			buf_add_fmt(out, "\033[%dB", i - at);
		buf_add_fmt(out, "\r\033[K%s", s);
		at = i;
	}
	if (at < last)
		buf_add_fmt(out, "\033[%dB\033[%zuG", last - at, t->width[last] + 1);
}

static void add_lines(const struct block *b, const struct block_text *t, struct buf *out)
{
	struct buf lines = BUF_INIT;

	if (t->count == b->rows)
		add_changed(b, t, &lines);
	else
		add_all(b, t, &lines);
	if (lines.len > 0)
		buf_add_str(out, NO_WRAP);
	buf_add(out, lines.data, lines.len);
	if (lines.len > 0)
		buf_add_str(out, WRAP);
	buf_release(&lines);
}

/* --- a frame ------------------------------------------------------------------------------ */

static void begin(struct run *run)
{
	struct block *b = &run->block;

	b->is = true;
	b->composes = false;
	b->given_at = mono_now();
	b->paused = run->paused;
	buf_clear(&b->given);
}

static void compose(struct run *run, struct block_text *t, size_t columns, mono_t now)
{
	struct block *b = &run->block;
	int rows = (int)rows_of(run->err.to.fd), most = rows > 1 ? MIN_OF(rows - 1, BLOCK_MAX) : rows == 1 ? 1 : BLOCK_MAX;
	int64_t passed;

	if (b->composes) {
		begin(run);
		picture_compose(run, &b->given);
	}
	passed = mono_elapsed_ms(b->given_at, now);
	t->turn = now / 1000000 / FRAME_MS;
	block_text_compose(t, &b->given, columns, most,
	                   MAX_OF(passed - (run->paused - b->paused) / 1000000, 0), passed);
}

/* Nothing is left to show: what was shown goes, and nothing has to wait for a frame. */
static void end_lines(struct run *run, struct buf *out)
{
	erase(run, out);
	run->block.is = false;
	run->block.due = 0;
}

static void draw(struct run *run, struct buf *out, mono_t now)
{
	struct block *b = &run->block;
	size_t width[BLOCK_MAX] = { 0 }, columns = columns_of(run->err.to.fd);
	struct block_text t = { BUF_INIT, width, 0, -1, 0 };

	if (columns != b->columns)
		erase(run, out);
	add_above(run, out);
	compose(run, &t, columns, now);
	if (t.count == 0)
		return end_lines(run, out);
	if (is_open(run, out, now))
		return buf_release(&t.lines);
	add_lines(b, &t, out);
	buf_release(&b->shown);
	b->shown = t.lines;
	memcpy(b->width, width, sizeof(width));
	b->rows = t.count;
	b->columns = columns;
	b->due = t.next_ms < 0 ? 0 : mono_add_ms(now, MAX_OF(t.next_ms, FRAME_MS));
}

static void write_out(struct run *run, struct buf *out)
{
	if (out->len > 0)
		outlet_write(&run->err, out->data, out->len, true);
	buf_release(out);
}

/* One write. From the background it would land in the shell's line; where the terminal takes
 * nothing, frames must not pile up. */
static void frame(struct run *run)
{
	struct block *b = &run->block;
	struct buf out = BUF_INIT;
	mono_t now = mono_now();

	b->drawn_at = now;
	if (b->lent > 0) {
		b->due = 0;
	} else if (!pause_in_foreground()) {
		b->rows = 0;
		add_above(run, &out);
		b->due = mono_add_ms(now, AWAY_MS);
	} else if (outlet_waiting(&run->err) && b->above.len < ABOVE_MAX) {
		b->due = mono_add_ms(now, FRAME_MS);
	} else {
		draw(run, &out, now);
	}
	write_out(run, &out);
}

/* --- from outside --------------------------------------------------------------------------- */

/* The first line comes at once. */
static void show(struct run *run)
{
	plan_frame(run);
	block_draw(run);
}

void block_change(struct run *run)
{
	run->block.is = run->block.composes = true;
	show(run);
}

/* They become lines like any other. */
static void leave(struct run *run)
{
	struct block *b = &run->block;

	b->open_until = 0;
	frame(run);
	if (b->rows > 0)
		outlet_write(&run->err, "\r\n", 2, true);
	b->rows = 0;
	block_end(run);
}

void block_steps(struct run *run, const struct frame *f)
{
	const char *line;
	char state[16];
	size_t at = 0;
	int count = 0;

	if (!block_is_wanted(run))
		return;
	if (!frame_list_next(f, F_steps, &at)) {
		block_end(run);
		return;
	}
	begin(run);
	run->block.has_steps = true;
	for (at = 0; (line = frame_list_next(f, F_steps, &at)) && count < BLOCK_MAX; count++)
		block_text_take(&run->block.given, line);
	if (strcmp(frame_copy(f, F_state, state, sizeof(state)), "over") == 0)
		leave(run);
	else
		show(run);
}

void block_pass(struct run *run, const void *bytes, size_t n)
{
	struct block *b = &run->block;

	if (n == 0)
		return;
	if (!b->is || b->lent > 0) {
		outlet_write(&run->err, bytes, n, true);
		run->err_mid_line = ((const char *)bytes)[n - 1] != '\n';
		return;
	}
	buf_add(&b->above, bytes, n);
	plan_frame(run);
	if (b->above.len > ABOVE_MAX)
		frame(run);
}

void block_emit(struct run *run, const void *bytes, size_t n)
{
	if (run->block.is && ends_within_a_line(run))
		block_pass(run, "\n", 1);
	block_pass(run, bytes, n);
}

void block_lend(struct run *run, int change)
{
	struct block *b = &run->block;

	b->lent = MAX_OF(b->lent + change, 0);
	if (change > 0 && b->lent == 1) {
		block_hide(run);
	} else if (b->lent == 0) {
		run->err_mid_line = false;
		block_renew(run);
	}
}

mono_t block_next(const struct run *run)
{
	return run->block.due ? run->block.due : MONO_NEVER;
}

void block_draw(struct run *run)
{
	outlet_flush(&run->err);
	if (signals_take(SIGWINCH))
		block_renew(run);
	if (run->block.due && mono_now() >= run->block.due)
		frame(run);
}

void block_hide(struct run *run)
{
	struct buf out = BUF_INIT;

	if (!run->block.is)
		return;
	add_above(run, &out);
	erase(run, &out);
	write_out(run, &out);
	plan_frame(run);
}

void block_renew(struct run *run)
{
	if (run->block.is)
		run->block.due = mono_now();
}

void block_end(struct run *run)
{
	struct block *b = &run->block;

	block_hide(run);
	b->is = b->has_steps = b->composes = false;
	b->due = 0;
	buf_clear(&b->given);
	buf_clear(&b->picture.said);
	buf_clear(&b->picture.lanes);
	b->picture.steps = NULL;
}

void block_stay(struct run *run, const struct buf *given)
{
	run->block.lent = 0;
	begin(run);
	buf_add(&run->block.given, given->data, given->len);
	leave(run);
}

void block_close(struct run *run)
{
	run->block.lent = 0;
	block_end(run);
}

void block_release(struct run *run)
{
	buf_release(&run->block.given);
	buf_release(&run->block.above);
	buf_release(&run->block.shown);
	picture_release(run);
}
