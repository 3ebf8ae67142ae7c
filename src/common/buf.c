/*
 * buf.c: the growing byte buffer of buf.h. Both processes use it.
 *
 * It must not print, exit or interpret the bytes. Once an append has been lost,
 * all later ones are dropped too, so the contents are always a prefix of the
 * intended text and never have a hole.
 */
#include "buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_CAP 64

int buf_reserve(struct buf *b, size_t more)
{
	/* malloc refuses more than PTRDIFF_MAX anyway; this keeps the sums below from overflowing */
	if (more >= (size_t)PTRDIFF_MAX - b->len)
		return -1;
	size_t need = b->len + more + 1;
	if (need <= b->cap)
		return 0;
	size_t cap = MAX_OF(MAX_OF(need, b->cap * 2), (size_t)BUF_FIRST_CAP);
	char *data = realloc(b->data, cap);
	if (data == NULL)
		return -1;
	data[b->len] = '\0';
	b->data = data;
	b->cap = cap;
	return 0;
}

static bool room_for(struct buf *b, size_t n)
{
	if (!b->failed && buf_reserve(b, n) != 0)
		b->failed = true;
	return !b->failed;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (n == 0 || !room_for(b, n))
		return;
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_give(struct buf *b, struct buf *from)
{
	bool larger = from->len > b->len && !b->failed && buf_reserve(from, b->len) == 0;
	struct buf other = *from;

	if (larger && b->len > 0) {
		memmove(from->data + b->len, from->data, from->len + 1);
		memcpy(from->data, b->data, b->len);
		from->len += b->len;
	}
	if (larger) {
		other = *b;
		*b = *from;
	} else {
		buf_add(b, from->data, from->len);
		b->failed |= from->failed;
	}
	free(other.data);
	*from = (struct buf)BUF_INIT;
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_vfmt(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		b->failed = true;
	else if (n > 0 && room_for(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_add_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_add_vfmt(b, fmt, ap);
	va_end(ap);
}

const char *int_text(int64_t v, char out[INT_TEXT])
{
	uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char *at = &out[INT_TEXT - 1];

	*at = '\0';
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (v < 0)
		*--at = '-';
	return at;
}

void buf_consume(struct buf *b, size_t n)
{
	n = MIN_OF(n, b->len);
	if (n == 0)
		return;
	b->len -= n;
	memmove(b->data, b->data + n, b->len);
	b->data[b->len] = '\0';
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data != NULL)
		b->data[0] = '\0';
}

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf)BUF_INIT;
}

const char *buf_cstr(const struct buf *b)
{
	return b->data != NULL ? b->data : "";
}
