/*
 * test_frame_hostile.c: what a broken or greedy worker may send breaks the
 * stream at most: caps, damage, lost memory, volume.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "frame_samples.h"

/* --- caps and memory ----------------------------------------------------------------------- */

static void a_frame_over_its_cap_is_dropped_by_the_sender(void **state UNUSED)
{
	static char big[65536];
	struct buf out = BUF_INIT;
	add_sample_frame(&out, FRAME_RUN);
	size_t before = out.len;
	size_t start = frame_begin(&out, FRAME_LOG);
	frame_add_bytes(&out, F_message, big, sizeof(big) - 4);
	assert_int_equal(frame_end(&out, start), -1);
	assert_int_equal(out.len, before);
	assert_int_equal(out.data[before], '\0');
	start = frame_begin(&out, FRAME_LOG);
	frame_add_bytes(&out, F_message, big, sizeof(big) - 5);
	assert_int_equal(frame_end(&out, start), 0);
	buf_release(&out);
}

static void a_frame_that_lost_memory_is_dropped(void **state UNUSED)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_LOG);
	frame_add_bytes(&out, F_message, "x", SIZE_MAX);
	frame_add_int(&out, F_level, 1);
	assert_int_equal(frame_end(&out, start), -1);
	assert_int_equal(out.len, 0);
	buf_release(&out);
	out.failed = true;
	assert_int_equal(frame_end(&out, frame_begin(&out, FRAME_LOG)), -1);
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

static void check_sticky(const char *bytes, size_t n, enum frame_status expected, enum frame_kind kind)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf good = BUF_INIT;
	struct frame f;
	add_every_frame(&good);
	assert_int_equal(frame_feed(&d, bytes, n), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(frame_next(&d, &f), expected);
		if (expected == FRAME_OVERSIZE)
			assert_int_equal(f.kind, kind);
		assert_int_equal(frame_feed(&d, good.data, good.len), 0);
	}
	frame_decoder_release(&d);
	buf_release(&good);
}

static void an_announced_oversize_says_its_kind_and_sticks(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		uint32_t n = (uint32_t)kinds[i].cap + 1;
		const char header[FRAME_HEADER] = {
			'R', 'F', (char)kinds[i].kind, 1,
			(char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24),
		};
		check_sticky(header, sizeof(header), FRAME_OVERSIZE, kinds[i].kind);
	}
	check_sticky("RF\1\1\xff\xff\xff\xff", FRAME_HEADER, FRAME_OVERSIZE, FRAME_EXIT);
}

struct bytes {
	const char *s;
	size_t n;
};
#define BYTES(literal) { literal, sizeof(literal) - 1 }

static void what_is_not_our_format_is_broken_and_sticks(void **state UNUSED)
{
	static const struct bytes streams[] = {
		BYTES("print me"), BYTES("RX\3\1\0\0\0\0"), BYTES("RF\3\2\0\0\0\0"),
		BYTES("RF\0\1\0\0\0\0"), BYTES("RF\x7f\1\0\0\0\0"), BYTES("RF\xff\1\0\0\0\0"),
	};
	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		check_sticky(streams[i].s, streams[i].n, FRAME_BROKEN, FRAME_NONE);
}

/* A whole frame whose payload is these bytes must be refused. */
static void check_bad_payload(enum frame_kind kind, const struct buf *payload)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, kind);
	buf_add(&out, payload->data, payload->len);
	assert_int_equal(frame_end(&out, start), 0);
	check_sticky(out.data, out.len, FRAME_BROKEN, kind);
	buf_release(&out);
}

static void a_payload_that_is_not_a_list_of_its_fields_is_broken(void **state UNUSED)
{
	struct buf p = BUF_INIT;
	frame_add_int(&p, (enum field_id)FIELD_ID_COUNT, 1); /* an unknown field */
	check_bad_payload(FRAME_HOLD, &p);
	buf_clear(&p);
	frame_add_int(&p, F_pid, 1); /* a field of another frame */
	check_bad_payload(FRAME_HOLD, &p);
	buf_clear(&p);
	frame_add_int(&p, F_change, 1); /* the same field twice */
	frame_add_int(&p, F_change, 1);
	check_bad_payload(FRAME_HOLD, &p);
	buf_clear(&p);
	frame_add_bytes(&p, F_change, "1234567", 7); /* too short for a number */
	check_bad_payload(FRAME_HOLD, &p);
	buf_clear(&p);
	frame_add_bytes(&p, F_steps, "no end", 6); /* a list whose last item is open */
	check_bad_payload(FRAME_PLAN, &p);
	buf_clear(&p);
	frame_add_int(&p, F_change, 1);
	p.len--; /* a field that reaches beyond the payload */
	check_bad_payload(FRAME_HOLD, &p);
	p.len = 4; /* half a field header */
	check_bad_payload(FRAME_HOLD, &p);
	buf_release(&p);
}

/* --- damage ---------------------------------------------------------------------------- */

/* Decode to the end of what is there; touch every byte that a view promises. */
static void decode_all(const char *bytes, size_t n)
{
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct frame f;
	volatile size_t sum = 0;
	assert_int_equal(frame_feed(&d, bytes, n), 0);
	while (frame_next(&d, &f) == FRAME_READY) {
		for (int id = 0; id < FIELD_ID_COUNT; id++) {
			struct field s = frame_str(&f, (enum field_id)id);
			for (size_t i = 0; i < s.n; i++)
				sum += (unsigned char)s.s[i];
		}
		for (size_t at = 0; frame_list_next(&f, F_steps, &at) != NULL;)
			sum++;
	}
	frame_decoder_release(&d);
}

static void no_single_damaged_byte_does_harm(void **state UNUSED)
{
	struct buf out = BUF_INIT;
	add_every_frame(&out);
	/* an exact allocation, so that ASan sees the first byte beyond */
	char *copy = malloc(out.len);
	assert_non_null(copy);
	memcpy(copy, out.data, out.len);
	for (size_t i = 0; i < out.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			copy[i] = (char)(out.data[i] ^ (1 << bit));
			decode_all(copy, out.len);
		}
		copy[i] = (char)~out.data[i];
		decode_all(copy, out.len);
		copy[i] = out.data[i];
	}
	free(copy);
	buf_release(&out);
}

/* --- volume ------------------------------------------------------------------------------ */

static void a_result_of_16_mib_arrives_in_linear_time(void **state UNUSED)
{
	const size_t size = (size_t)16 << 20, step = 4096;
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf out = BUF_INIT;
	struct frame f;
	char *data = malloc(size);
	assert_non_null(data);
	memset(data, 'x', size);
	size_t start = frame_begin(&out, FRAME_RESULT);
	frame_add_bytes(&out, F_data, data, size);
	assert_int_equal(frame_end(&out, start), 0);
	clock_t began = clock();
	for (size_t at = 0; at < out.len; at += step) {
		assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
		assert_int_equal(frame_feed(&d, out.data + at, MIN_OF(step, out.len - at)), 0);
	}
	assert_int_equal(frame_next(&d, &f), FRAME_READY);
	assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
	assert_int_equal(frame_str(&f, F_data).n, size);
	assert_memory_equal(frame_str(&f, F_data).s, data, size);
	frame_decoder_release(&d);
	buf_release(&out);
	free(data);
}

static void a_long_queue_of_frames_is_not_moved_for_each(void **state UNUSED)
{
	const int count = 200000;
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf out = BUF_INIT;
	struct frame f;
	for (int i = 0; i < count; i++) {
		size_t start = frame_begin(&out, FRAME_HOLD);
		frame_add_int(&out, F_change, i);
		assert_int_equal(frame_end(&out, start), 0);
	}
	assert_int_equal(frame_feed(&d, out.data, out.len), 0);
	clock_t began = clock();
	for (int i = 0; i < count; i++) {
		assert_int_equal(frame_next(&d, &f), FRAME_READY);
		assert_int_equal(frame_int(&f, F_change, -1), i);
		assert_int_equal(frame_feed(&d, "R", i == count - 1), 0);
	}
	assert_true(clock() - began < 10 * CLOCKS_PER_SEC);
	assert_int_equal(d.in.len - d.taken, 1);
	frame_decoder_release(&d);
	buf_release(&out);
}

static void handled_frames_do_not_pile_up_in_memory(void **state UNUSED)
{
	static char text[60000];
	struct frame_decoder d = FRAME_DECODER_INIT;
	struct buf out = BUF_INIT;
	struct frame f;
	size_t start = frame_begin(&out, FRAME_LOG);
	frame_add_bytes(&out, F_message, text, sizeof(text));
	assert_int_equal(frame_end(&out, start), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(frame_feed(&d, out.data, 30000), 0);
		assert_int_equal(frame_next(&d, &f), FRAME_WANT_MORE);
		assert_int_equal(frame_feed(&d, out.data + 30000, out.len - 30000), 0);
		assert_int_equal(frame_next(&d, &f), FRAME_READY);
	}
	assert_true(d.in.cap < (size_t)1 << 20);
	frame_decoder_release(&d);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_over_its_cap_is_dropped_by_the_sender),
		cmocka_unit_test(a_frame_that_lost_memory_is_dropped),
		cmocka_unit_test(an_announced_oversize_says_its_kind_and_sticks),
		cmocka_unit_test(what_is_not_our_format_is_broken_and_sticks),
		cmocka_unit_test(a_payload_that_is_not_a_list_of_its_fields_is_broken),
		cmocka_unit_test(no_single_damaged_byte_does_harm),
		cmocka_unit_test(a_result_of_16_mib_arrives_in_linear_time),
		cmocka_unit_test(a_long_queue_of_frames_is_not_moved_for_each),
		cmocka_unit_test(handled_frames_do_not_pile_up_in_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
