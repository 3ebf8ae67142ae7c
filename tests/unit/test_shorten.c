/*
 * test_shorten.c: whatever a result is, what is left of it is JSON within the bytes, and a beginning of the whole.
 * SHORTEN_CASES in the environment: how many results are made (1000).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostile_json.h"
#include "needs.h"

static void check(const struct buf *whole, size_t max, size_t *cut, size_t *refused)
{
	struct buf out = BUF_INIT;
	struct shorten_cuts cuts;
	const char *a, *b;

	if (!shorten(&out, whole->data, whole->len, max, false, &cuts)) {
		assert_int_equal(out.len, 0);
		(*refused)++;
		buf_release(&out);
		return;
	}
	assert_true(out.len <= max);
	assert_true(json_check(out.data, out.len) != JSON_INVALID);
	a = out.data, b = whole->data;
	cut_end = a + out.len, whole_end = b + whole->len;
	assert_true(begins(&a, &b));
	assert_int_equal(*a + *b, 0);
	*cut += cuts.count > 0;
	buf_release(&out);
}

static void test_hostile_results(void **unused)
{
	const char *asked = getenv("SHORTEN_CASES");
	size_t cases = asked ? (size_t)atol(asked) : under_valgrind() ? 100 : 1000, cut = 0, refused = 0;
	struct buf whole = BUF_INIT;

	(void)unused;
	for (size_t i = 0; i < cases; i++) {
		dice_state = i;
		buf_clear(&whole);
		add_value(&whole, 0);
		if (whole.len < 64) {
			buf_clear(&whole);
			add_text(&whole, 200 + dice(300));
		}
		check(&whole, whole.len / (1 + dice(20)) + dice(200), &cut, &refused);
	}
	print_message("%zu results: %zu cut, %zu refused\n", cases, cut, refused);
	assert_true(cut > cases / 4);
	assert_true(refused > 0);
	buf_release(&whole);
}

/* --- what one can expect ---------------------------------------------------------------------- */

static const char *cut_to(struct buf *out, const char *text, size_t max, bool whole_data, struct shorten_cuts *cuts)
{
	buf_clear(out);
	return shorten(out, text, strlen(text), max, whole_data, cuts) ? buf_cstr(out) : NULL;
}

static void test_rows_come_first(void **unused)
{
	struct buf text = BUF_INIT, out = BUF_INIT;
	struct shorten_cuts cuts;

	(void)unused;
	buf_add_str(&text, "{\"ok\":true,\"data\":{\"rows\":[");
	for (int i = 0; i < 1000; i++)
		buf_add_fmt(&text, "%s{\"id\":%d}", i ? "," : "", i);
	buf_add_str(&text, "],\"title\":\"t\"}}");
	assert_non_null(cut_to(&out, text.data, 1000, false, &cuts));
	assert_true(out.len > 900);
	assert_int_equal(cuts.count, 1);
	assert_string_equal(cuts.row[0].path, "data.rows");
	assert_true(cuts.row[0].of_items);
	assert_int_equal(cuts.row[0].before, 1000);
	assert_non_null(strstr(out.data, "}],\"title\":\"t\"}}"));
	assert_null(cut_to(&out, text.data, 1000, true, &cuts));
	assert_non_null(cut_to(&out, text.data, text.len, true, &cuts));
	assert_int_equal(cuts.count, 0);
	buf_release(&text), buf_release(&out);
}

/* The bytes of a character, and of an escape, stay together wherever the cut is. */
static void test_characters_stay_whole(void **unused)
{
	struct buf text = BUF_INIT, out = BUF_INIT;

	(void)unused;
	for (int i = 0; i < 13; i++) {
		buf_clear(&text);
		buf_add_str(&text, "[\"");
		for (int k = 0; k < i; k++)
			buf_add_char(&text, 'a');
		for (int k = 0; k < 100; k++)
			buf_add_str(&text, "é€😀\\ud83d\\ude00\\\\");
		buf_add_str(&text, "\"]");
		for (size_t max = 140; max < 200; max++) {
			assert_non_null(cut_to(&out, text.data, max, false, NULL));
			assert_true(out.len <= max && out.len + 60 > max);
			assert_int_equal(json_check(out.data, out.len), JSON_ARRAY);
		}
	}
	buf_release(&text), buf_release(&out);
}

/* Half a command would be run; in a result it is only a text. */
static void test_commands_stay_whole(void **unused)
{
	struct buf text = BUF_INIT, out = BUF_INIT;

	(void)unused;
	for (int outside = 0; outside < 2; outside++) {
		buf_clear(&text);
		buf_add_fmt(&text, "{\"%s\":{\"fix_command\":\"", outside ? "error" : "data");
		for (int i = 0; i < 1000; i++)
			buf_add_char(&text, 'c');
		buf_add_str(&text, "\"}}");
		assert_int_equal(cut_to(&out, text.data, 500, false, NULL) == NULL, outside);
	}
	buf_release(&text), buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_results),
		cmocka_unit_test(test_rows_come_first),
		cmocka_unit_test(test_characters_stay_whole),
		cmocka_unit_test(test_commands_stay_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
