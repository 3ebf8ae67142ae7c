/*
 * beat.c: signs of life while a command runs. Runs in the supervisor; never blocks. A line on
 * stderr is plain text for its reader: [SECONDSs] and the last progress, else the step.
 */
#include "beat.h"

#include <string.h>

#include "../common/json.h"
#include "line.h"
#include "redact.h"
#include "run.h"

#define BEAT_STATE "stderr"
#define SAID_MAX 200 /* bytes of a line's text */

bool beat_take(struct run *run, const struct frame *f)
{
	struct beat *beat = &run->beat;
	char state[32];

	if (strcmp(frame_copy(f, F_state, state, sizeof(state)), BEAT_STATE) != 0)
		return false;
	if (beat->every_ms == 0) { /* else an earlier attempt has asked: its rhythm goes on */
		beat->every_ms = MIN_OF(MAX_OF(frame_int(f, F_delay_ms, 0), 0), DURATION_MAX_MS);
		beat->at = mono_add_ms(mono_now(), beat->every_ms);
	}
	return true;
}

void beat_say(struct run *run, struct field text)
{
	if (run->beat.every_ms == 0 || text.n == 0)
		return;
	buf_clear(&run->beat.said);
	buf_add(&run->beat.said, text.s, text_cut(text.s, text.n, SAID_MAX));
}

static mono_t next_line(const struct run *run)
{
	return run->beat.every_ms > 0 ? run->beat.at : MONO_NEVER;
}

mono_t beat_next(const struct run *run)
{
	return MIN_OF(rows_next_beat(run), next_line(run));
}

static void write_line(struct run *run, const char *step)
{
	struct buf text = BUF_INIT, line = BUF_INIT;
	int64_t elapsed = mono_elapsed_ms(run->launch.started, mono_now());

	if (run->beat.said.len > 0)
		buf_add(&text, run->beat.said.data, run->beat.said.len);
	else
		buf_add_str(&text, step ? step : "running");
	redact_buf(&text);
	buf_add_fmt(&line, "[%llds] ", (long long)(elapsed / 1000));
	text_clean(&line, buf_cstr(&text), text.len);
	for (size_t i = 0; i < line.len; i++) /* one line, whatever was reported */
		if (line.data[i] == '\n' || line.data[i] == '\t')
			line.data[i] = ' ';
	buf_add_char(&line, '\n');
	line_emit(run, &line);
	buf_release(&text);
}

void beat_give(struct run *run, const char *step)
{
	rows_beat(run, step);
	if (mono_now() < next_line(run))
		return;
	run->beat.at = mono_add_ms(mono_now(), run->beat.every_ms);
	if (!run->plan.quiet && !outlet_waiting(&run->err)) /* it is not read: no line is missed */
		write_line(run, step);
}

void beat_release(struct run *run)
{
	buf_release(&run->beat.said);
	buf_release(&run->beat.held);
}
