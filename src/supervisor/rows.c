/*
 * rows.c: rows and heartbeats on stdout while the command runs. Runs in the supervisor; never
 * blocks, and knows nothing of formats: a row comes as the bytes to write.
 */
#include "rows.h"

#include <string.h>
#include <time.h>

#include "line.h"
#include "run.h"

#define GATHER_NS 50000

static struct outlet *open_stdout(struct run *run)
{
	struct rows *rows = &run->rows;

	if (!rows->opened) {
		outlet_init(&rows->out, run->stdout_fd);
		rows->opened = true;
		run->err.next = &rows->out;
	}
	return &rows->out;
}

static void put_off_beat(struct rows *rows)
{
	rows->beat_at = mono_add_ms(mono_now(), rows->beat_ms);
}

static void add_line(struct run *run, const char *s, size_t n)
{
	struct outlet *out = open_stdout(run);

	outlet_add(out, s, n);
	outlet_add(out, "\n", 1);
	put_off_beat(&run->rows);
}

/* EMIT without a row: what the command and its caller want. */
static void take_settings(struct rows *rows, const struct frame *f)
{
	char state[32];

	frame_copy(f, F_state, state, sizeof(state));
	rows->may_repeat = strcmp(state, "rows_may_repeat") == 0;
	rows->streams |= state[0] != '\0';
	rows->beat_ms = MIN_OF(MAX_OF(frame_int(f, F_delay_ms, 0), 0), DURATION_MAX_MS);
	put_off_beat(rows);
}

static bool is_row(struct field data)
{
	return json_check(data.s, data.n) == JSON_OBJECT && !memchr(data.s, '\n', data.n);
}

void rows_take(struct run *run, const struct frame *f)
{
	struct field row = frame_str(f, F_data), text = frame_str(f, F_text);

	if (frame_has(f, F_text)) {
		block_hide(run);
		add_line(run, text.s, text.n);
	} else if (!frame_has(f, F_data)) {
		take_settings(&run->rows, f);
		return;
	} else if (is_row(row)) {
		add_line(run, row.s, row.n);
	} else {
		return;
	}
	run->rows.count += !run->rows.out.error;
}

void rows_flush(struct run *run)
{
	if (run->rows.opened)
		outlet_flush(&run->rows.out);
}

void rows_gather(struct run *run)
{
	struct rows *rows = &run->rows;
	mono_t now;

	if (rows->count == rows->flushed)
		return;
	now = mono_now();
	if (now - rows->seen_at < GATHER_NS) {
		nanosleep(&(struct timespec){ .tv_nsec = GATHER_NS }, NULL);
		now = mono_now();
	}
	rows->flushed = rows->count;
	rows->seen_at = now;
}

bool rows_crowded(const struct run *run)
{
	return run->rows.opened && !run->rows.out.error && outlet_crowded(&run->rows.out);
}

bool rows_are_enough(const struct run *run)
{
	return run->rows.streams && run->rows.opened && run->rows.out.error && run->plan.safe;
}

mono_t rows_next_beat(const struct run *run)
{
	return run->rows.beat_ms > 0 ? run->rows.beat_at : MONO_NEVER;
}

void rows_beat(struct run *run, const char *step)
{
	struct buf line = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&line);

	if (mono_now() < rows_next_beat(run))
		return;
	put_off_beat(&run->rows);
	if (outlet_waiting(open_stdout(run)))
		return; /* no process reads: no line is missed */
	json_begin_object(&w);
	json_key(&w, "status"), json_cstr(&w, "running");
	json_key(&w, "heartbeat"), json_bool(&w, true);
	json_key(&w, "elapsed_ms"), json_int(&w, mono_elapsed_ms(run->launch.started, mono_now()));
	if (step)
		json_key(&w, "step"), json_cstr(&w, step);
	json_end_object(&w);
	if (!line.failed)
		add_line(run, line.data, line.len);
	rows_flush(run);
	buf_release(&line);
}

void rows_summary(const struct run *run, struct json_writer *w)
{
	json_key(w, "_summary"), json_bool(w, true);
	json_key(w, "_count"), json_int(w, run->rows.count);
	json_key(w, "duration_ms");
	json_int(w, run_duration_ms(run));
}

void rows_release(struct run *run)
{
	run->err.next = NULL;
	if (run->rows.opened)
		outlet_release(&run->rows.out);
	run->rows.opened = false;
}
