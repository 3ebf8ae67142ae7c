/*
 * mask_stream.c: a text, whole or in pieces, without its secrets.
 *
 * Each byte that any form covers is hidden, and *** stands for the bytes of such a kind in a row: that doesn't depend on
 * where pieces begin. Held back is only what begins where a form may have begun.
 */
#include <string.h>

#include "mask_forms.h"

/* A text that is being read: what of it has come out, or is hidden. */
struct sweep {
	const struct mask *m;
	const char *s;
	size_t n;
	size_t least; /* characters of a form that is looked for */
	size_t done;
	bool within; /* what came out last is *** */
};

static void hide(struct sweep *w, size_t at, size_t n, struct buf *out)
{
	if (at > w->done) {
		buf_add(out, w->s + w->done, at - w->done);
		w->within = false;
	}
	if (at + n <= w->done)
		return;
	if (!w->within)
		buf_add_str(out, MASK_SHOWN);
	w->within = true;
	w->done = at + n;
}

/* From `at` on: where a form has begun that the text doesn't end; n: nowhere, or the text is whole. */
static size_t sweep(struct sweep *w, size_t at, bool whole, struct buf *out)
{
	for (; (at = mask_next(w->m, w->s, at, w->n)) < w->n; at++) {
		struct mask_hit hit = mask_at(w->m, w->s + at, w->n - at, w->least);

		if (hit.n > 0)
			hide(w, at, hit.n, out);
		if (hit.begun && !whole)
			return at;
	}
	return w->n;
}

bool mask_least(const struct mask *m, const char *s, size_t n, size_t least, struct buf *out)
{
	struct sweep w = { .m = m, .s = s, .n = n, .least = least };

	sweep(&w, 0, true, out);
	if (w.done == 0 && !w.within)
		return false;
	buf_add(out, s + w.done, n - w.done);
	return true;
}

bool mask_text(const struct mask *m, const char *s, size_t n, struct buf *out)
{
	return mask_least(m, s, n, 0, out);
}

/* --- in pieces ------------------------------------------------------------------------------------- */

static struct mask_piece said(const struct mask_stream *s)
{
	return (struct mask_piece){ buf_cstr(&s->out), s->out.len };
}

/* What stands before `to` and is no secret. */
static void let_out(struct sweep *w, size_t to, struct buf *out)
{
	if (to <= w->done)
		return;
	buf_add(out, w->s + w->done, to - w->done);
	w->within = false;
	w->done = to;
}

static void keep(struct mask_stream *s, const struct sweep *w, size_t from)
{
	s->within = w->within;
	s->shown = w->done > from ? w->done - from : 0;
	if (w->s != s->held.data)
		buf_add(&s->held, w->s + from, w->n - from);
	else
		buf_consume(&s->held, from);
}

/* What is held, with as much of the next bytes as its forms may have. Where that is not all of them: how many of them
 * are done with. */
static size_t join(struct mask_stream *s, struct sweep *w, const char *bytes, size_t n)
{
	size_t before = s->held.len, more = MIN_OF(n, s->m->longest), from;

	buf_add(&s->held, bytes, more);
	if (s->held.failed) { /* it is lost, rather than seen */
		buf_clear(&s->held);
		s->shown = 0;
		return n;
	}
	w->s = s->held.data;
	w->n = s->held.len;
	from = sweep(w, 0, false, &s->out);
	let_out(w, from, &s->out);
	if (more == n)
		return keep(s, w, from), n;
	buf_clear(&s->held);
	w->done -= before;
	return from - before;
}

struct mask_piece mask_stream_feed(struct mask_stream *s, const char *bytes, size_t n)
{
	struct sweep w = { .m = s->m, .done = s->shown, .within = s->within };
	struct mask_piece piece = { bytes, 0 };
	size_t at = 0;

	if (n == 0)
		return piece;
	buf_clear(&s->out);
	if (s->held.len > 0 && (at = join(s, &w, bytes, n)) == n)
		return said(s);
	w.s = bytes;
	w.n = n;
	at = sweep(&w, at, false, &s->out);
	if (s->out.len > 0 || at <= w.done) {
		let_out(&w, at, &s->out);
	} else {
		piece = (struct mask_piece){ bytes + w.done, at - w.done };
		w.within = false;
		w.done = at;
	}
	keep(s, &w, at);
	return piece.n > 0 ? piece : said(s);
}

/* What is held, as if the text ended here. */
static void show(struct mask_stream *s, bool cut)
{
	struct sweep w = { .m = s->m, .s = buf_cstr(&s->held), .n = s->held.len, .done = s->shown, .within = s->within };

	buf_clear(&s->out);
	if (cut && w.n >= MASK_LEAST && w.done < w.n)
		hide(&w, w.done, w.n - w.done, &s->out);
	else
		sweep(&w, 0, true, &s->out);
	if (w.done < w.n) {
		buf_add(&s->out, w.s + w.done, w.n - w.done);
		w.within = false;
	}
	s->within = w.within;
	s->shown = w.n;
}

struct mask_piece mask_stream_rest(struct mask_stream *s)
{
	show(s, true);
	return said(s);
}

struct mask_piece mask_stream_end(struct mask_stream *s, bool cut)
{
	show(s, cut);
	buf_clear(&s->held);
	s->shown = 0;
	s->within = false;
	return said(s);
}

bool mask_stream_holds(const struct mask_stream *s)
{
	return s->held.len > s->shown;
}

void mask_stream_release(struct mask_stream *s)
{
	buf_release(&s->held);
	buf_release(&s->out);
}
