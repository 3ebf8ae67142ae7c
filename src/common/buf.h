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

/* Append the bytes of *from and leave it empty. If they are the larger part, they stay in their memory. */
void buf_give(struct buf *b, struct buf *from);

/* Append at most n bytes that the caller writes: where they begin. NULL: they are lost. buf_end() says
 * where they ended, before anything else is added. */
static inline char *buf_begin(struct buf *b, size_t n)
{
	if (b->failed || (b->cap - b->len <= n && buf_reserve(b, n) < 0)) {
		b->failed = true;
		return NULL;
	}
	return b->data + b->len;
}

static inline void buf_end(struct buf *b, char *end)
{
	b->len = (size_t)(end - b->data);
	*end = '\0';
}

static inline void buf_add_char(struct buf *b, char c)
{
	char *to = buf_begin(b, 1);

	if (to) {
		*to = c;
		buf_end(b, to + 1);
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
