/*
 * line.c: one line for stderr. Runs in the supervisor; decides nothing.
 */
#include "line.h"

#include <string.h>

#include "redact.h"

bool line_is_text(const struct run *run)
{
	return run->launch.stderr_is_tty;
}

void line_emit(struct run *run, struct buf *text)
{
	block_emit(run, text->data, text->len);
	buf_release(text);
}

static const char *command_name(const struct run *run)
{
	return run->plan.command[0] ? run->plan.command : "runner";
}

void line_add_command(struct buf *text, const struct run *run)
{
	for (const char *c = command_name(run); *c; c++)
		buf_add_char(text, *c == '.' ? ' ' : *c);
}

/* --- one line of either kind ------------------------------------------------------ */

void line_begin(struct line *l, struct run *run, const char *level, const char *event)
{
	*l = (struct line){ .run = run };
	l->w = (struct json_writer)JSON_WRITER_INIT(&l->out);
	json_begin_object(&l->w);
	json_key(&l->w, "level"), json_cstr(&l->w, level);
	json_key(&l->w, "event"), json_cstr(&l->w, event);
	json_key(&l->w, "command"), json_cstr(&l->w, command_name(run));
	if (run->launch.trace_id)
		json_key(&l->w, "trace_id"), json_cstr(&l->w, run->launch.trace_id);
}

void line_int(struct line *l, const char *key, int64_t v, int64_t least)
{
	json_key(&l->w, key);
	if (v < least)
		json_write_null(&l->w);
	else
		json_int(&l->w, v);
}

void line_str(struct line *l, const char *key, struct field text)
{
	json_key(&l->w, key);
	if (text.n > 0)
		json_str(&l->w, text.s, text.n);
	else
		json_write_null(&l->w);
}

void line_context(struct line *l, struct field context)
{
	if (json_check(context.s, context.n) != JSON_OBJECT)
		return;
	json_key(&l->w, "context");
	json_raw(&l->w, context.s, context.n);
}

void line_message(struct line *l)
{
	redact_buf(&l->text); /* on a terminal, too */
	json_key(&l->w, "message"), json_str(&l->w, buf_cstr(&l->text), l->text.len);
}

void line_elapsed(struct line *l)
{
	line_int(l, "elapsed_ms", mono_elapsed_ms(l->run->launch.started, mono_now()), 0);
}

void line_end(struct line *l)
{
	struct buf clean = BUF_INIT;

	if (line_is_text(l->run)) {
		text_clean(&clean, buf_cstr(&l->text), l->text.len);
		buf_add_char(&clean, '\n');
		line_emit(l->run, &clean);
	} else {
		json_end_object(&l->w);
		buf_add_char(&l->out, '\n');
		outlet_write(&l->run->err, l->out.data, l->out.len, true);
	}
	buf_release(&l->out);
	buf_release(&l->text);
}
