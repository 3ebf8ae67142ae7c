/*
 * fuzz_mask.c: whatever the values and the text, its pieces don't matter: what comes out is the same as for the whole. No value is left, and a JSON
 * text stays one.
 */
#include "fuzz.h"

#include "../../src/common/json.h"
#include "../../src/common/mask.h"

struct input {
	const char *s;
	size_t n;
};

static unsigned take(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return (unsigned char)*in->s++;
}

static struct mask *take_values(struct input *in, struct buf *first)
{
	struct mask *m = mask_new();

	HOLDS(m);
	for (unsigned count = take(in) % 4; count > 0; count--) {
		size_t n = take(in);

		n = MIN_OF(n, in->n);
		HOLDS(mask_add(m, in->s, n) == 0);
		buf_clear(first);
		buf_add(first, in->s, n);
		in->s += n, in->n -= n;
	}
	return m;
}

static void add(struct buf *out, struct mask_piece piece)
{
	buf_add(out, piece.s, piece.n);
}

static void check_pieces(const struct mask *m, const char *s, size_t n, const struct buf *expected, unsigned seed)
{
	struct mask_stream stream = { .m = m };
	struct buf out = BUF_INIT;

	for (size_t length; n > 0; s += length, n -= length) {
		char *copy;

		seed = seed * 1103515245u + 12345u;
		length = MIN_OF((size_t)(seed >> 16) % 9, n);
		copy = malloc(length + 1);
		HOLDS(copy);
		memcpy(copy, s, length);
		add(&out, mask_stream_feed(&stream, copy, length));
		free(copy);
	}
	add(&out, mask_stream_end(&stream, false));
	HOLDS(out.len == expected->len && memcmp(buf_cstr(&out), buf_cstr(expected), out.len) == 0);
	mask_stream_release(&stream);
	buf_release(&out);
}

static bool is_blank(const struct buf *b)
{
	return strspn(buf_cstr(b), " \t\n\v\f\r") == b->len;
}

static void check_json(const struct mask *m, const char *s, size_t n, unsigned seed)
{
	struct buf out = BUF_INIT;
	enum json_kind kind = json_check(s, n);

	if (mask_json(m, s, n, seed % 4, &out) && (kind == JSON_OBJECT || kind == JSON_ARRAY))
		HOLDS(json_check(out.data, out.len) == kind);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { (const char *)data, size };
	struct buf value = BUF_INIT, whole = BUF_INIT;
	unsigned seed = take(&in);
	struct mask *m = take_values(&in, &value);

	if (!mask_text(m, in.s, in.n, &whole))
		buf_add(&whole, in.s, in.n);
	check_pieces(m, in.s, in.n, &whole, seed);
	if (value.len > 0 && !is_blank(&value) && !memchr(value.data, '*', value.len))
		HOLDS(!memmem(buf_cstr(&whole), whole.len, value.data, value.len));
	check_json(m, in.s, in.n, seed);
	mask_free(m);
	buf_release(&value);
	buf_release(&whole);
	return 0;
}
