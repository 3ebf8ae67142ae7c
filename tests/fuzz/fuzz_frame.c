/*
 * fuzz_frame.c: any bytes, cut anywhere, give the decoder's four answers; the
 * same frames come out however the bytes were cut, and what was read is what
 * writing it again gives.
 */
#include "fuzz.h"

#include "../../src/common/frame.h"

static const struct {
	enum frame_kind kind;
	enum field_id id;
	enum field_type type;
} rows[] = {
#define FIELD(frame, name, type) { FRAME_##frame, F_##name, FIELD_##type },
#include "../../src/common/frame.def"
};

static void walk_list(const struct frame *f, enum field_id id)
{
	size_t at = 0, length = 0;

	for (const char *item; (item = frame_list_next(f, id, &at));)
		length += strlen(item) + 1;
	HOLDS(length == frame_str(f, id).n);
}

/* Append the frame to `out` as an encoder would, fields in the table's order. */
static void write_again(struct buf *out, const struct frame *f)
{
	size_t start = frame_begin(out, f->kind);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char copy[16];

		if (rows[i].kind != f->kind || !frame_has(f, rows[i].id))
			continue;
		if (rows[i].type == FIELD_INT)
			frame_add_int(out, rows[i].id, frame_int(f, rows[i].id, 0));
		else
			frame_add_bytes(out, rows[i].id, frame_str(f, rows[i].id).s, frame_str(f, rows[i].id).n);
		if (rows[i].type == FIELD_LIST)
			walk_list(f, rows[i].id);
		HOLDS(strlen(frame_copy(f, rows[i].id, copy, sizeof(copy))) < sizeof(copy));
	}
	HOLDS(frame_end(out, start) == 0);
}

/* Decode everything, fed in pieces of `piece` bytes; the frames go to `out`. */
static enum frame_status decode(const uint8_t *data, size_t size, size_t piece, struct buf *out)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	enum frame_status status = FRAME_WANT_MORE;
	size_t fed = 0;
	struct frame f;

	for (size_t at = 0; at < size && status == FRAME_WANT_MORE; at += piece) {
		HOLDS(frame_feed(&d, data + at, MIN_OF(piece, size - at)) == 0);
		fed += MIN_OF(piece, size - at);
		while ((status = frame_next(&d, &f)) == FRAME_READY)
			write_again(out, &f);
	}
	/* every byte that was taken has a place in what was read: none twice, none lost */
	HOLDS(out->len == fed - (d.in.len - d.taken));
	if (status != FRAME_WANT_MORE) {
		HOLDS(frame_next(&d, &f) == status);
		HOLDS(status != FRAME_OVERSIZE || f.kind != FRAME_NONE);
	}
	frame_decoder_release(&d);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, pieces = BUF_INIT, again = BUF_INIT;
	size_t piece = size > 0 ? data[0] % 31 + 1 : 1;
	enum frame_status status = decode(data, size, size + 1, &whole);

	HOLDS(decode(data, size, piece, &pieces) == status);
	HOLDS(pieces.len == whole.len && memcmp(buf_cstr(&pieces), buf_cstr(&whole), whole.len) == 0);
	decode((const uint8_t *)buf_cstr(&whole), whole.len, whole.len + 1, &again);
	HOLDS(again.len == whole.len && memcmp(buf_cstr(&again), buf_cstr(&whole), whole.len) == 0);
	buf_release(&whole);
	buf_release(&pieces);
	buf_release(&again);
	return 0;
}
