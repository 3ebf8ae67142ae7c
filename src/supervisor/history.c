/*
 * history.c: rows of meta.retry_history. Runs in the supervisor, between attempts.
 */
#include "history.h"

#define ROW_MESSAGE_MAX 512

static void write_delay(struct json_writer *w, int64_t delay_ms)
{
	json_key(w, "delay_ms");
	if (delay_ms < 0)
		json_write_null(w);
	else
		json_int(w, delay_ms);
}

void history_add(struct history *h, int64_t attempt, const struct report *r, int64_t delay_ms)
{
	struct buf *row = &h->row[h->count++ % HISTORY_MAX];
	struct json_writer w = JSON_WRITER_INIT(row);

	buf_clear(row);
	json_begin_object(&w);
	json_key(&w, "attempt");
	json_int(&w, attempt);
	json_key(&w, "code");
	json_cstr(&w, r->code);
	json_key(&w, "message");
	json_str(&w, buf_cstr(&r->message), text_cut(buf_cstr(&r->message), r->message.len, ROW_MESSAGE_MAX));
	json_key(&w, "duration_ms");
	json_int(&w, mono_elapsed_ms(r->started, r->ended));
	write_delay(&w, delay_ms);
	if (r->steps.count > 0) {
		json_key(&w, "completed_steps");
		steps_names(&r->steps, STEP_COMPLETED, &w);
	}
	json_end_object(&w);
}

void history_write(const struct history *h, struct json_writer *w)
{
	json_begin_array(w);
	for (int i = MAX_OF(h->count - HISTORY_MAX, 0); i < h->count; i++) {
		const struct buf *row = &h->row[i % HISTORY_MAX];

		json_raw(w, buf_cstr(row), row->len);
	}
	json_end_array(w);
}

bool history_failed(const struct history *h)
{
	bool failed = false;

	for (int i = 0; i < HISTORY_MAX; i++)
		failed |= h->row[i].failed;
	return failed;
}
