/*
 * secrets.c: what is done with declared secrets (secrets.h). Runs in the supervisor.
 */
#include "secrets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../common/mask.h"
#include "run.h"

#define REST_MS 200 /* a program that writes nothing for so long may ask something */

struct secrets {
	struct mask *mask;
	bool failed; /* one was lost */
	mono_t rest_at;
	struct mask_stream of[SECRETS_SOURCES];
	struct buf texts; /* of the frame that is looked at */
};

/* --- the values -------------------------------------------------------------------------- */

static struct secrets *open_secrets(void)
{
	struct secrets *all = calloc(1, sizeof(*all));

	if (!all || !(all->mask = mask_new())) {
		free(all);
		return NULL;
	}
	all->rest_at = MONO_NEVER;
	for (size_t i = 0; i < SECRETS_SOURCES; i++)
		all->of[i].m = all->mask;
	return all;
}

void secrets_take(struct run *run, const struct frame *f)
{
	struct field value = frame_str(f, F_text);

	if (!run->secrets)
		run->secrets = open_secrets();
	if (run->secrets && frame_has(f, F_text) && mask_add(run->secrets->mask, value.s, value.n) < 0)
		run->secrets->failed = true;
	if (frame_has(f, F_change))
		(void)send(run->worker_fd, run->secrets && !run->secrets->failed ? "+" : "-", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- frames ------------------------------------------------------------------------------- */

#define BIT(id) (UINT64_C(1) << (id))

/* Texts; all other strings are words of runner's own. */
static const uint64_t texts = BIT(F_message) | BIT(F_detail) | BIT(F_suggestion) | BIT(F_fix_required) | BIT(F_fix_command) |
                              BIT(F_output) | BIT(F_text) | BIT(F_steps);
static const uint64_t fragments = BIT(F_data) | BIT(F_context) | BIT(F_errors) | BIT(F_redirect);

static uint64_t texts_of(const struct run *run, const struct frame *f)
{
	if ((f->kind == FRAME_TEXT || f->kind == FRAME_EMIT) && run->plan.format != FORMAT_TEXT)
		return 0; /* made by the worker of a result without secrets (lua/output): what lies between its values is no text */
	switch (f->kind) {
	case FRAME_SECRETS:
	case FRAME_TEMPDIR: /* paths, which are not shown */
	case FRAME_AUDIT:
	case FRAME_TERMINAL: /* its text is secrets_pass()'s */
		return 0;
	case FRAME_ATTACH:
		return f->has & (texts | BIT(F_name) | BIT(F_format));
	case FRAME_STEP:
		return f->has & (texts | BIT(F_name));
	default:
		return f->has & texts;
	}
}

static enum mask_text_of whose(const struct run *run, const struct frame *f, int id)
{
	return f->kind == FRAME_META ? MASK_OF_OURS : f->kind == FRAME_PROGRESS ? MASK_OF_OTHERS_WITH_COUNTS :
	       id == F_errors || run->plan.own_codes ? MASK_OF_OTHERS_WITH_CODES : MASK_OF_OTHERS;
}

void secrets_hide(struct run *run, struct frame *f)
{
	struct secrets *all = run->secrets;
	uint64_t hidden = 0, strings = texts_of(run, f), looked_at = strings | (f->has & fragments);
	size_t from[FIELD_ID_COUNT];

	buf_clear(&all->texts);
	for (int id = 0; id < FIELD_ID_COUNT; id++) {
		struct field *field = &f->f[id];

		if (!(looked_at & BIT(id)))
			continue;
		from[id] = all->texts.len;
		if (!(strings & BIT(id) ? mask_text(all->mask, field->s, field->n, &all->texts)
		                        : mask_json(all->mask, field->s, field->n, whose(run, f, id), &all->texts)))
			continue;
		field->n = all->texts.len - from[id];
		buf_add_char(&all->texts, '\0');
		hidden |= BIT(id);
	}
	for (int id = 0; hidden && id < FIELD_ID_COUNT; id++)
		if (hidden & BIT(id))
			f->f[id] = (struct field){ .s = all->texts.failed ? "" : all->texts.data + from[id],
				                       .n = all->texts.failed ? 0 : f->f[id].n };
}

void secrets_hide_buf(const struct run *run, struct buf *text)
{
	struct buf hidden = BUF_INIT;

	if (!run->secrets || !mask_text(run->secrets->mask, buf_cstr(text), text->len, &hidden))
		return;
	buf_release(text);
	*text = hidden;
}

/* --- streams --------------------------------------------------------------------------------- */

/* Of the worker's stdout the beginning and the end are kept, too. */
static void pass(struct run *run, enum secrets_source source, const char *bytes, size_t n)
{
	if (source == SECRETS_STDOUT)
		tap_feed(&run->stdout_tap, bytes, n);
	block_pass(run, bytes, n);
}

void secrets_pass(struct run *run, enum secrets_source source, const char *bytes, size_t n)
{
	struct mask_piece piece = { bytes, n };

	if (run->secrets) {
		piece = mask_stream_feed(&run->secrets->of[source], bytes, n);
		if (mask_stream_holds(&run->secrets->of[source]))
			run->secrets->rest_at = mono_add_ms(mono_now(), REST_MS);
	}
	pass(run, source, piece.s, piece.n);
}

static bool holds(const struct secrets *all)
{
	for (size_t i = 0; i < SECRETS_SOURCES; i++)
		if (mask_stream_holds(&all->of[i]))
			return true;
	return false;
}

mono_t secrets_next(const struct run *run)
{
	return run->secrets && holds(run->secrets) ? run->secrets->rest_at : MONO_NEVER;
}

void secrets_rest(struct run *run, bool now)
{
	if (!run->secrets || (!now && mono_now() < secrets_next(run)))
		return;
	for (int i = 0; i < SECRETS_SOURCES; i++) {
		struct mask_piece piece = mask_stream_rest(&run->secrets->of[i]);

		pass(run, (enum secrets_source)i, piece.s, piece.n);
	}
}

void secrets_end(struct run *run)
{
	for (int i = 0; run->secrets && i < SECRETS_SOURCES; i++) {
		struct mask_piece piece = mask_stream_end(&run->secrets->of[i], true);

		pass(run, (enum secrets_source)i, piece.s, piece.n);
	}
}

void secrets_release(struct run *run)
{
	struct secrets *all = run->secrets;

	if (!all)
		return;
	for (size_t i = 0; i < SECRETS_SOURCES; i++)
		mask_stream_release(&all->of[i]);
	buf_release(&all->texts);
	mask_free(all->mask);
	free(all);
	run->secrets = NULL;
}
