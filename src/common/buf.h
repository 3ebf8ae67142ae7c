/*
 * buf.h: a growing byte buffer.
 *
 * Invariants: `len < cap` whenever `data` is not NULL, and `data[len]` is NUL.
 * Ownership: the buf owns `data`; buf_release() frees it and leaves an empty
 * buf that may be used again. A struct buf set to BUF_INIT may be released.
 * Errors: when memory runs out, the whole append is dropped and `failed` stays
 * set, so a caller may append many times and check once at the end.
 */
#ifndef RUNNER_BUF_H
#define RUNNER_BUF_H

#include <stdarg.h>

#include "base.h"

struct buf {
	char *data;
	size_t len;
	size_t cap;
	bool failed; /* an append was lost: out of memory */
};

#define BUF_INIT { NULL, 0, 0, false }

/* Make room for `more` bytes after len. 0, or -1 when out of memory. */
int buf_reserve(struct buf *b, size_t more);
/* Append n bytes, a C string, one byte, formatted text. The bytes are copied. */
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_add_str(struct buf *b, const char *s);
void buf_add_fmt(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_add_vfmt(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

static inline void buf_add_char(struct buf *b, char c)
{
	if (b->failed || b->cap - b->len < 2) {
		buf_add(b, &c, 1);
	} else {
		b->data[b->len++] = c;
		b->data[b->len] = '\0';
	}
}

/* The decimal text of v; the returned pointer is inside `out`. Unlike printf(3),
 * it costs no dozen page faults. */
#define INT_TEXT 24
const char *int_text(int64_t v, char out[INT_TEXT]);

/* Drop the first n bytes (n ≤ len), keeping the rest in order. */
void buf_consume(struct buf *b, size_t n);
/* Empty the buf but keep its memory; clears `failed`. */
void buf_clear(struct buf *b);
/* Free the memory; the buf is BUF_INIT again. */
void buf_release(struct buf *b);
/* The bytes as a C string, "" if nothing was ever added; never NULL. Valid until the next change. */
const char *buf_cstr(const struct buf *b);

#endif
