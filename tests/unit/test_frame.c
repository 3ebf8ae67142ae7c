/*
 * test_frame.c: the frame table agrees with itself, and every frame comes back
 * as it was sent however it is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frame_samples.h"

static void check_sample_list(const struct frame *f, enum field_id id)
{
	size_t at = 0;
	assert_string_equal(frame_list_next(f, id, &at), "one");
	assert_string_equal(frame_list_next(f, id, &at), "");
	assert_string_equal(frame_list_next(f, id, &at), "three");
	assert_null(frame_list_next(f, id, &at));
	assert_null(frame_list_next(f, id, &at));
}

static void check_sample(const struct frame *f, enum field_id id, enum field_type type)
{
	assert_true(frame_has(f, id));
	if (type == FIELD_INT)
		assert_true(frame_int(f, id, -1) == sample_int(id));
	else if (type == FIELD_LIST)
		check_sample_list(f, id);
	else {
		struct field s = frame_str(f, id);
		assert_int_equal(s.n, id % 6);
		assert_memory_equal(s.s, "\0a\xff {}", s.n);
	}
}

static void check_sample_frame(const struct frame *f, enum frame_kind kind)
{
	uint64_t has = 0;
	assert_int_equal(f->kind, kind);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].kind != kind)
			continue;
		check_sample(f, rows[i].id, rows[i].type);
		has |= UINT64_C(1) << rows[i].id;
	}
	assert_true(f->has == has);
}

/* What the caller writes between the two is the field's, as if it had been added at once. */
static void a_field_is_written_where_it_stands(void **state UNUSED)
{
	struct buf out = BUF_INIT, same = BUF_INIT;

	for (size_t n = 0; n < 1000; n += 333) {
		size_t start = frame_begin(&out, FRAME_EMIT), field, other = frame_begin(&same, FRAME_EMIT);
		char bytes[1000] = "{}";

		frame_add_int(&out, F_delay_ms, 7);
		frame_add_int(&same, F_delay_ms, 7);
		field = frame_begin_field(&out, F_data);
		buf_add(&out, bytes, n / 2);
		buf_add(&out, bytes + n / 2, n - n / 2);
		frame_end_field(&out, field);
		frame_add_bytes(&same, F_data, bytes, n);
		assert_int_equal(frame_end(&out, start), 0);
		assert_int_equal(frame_end(&same, other), 0);
	}
	assert_int_equal(out.len, same.len);
	assert_memory_equal(out.data, same.data, out.len);
	buf_release(&out);
	buf_release(&same);
}

static void a_field_that_found_no_memory_is_none(void **state UNUSED)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_EMIT), field = frame_begin_field(&out, F_data);

	out.failed = true;
	frame_end_field(&out, field);
	assert_int_equal(frame_end(&out, start), -1);
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

/* --- the table ---------------------------------------------------------------------- */

static void every_field_id_has_a_row_and_every_row_an_id(void **state UNUSED)
{
	bool seen[FIELD_ID_COUNT] = { false };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(rows[i].id < FIELD_ID_COUNT);
		seen[rows[i].id] = true;
	}
	for (int id = 0; id < FIELD_ID_COUNT; id++) {
		if (!seen[id])
			fail_msg("field id %d stands in the enum but in no FIELD row", id);
	}
}

static void the_same_field_name_has_the_same_id_and_type_everywhere(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < i; k++) {
			bool same = strcmp(rows[i].name, rows[k].name) == 0;
			assert_int_equal(same, rows[i].id == rows[k].id);
			if (same && rows[i].type != rows[k].type)
				fail_msg("field %s has two types", rows[i].name);
			assert_false(same && rows[i].kind == rows[k].kind);
		}
	}
}

static void kinds_are_found_by_name(void **state UNUSED)
{
	assert_int_equal(ARRAY_LEN(kinds), FRAME_KIND_COUNT - 1);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		assert_int_equal(frame_kind_find(kinds[i].name), kinds[i].kind);
	assert_int_equal(frame_kind_find("NONE"), -1);
	assert_int_equal(frame_kind_find("plan"), -1);
}

static void fields_are_found_only_in_the_frames_that_carry_them(void **state UNUSED)
{
	enum field_type type;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(frame_field_find(rows[i].kind, rows[i].name, &type), rows[i].id);
		assert_int_equal(type, rows[i].type);
	}
	assert_int_equal(frame_field_find(FRAME_RUN, "name", &type), -1);
	assert_int_equal(frame_field_find(FRAME_PLAN, "ok", &type), -1);
	assert_int_equal(frame_field_find(FRAME_PLAN, "", &type), -1);
}

/* --- round trips ----------------------------------------------------------------------- */

static void every_frame_with_all_its_fields_comes_back(void **state UNUSED)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf out = BUF_INIT;
	struct frame f;
	add_every_frame(&out);
	assert_int_equal(frame_feed(&d, out.data, out.len), 0);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(frame_next(&d, &f), FRAME_READY);
		check_sample_frame(&f, kinds[i].kind);
	}
	assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
	frame_decoder_release(&d);
	buf_release(&out);
}

static void bytes_that_come_one_by_one_make_the_same_frames(void **state UNUSED)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf out = BUF_INIT;
	struct frame f;
	size_t frame = 0;
	add_every_frame(&out);
	for (size_t i = 0; i < out.len; i++) {
		assert_int_equal(frame_feed(&d, out.data + i, 1), 0);
		enum frame_status status = frame_next(&d, &f);
		if (status == FRAME_READY)
			check_sample_frame(&f, kinds[frame++].kind);
		else
			assert_int_equal(status, FRAME_WANT_MORE);
	}
	assert_int_equal(frame, ARRAY_LEN(kinds));
	frame_decoder_release(&d);
	buf_release(&out);
}

static void every_truncation_wants_more(void **state UNUSED)
{
	struct buf out = BUF_INIT;
	struct frame f;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		buf_clear(&out);
		add_sample_frame(&out, kinds[i].kind);
		for (size_t n = 0; n < out.len; n++) {
			struct frame_decoder d = FRAME_DECODER_INIT;
			assert_int_equal(frame_feed(&d, out.data, n), 0);
			assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
			assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
			frame_decoder_release(&d);
		}
	}
	buf_release(&out);
}

static void absent_fields_give_defaults_and_copies_are_cut_to_fit(void **state UNUSED)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf out = BUF_INIT;
	struct frame f;
	char text[4];
	size_t at = 0;
	size_t start = frame_begin(&out, FRAME_PLAN);
	frame_add_bytes(&out, F_command, "deploy", 6);
	assert_int_equal(frame_end(&out, start), 0);
	assert_int_equal(frame_feed(&d, out.data, out.len), 0);
	assert_int_equal(frame_next(&d, &f), FRAME_READY);
	assert_string_equal(frame_copy(&f, F_command, text, sizeof(text)), "dep");
	assert_string_equal(frame_copy(&f, F_command, text, 1), "");
	assert_string_equal(frame_copy(&f, F_digest, text, sizeof(text)), "");
	assert_false(frame_has(&f, F_digest));
	assert_int_equal(frame_int(&f, F_retries, -3), -3);
	assert_int_equal(frame_str(&f, F_digest).n, 0);
	assert_string_equal(frame_str(&f, F_digest).s, "");
	assert_null(frame_list_next(&f, F_steps, &at));
	frame_decoder_release(&d);
	buf_release(&out);
}

/* --- long fields ------------------------------------------------------------------------ */

#define LONG_N ((size_t)300000)

static char long_byte(size_t i)
{
	return (char)(i * 31 >> 3);
}

/* RESULT with ok and a data of n bytes, which its caller writes behind `out`; then a RUN. */
static void add_long(struct buf *out, size_t n)
{
	size_t start = frame_begin(out, FRAME_RESULT);

	frame_add_int(out, F_ok, 1);
	frame_add_last(out, F_data, n);
	assert_int_equal(frame_end_ahead(out, start, n), 0);
	for (size_t i = 0; i < n; i++)
		buf_add_char(out, long_byte(i));
	start = frame_begin(out, FRAME_RUN);
	frame_add_int(out, F_timeout_ms, 7);
	assert_int_equal(frame_end(out, start), 0);
}

static void check_long(const struct buf *data, size_t n)
{
	assert_int_equal(data->len, n);
	assert_int_equal(data->data[n], '\0');
	for (size_t i = 0; i < n; i++)
		if (data->data[i] != long_byte(i))
			fail_msg("byte %zu of %zu", i, n);
}

/* Up to n bytes of it come as a socket would bring them. */
static size_t receive(struct frame_decoder *d, const struct buf *wire, size_t at, size_t n)
{
	size_t most = n;
	char *room = frame_room(d, &most);

	n = MIN_OF(MIN_OF(n, most), wire->len - at);
	if (room) {
		memcpy(room, wire->data + at, n);
		frame_fed(d, n);
	} else {
		assert_int_equal(frame_feed(d, wire->data + at, n), 0);
	}
	return n;
}

/* Behind another frame, in pieces of that size. */
static void take_long(size_t n, size_t piece)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf wire = BUF_INIT, data = BUF_INIT;
	int results = 0, runs = 0;
	struct frame f;

	assert_int_equal(frame_end(&wire, frame_begin(&wire, FRAME_RUN)), 0);
	add_long(&wire, n);
	for (size_t at = 0; at < wire.len;) {
		at += receive(&d, &wire, at, piece);
		while (frame_next(&d, &f) == FRAME_READY) {
			if (f.kind == FRAME_RUN) {
				assert_int_equal(frame_int(&f, F_timeout_ms, 0), runs++ ? 7 : 0);
				continue;
			}
			results++;
			assert_int_equal(frame_int(&f, F_ok, 0), 1);
			buf_add_str(&data, "old");
			frame_move(&f, F_data, &data);
		}
	}
	assert_int_equal(results, 1);
	assert_int_equal(runs, 2);
	check_long(&data, n);
	buf_release(&data);
	buf_release(&wire);
	frame_decoder_release(&d);
}

static void a_long_field_is_moved_out_and_the_frames_behind_it_come_too(void **state UNUSED)
{
	static const size_t sizes[] = { 0, 1, FRAME_LONG - 1, FRAME_LONG, FRAME_LONG + 1, LONG_N };
	static const size_t pieces[] = { 39, 4096, FRAME_LONG, 200000, SIZE_MAX };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t k = 0; k < ARRAY_LEN(pieces); k++)
			take_long(sizes[i], pieces[k]);
}

static void there_is_room_only_for_what_a_frame_has_announced(void **state UNUSED)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf wire = BUF_INIT;
	struct frame f;
	size_t n = 1;

	assert_null(frame_room(&d, &n));
	add_long(&wire, LONG_N);
	assert_int_equal(frame_feed(&d, wire.data, 7), 0);
	assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
	assert_null(frame_room(&d, &n));
	assert_int_equal(frame_feed(&d, wire.data + 7, 100), 0);
	assert_null(frame_room(&d, &n)); /* nobody has looked at it yet */
	assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
	assert_non_null(frame_room(&d, &n));
	assert_int_equal(n, FRAME_HEADER + 13 + 5 + LONG_N - 107);
	frame_fed(&d, 0);
	assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
	frame_decoder_release(&d);
	assert_null(frame_room(&d, &n));
	buf_release(&wire);
}

static void a_last_field_counts_for_the_cap(void **state UNUSED)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_RESULT);

	frame_add_last(&out, F_data, (size_t)17 << 20);
	assert_int_equal(frame_end_ahead(&out, start, (size_t)17 << 20), -1);
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_field_is_written_where_it_stands),
		cmocka_unit_test(a_field_that_found_no_memory_is_none),
		cmocka_unit_test(every_field_id_has_a_row_and_every_row_an_id),
		cmocka_unit_test(the_same_field_name_has_the_same_id_and_type_everywhere),
		cmocka_unit_test(kinds_are_found_by_name),
		cmocka_unit_test(fields_are_found_only_in_the_frames_that_carry_them),
		cmocka_unit_test(every_frame_with_all_its_fields_comes_back),
		cmocka_unit_test(bytes_that_come_one_by_one_make_the_same_frames),
		cmocka_unit_test(every_truncation_wants_more),
		cmocka_unit_test(absent_fields_give_defaults_and_copies_are_cut_to_fit),
		cmocka_unit_test(a_long_field_is_moved_out_and_the_frames_behind_it_come_too),
		cmocka_unit_test(there_is_room_only_for_what_a_frame_has_announced),
		cmocka_unit_test(a_last_field_counts_for_the_cap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
