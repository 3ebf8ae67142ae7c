/*
 * frame.c: encoding and decoding of frames (frame.h). The worker encodes, the
 * supervisor decodes; the table is frame.def.
 *
 * The decoder trusts nothing: whatever arrives, it returns READY, WANT_MORE,
 * OVERSIZE or BROKEN. It must not interpret fields; JSON fields are not checked
 * here.
 */
#include "frame.h"

#include <string.h>

#include "json.h"

#define FRAME_VERSION 1
#define FIELD_HEADER 5
#define BIT(id) (UINT64_C(1) << (id))

_Static_assert(FIELD_ID_COUNT <= 64, "struct frame.has has one bit per field");

struct frame_row {
	const char *name;
	size_t cap;
};

static const struct frame_row frames[FRAME_KIND_COUNT] = {
#define FRAME(name_, cap_) [FRAME_##name_] = { #name_, cap_ },
#include "frame.def"
};

struct field_row {
	enum frame_kind kind;
	enum field_id id;
	enum field_type type;
	char name[24]; /* in place: a pointer would be relocated at every start */
};

static const struct field_row fields[] = {
#define FIELD(frame_, name_, type_) { FRAME_##frame_, F_##name_, FIELD_##type_, #name_ },
#include "frame.def"
};

/* The fields that each kind may carry: each FIELD row adds its bit to its frame's. */
static const uint64_t allowed[FRAME_KIND_COUNT] = {
	[FRAME_NONE] = 0
#define FRAME(name_, cap_) , [FRAME_##name_] = 0
#define FIELD(frame_, name_, type_) | BIT(F_##name_)
#include "frame.def"
};

/* The fields whose bytes need a check of their form. */
static const uint64_t int_fields = 0
#define FIELD(frame_, name_, type_) | (FIELD_##type_ == FIELD_INT ? BIT(F_##name_) : 0)
#include "frame.def"
;

static const uint64_t list_fields = 0
#define FIELD(frame_, name_, type_) | (FIELD_##type_ == FIELD_LIST ? BIT(F_##name_) : 0)
#include "frame.def"
;

/* --- the table -------------------------------------------------------------------- */

int frame_kind_find(const char *name)
{
	for (int k = FRAME_NONE + 1; k < FRAME_KIND_COUNT; k++) {
		if (strcmp(frames[k].name, name) == 0)
			return k;
	}
	return -1;
}

int frame_field_find(enum frame_kind kind, const char *name, enum field_type *type)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].kind != kind || fields[i].name[0] != name[0] || strcmp(fields[i].name, name) != 0)
			continue;
		*type = fields[i].type;
		return (int)fields[i].id;
	}
	return -1;
}

/* --- numbers on the wire ------------------------------------------------------------ */

static void put_le(char *out, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (char)(v >> (8 * i) & 0xff);
}

static uint64_t get_le(const char *s, size_t bytes)
{
	uint64_t v = 0;
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)(unsigned char)s[i] << (8 * i);
	return v;
}

/* --- encoding ------------------------------------------------------------------------- */

size_t frame_begin(struct buf *out, enum frame_kind kind)
{
	size_t start = out->len;
	const char header[FRAME_HEADER] = { 'R', 'F', (char)kind, FRAME_VERSION };
	buf_add(out, header, sizeof(header));
	return start;
}

void frame_add_last(struct buf *out, enum field_id id, size_t n)
{
	char header[FIELD_HEADER] = { (char)id };
	/* a length above 32 bits exceeds every cap, so frame_end() drops the frame */
	put_le(header + 1, n, 4);
	buf_add(out, header, sizeof(header));
}

size_t frame_begin_field(struct buf *out, enum field_id id)
{
	frame_add_last(out, id, 0);
	return out->len;
}

void frame_end_field(struct buf *out, size_t start)
{
	if (!out->failed)
		put_le(out->data + start - 4, out->len - start, 4);
}

void frame_add_bytes(struct buf *out, enum field_id id, const void *s, size_t n)
{
	frame_add_last(out, id, n);
	buf_add(out, s, n);
}

void frame_add_int(struct buf *out, enum field_id id, int64_t v)
{
	char bytes[8];
	put_le(bytes, (uint64_t)v, sizeof(bytes));
	frame_add_bytes(out, id, bytes, sizeof(bytes));
}

static void take_back(struct buf *out, size_t start)
{
	if (out->len <= start)
		return;
	out->len = start;
	out->data[start] = '\0';
}

static size_t cap_of(enum frame_kind kind)
{
	return (size_t)kind < FRAME_KIND_COUNT ? frames[kind].cap : 0;
}

int frame_end_ahead(struct buf *out, size_t start, size_t n)
{
	size_t payload = out->len - start - FRAME_HEADER + n;
	if (out->failed || payload > cap_of((enum frame_kind)out->data[start + 2])) {
		take_back(out, start);
		return -1;
	}
	put_le(out->data + start + 4, payload, 4);
	return 0;
}

int frame_end(struct buf *out, size_t start)
{
	return frame_end_ahead(out, start, 0);
}

/* --- decoding ------------------------------------------------------------------------- */

/* Move the rest only if it is no larger than what was consumed: linear in total. */
static void drop_taken(struct frame_decoder *d)
{
	if (d->taken == 0 || d->taken < d->in.len - d->taken)
		return;
	buf_consume(&d->in, d->taken);
	d->taken = 0;
}

int frame_feed(struct frame_decoder *d, const void *bytes, size_t n)
{
	drop_taken(d);
	d->missing = 0;
	buf_add(&d->in, bytes, n);
	return d->in.failed ? -1 : 0;
}

char *frame_room(struct frame_decoder *d, size_t *n)
{
	if (d->missing < FRAME_LONG || d->in.failed)
		return NULL;
	drop_taken(d);
	if (buf_reserve(&d->in, d->missing) < 0)
		return NULL;
	*n = d->missing;
	return d->in.data + d->in.len;
}

void frame_fed(struct frame_decoder *d, size_t n)
{
	d->missing -= n;
	buf_end(&d->in, d->in.data + d->in.len + n);
}

/* Read a complete header: its kind, version and payload length. */
static enum frame_status read_header(const char *s, struct frame *out, size_t *payload)
{
	unsigned char kind = (unsigned char)s[2];
	if (s[0] != 'R' || s[1] != 'F' || s[3] != FRAME_VERSION)
		return FRAME_BROKEN;
	if (kind == FRAME_NONE || kind >= FRAME_KIND_COUNT)
		return FRAME_BROKEN;
	out->kind = (enum frame_kind)kind;
	*payload = (size_t)get_le(s + 4, 4);
	return *payload > frames[kind].cap ? FRAME_OVERSIZE : FRAME_READY;
}

/* Do these bytes fit the type of the field? */
static bool well_typed(enum field_id id, const char *s, size_t n)
{
	if (int_fields & BIT(id))
		return n == 8;
	if (list_fields & BIT(id))
		return n == 0 || s[n - 1] == '\0';
	return true;
}

/* Read the field at s. Returns its size in bytes, 0 if it is malformed. */
static size_t read_field(const char *s, size_t left, struct frame *out)
{
	if (left < FIELD_HEADER)
		return 0;
	unsigned char id = (unsigned char)s[0];
	size_t n = (size_t)get_le(s + 1, 4);
	if (n > left - FIELD_HEADER || id >= FIELD_ID_COUNT)
		return 0;
	if (!(allowed[out->kind] & BIT(id)) || (out->has & BIT(id)))
		return 0;
	s += FIELD_HEADER;
	if (!well_typed((enum field_id)id, s, n))
		return 0;
	out->has |= BIT(id);
	if (int_fields & BIT(id))
		out->f[id] = (struct field){ .s = "", .i = (int64_t)get_le(s, 8) };
	else
		out->f[id] = (struct field){ .s = s, .n = n };
	return FIELD_HEADER + n;
}

static bool read_payload(const char *s, size_t n, struct frame *out)
{
	out->has = 0;
	while (n > 0) {
		size_t used = read_field(s, n, out);
		if (used == 0)
			return false;
		s += used;
		n -= used;
	}
	return true;
}

/* Nothing is consumed unless the frame is valid, so the next call sees the same
 * bytes and returns the same status. */
enum frame_status frame_next(struct frame_decoder *d, struct frame *out)
{
	size_t payload;
	out->kind = FRAME_NONE;
	out->from = d;
	out->has = 0;
	if (d->in.failed)
		return FRAME_BROKEN;
	size_t left = d->in.len - d->taken;
	if (left < FRAME_HEADER)
		return FRAME_WANT_MORE;
	const char *s = d->in.data + d->taken;
	enum frame_status status = read_header(s, out, &payload);
	if (status != FRAME_READY)
		return status;
	d->missing = payload - MIN_OF(left - FRAME_HEADER, payload);
	if (d->missing > 0)
		return FRAME_WANT_MORE;
	if (!read_payload(s + FRAME_HEADER, payload, out))
		return FRAME_BROKEN;
	d->taken += FRAME_HEADER + payload;
	return FRAME_READY;
}

void frame_decoder_release(struct frame_decoder *d)
{
	buf_release(&d->in);
	d->taken = d->missing = 0;
}

/* --- access ---------------------------------------------------------------------------- */

bool frame_has(const struct frame *f, enum field_id id)
{
	return (f->has & BIT(id)) != 0;
}

int64_t frame_int(const struct frame *f, enum field_id id, int64_t otherwise)
{
	return frame_has(f, id) ? f->f[id].i : otherwise;
}

struct field frame_str(const struct frame *f, enum field_id id)
{
	return frame_has(f, id) ? f->f[id] : (struct field){ .s = "" };
}

const char *frame_copy(const struct frame *f, enum field_id id, char *out, size_t cap)
{
	struct field field = frame_str(f, id);
	size_t n = text_cut(field.s, field.n, cap - 1);
	memcpy(out, field.s, n);
	out[n] = '\0';
	return out;
}

void frame_move(const struct frame *f, enum field_id id, struct buf *out)
{
	struct field field = frame_str(f, id);
	struct frame_decoder *d = f->from;
	struct buf rest = BUF_INIT;
	bool ours = field.s >= d->in.data && field.s < d->in.data + d->in.len; /* else another text has its place */

	buf_clear(out);
	if (!ours || field.n < FRAME_LONG || field.n < d->in.cap / 2) {
		buf_add(out, field.s, field.n);
		return;
	}
	buf_add(&rest, d->in.data + d->taken, d->in.len - d->taken);
	buf_release(out);
	*out = d->in;
	memmove(out->data, field.s, field.n);
	buf_end(out, out->data + field.n);
	d->in = rest;
	d->taken = 0;
}

const char *frame_list_next(const struct frame *f, enum field_id id, size_t *at)
{
	struct field field = frame_str(f, id);
	if (*at >= field.n)
		return NULL;
	const char *item = field.s + *at;
	*at += strlen(item) + 1;
	return item;
}
