/*
 * run.c: the warnings and counts of a run, which every room of the supervisor
 * adds to. Decides nothing.
 */
#include "run.h"

#include <string.h>

#include "../common/json.h"
#include "notice.h"

int64_t run_repeats(const struct run *run)
{
	return run->attempts - 1 + run->inner_repeats;
}

static void add_warning(struct run *run, struct field code, struct field message, struct field context,
                        int most)
{
	struct json_writer w = JSON_WRITER_INIT(&run->warnings);

	if (run->warning_count >= most) {
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
	json_str(&w, message.s, text_cut(message.s, message.n, MESSAGE_MAX));
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

void run_warn_bytes(struct run *run, struct field code, struct field message, struct field context)
{
	add_warning(run, code, message, context, WARNINGS_OF_COMMAND);
}

void run_warn(struct run *run, const char *code, const char *message, const char *context)
{
	add_warning(run, as_field(code), as_field(message), as_field(context), WARNINGS_MAX - 1);
}

void run_warn_counted(struct run *run, const char *code, const char *message, const char *key,
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

void run_warn_dropped(struct run *run)
{
	struct buf context = BUF_INIT;

	if (run->warnings_dropped == 0)
		return;
	buf_add_fmt(&context, "{\"dropped\":%d}", run->warnings_dropped);
	add_warning(run, as_field("WARNINGS_DROPPED"), as_field("More warnings came than are kept"),
	            as_field(buf_cstr(&context)), WARNINGS_MAX);
	buf_release(&context);
}
