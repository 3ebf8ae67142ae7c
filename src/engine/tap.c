/*
 * tap.c: head-and-tail capture. Runs in both processes (the supervisor's taps
 * on fd 1 and 2, ctx:run's output). It knows no descriptors: bytes come in,
 * text goes out. When memory runs out, a cap shrinks to what is already stored,
 * so the kept text is always a true head and a true tail.
 */
#include "tap.h"

#include <string.h>

void tap_init(struct tap *t, size_t cap_bytes)
{
	*t = (struct tap){
		.head = BUF_INIT,
		.head_cap = cap_bytes - cap_bytes / 2,
		.ring = BUF_INIT,
		.tail_cap = cap_bytes / 2,
	};
}

void tap_release(struct tap *t)
{
	buf_release(&t->head);
	buf_release(&t->ring);
	tap_init(t, 0);
}

/* Append to b; on failure its cap becomes its current length. */
static bool grow(struct tap *t, struct buf *b, size_t *cap, const char *s, size_t n)
{
	if (n == 0 || buf_reserve(b, n) == 0) {
		buf_add(b, s, n);
		return true;
	}
	*cap = b->len;
	t->failed = true;
	return false;
}

static size_t feed_head(struct tap *t, const char *s, size_t n)
{
	n = MIN_OF(n, t->head_cap - t->head.len);
	return grow(t, &t->head, &t->head_cap, s, n) ? n : 0;
}

/* The ring is full: overwrite its oldest n ≤ tail_cap bytes. */
static void overwrite(struct tap *t, const char *s, size_t n)
{
	size_t first = MIN_OF(n, t->tail_cap - t->ring_start);

	if (n == 0)
		return;
	memcpy(t->ring.data + t->ring_start, s, first);
	memcpy(t->ring.data, s + first, n - first);
	t->ring_start = (t->ring_start + n) % t->tail_cap;
}

static void feed_tail(struct tap *t, const char *s, size_t n)
{
	size_t room = MIN_OF(n, t->tail_cap - t->ring.len);

	if (grow(t, &t->ring, &t->tail_cap, s, room)) {
		s += room;
		n -= room;
	}
	if (n > t->tail_cap) {
		s += n - t->tail_cap;
		n = t->tail_cap;
	}
	overwrite(t, s, n);
}

void tap_feed(struct tap *t, const void *bytes, size_t n)
{
	const char *s = bytes;
	size_t taken;

	t->total += n;
	if (n == 0)
		return;
	taken = feed_head(t, s, n);
	feed_tail(t, s + taken, n - taken);
}

uint64_t tap_dropped(const struct tap *t)
{
	return t->total - t->head.len - t->ring.len;
}

void tap_text(const struct tap *t, struct buf *out)
{
	uint64_t dropped = tap_dropped(t);

	buf_add(out, buf_cstr(&t->head), t->head.len);
	if (dropped > 0)
		buf_add_fmt(out, "\n[… %llu bytes omitted …]\n", (unsigned long long)dropped);
	buf_add(out, buf_cstr(&t->ring) + t->ring_start, t->ring.len - t->ring_start);
	buf_add(out, buf_cstr(&t->ring), t->ring_start);
}
