/*
 * tap.h: bounded capture of a byte stream: keeps the head and the tail, and counts
 * the middle. Memory is at most head_cap + tail_cap, whatever comes.
 */
#ifndef RUNNER_TAP_H
#define RUNNER_TAP_H

#include "../common/buf.h"

struct tap {
	struct buf head;
	size_t head_cap;
	struct buf ring;  /* tail_cap bytes once full; oldest at ring_start */
	size_t ring_start;
	size_t tail_cap;
	uint64_t total;   /* bytes ever fed */
	bool failed;      /* out of memory or unreadable: more was lost than the caps imply */
};

/* cap_bytes is split evenly between head and tail; 0 keeps nothing but counts all. */
void tap_init(struct tap *t, size_t cap_bytes);
void tap_release(struct tap *t);
void tap_feed(struct tap *t, const void *bytes, size_t n);
uint64_t tap_dropped(const struct tap *t);
/* Append the kept text, with "\n[… N bytes omitted …]\n" in the gap, if any. */
void tap_text(const struct tap *t, struct buf *out);

#endif
