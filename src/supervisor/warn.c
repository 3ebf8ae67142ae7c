/*
 * warn.c: sends a warning to the envelope and to stderr. Runs in the supervisor.
 */
#include "warn.h"

#include <string.h>

#include "../common/json.h"
#include "../common/rest.h"
#include "notice.h"

#define TOLD "APPROVED_CALL"

static void raise_warning(struct run *run, struct field code, struct field message, struct field context,
                          int most)
{
	if (warnings_add(&run->warnings, code, message, context, most))
		notice_warning(run, code, message);
	if (code.n == strlen(TOLD) && memcmp(code.s, TOLD, code.n) == 0)
		run->warnings.told++;
	if (code.n == strlen(REST_CODE) && memcmp(code.s, REST_CODE, code.n) == 0)
		metas_add(&run->metas, "busy_wait", context); /* of both processes, the first */
}

static struct field as_field(const char *s)
{
	return (struct field){ .s = s ? s : "", .n = s ? strlen(s) : 0 };
}

void run_warn_bytes(struct run *run, struct field code, struct field message, struct field context)
{
	raise_warning(run, code, message, context, WARNINGS_OF_COMMAND);
}

void run_warn(struct run *run, const char *code, const char *message, const char *context)
{
	raise_warning(run, as_field(code), as_field(message), as_field(context), WARNINGS_MAX - 1);
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

void run_warn_busy(struct run *run)
{
	struct buf context = BUF_INIT;
	struct rest_cause cause;

	if (!rest_tell(&cause))
		return;
	rest_describe(&cause, "supervisor", &context);
	run_warn(run, REST_CODE, REST_MESSAGE, buf_cstr(&context));
	buf_release(&context);
}

void run_warn_dropped(struct run *run)
{
	struct buf context = BUF_INIT;

	if (run->warnings.dropped == 0)
		return;
	buf_add_fmt(&context, "{\"dropped\":%d}", run->warnings.dropped);
	raise_warning(run, as_field("WARNINGS_DROPPED"), as_field("Too many warnings; the rest were dropped"),
	              as_field(buf_cstr(&context)), WARNINGS_MAX);
	buf_release(&context);
}
