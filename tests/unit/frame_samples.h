/*
 * frame_samples.h: the frame table once more, and one sample of every frame
 * with every field it may carry, for the tests of the wire format.
 */
#ifndef RUNNER_TEST_FRAME_SAMPLES_H
#define RUNNER_TEST_FRAME_SAMPLES_H

#include "../../src/common/frame.h"

static const struct {
	enum frame_kind kind;
	enum field_id id;
	const char *name;
	enum field_type type;
} rows[] = {
#define FIELD(frame, name, type) { FRAME_##frame, F_##name, #name, FIELD_##type },
#include "../../src/common/frame.def"
};

static const struct {
	enum frame_kind kind;
	const char *name;
	size_t cap;
} kinds[] = {
#define FRAME(name, cap) { FRAME_##name, #name, cap },
#include "../../src/common/frame.def"
};

static inline int64_t sample_int(enum field_id id)
{
	return id % 2 == 0 ? INT64_MIN + id : (int64_t)id * 1000003;
}

static inline void add_sample(struct buf *out, enum field_id id, enum field_type type)
{
	static const char list[] = "one\0\0three";
	if (type == FIELD_INT)
		frame_add_int(out, id, sample_int(id));
	else if (type == FIELD_LIST)
		frame_add_bytes(out, id, list, sizeof(list));
	else
		frame_add_bytes(out, id, "\0a\xff {}", (size_t)(id % 6));
}

static inline void add_sample_frame(struct buf *out, enum frame_kind kind)
{
	size_t start = frame_begin(out, kind);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].kind == kind)
			add_sample(out, rows[i].id, rows[i].type);
	}
	assert_int_equal(frame_end(out, start), 0);
}

static inline void add_every_frame(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		add_sample_frame(out, kinds[i].kind);
}

#endif
