/*
 * warnings.c: the rows of the envelope's warnings. Runs in the supervisor; prints
 * nothing and decides nothing.
 */
#include "warnings.h"

#include "../common/codes.h"
#include "../common/json.h"
#include "report.h"

static const struct field no_code = { .s = "WARNING", .n = 7 };

static void write_row(struct json_writer *w, struct field code, struct field message, struct field context)
{
	if (!code_well_formed(code.s, code.n))
		code = no_code;
	json_begin_object(w);
	json_key(w, "code");
	json_str(w, code.s, code.n);
	json_key(w, "message");
	json_str(w, message.s, text_cut(message.s, message.n, MESSAGE_MAX));
	if (json_check(context.s, context.n) == JSON_OBJECT) {
		json_key(w, "context");
		json_raw(w, context.s, context.n);
	}
	json_end_object(w);
}

bool warnings_add(struct warnings *w, struct field code, struct field message, struct field context,
                  int most)
{
	struct json_writer out = JSON_WRITER_INIT(&w->rows);

	if (w->count >= most) {
		w->dropped++;
		return false;
	}
	out.need_comma = w->count++ > 0;
	write_row(&out, code, message, context);
	return true;
}
