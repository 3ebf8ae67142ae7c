/*
 * test_outline.c: of a text of any length its outermost object is left, wherever it is cut, and no value passes for a member.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/outline.h"

static void take(struct outline *o, const char *s, size_t step)
{
	size_t n = strlen(s);

	*o = (struct outline)OUTLINE_INIT;
	for (size_t at = 0; at < n; at += step)
		outline_take(o, s + at, n - at < step ? n - at : step);
}

static void check(const char *s, const char *expected)
{
	struct outline o;

	for (size_t step = 1; step <= strlen(s); step++) {
		take(&o, s, step);
		assert_false(o.failed);
		assert_int_equal(o.n, strlen(expected));
		assert_memory_equal(o.text, expected, o.n);
	}
}

static void test_only_the_outermost_object_is_left(void **unused)
{
	(void)unused;
	check("{\"id\":7,\"params\":{\"id\":8,\"a\":[{\"id\":9}]}}", "{\"id\":7,\"params\":{}}");
	check("{\"params\":[[{}],\"}\",\"\\\"}],\\\"id\\\":1\"], \"id\": \"a\\\"]b\"}", "{\"params\":[], \"id\": \"a\\\"]b\"}");
	check("{\"params\":{\"a\":\"\\\\\"},\"id\":1}", "{\"params\":{},\"id\":1}");
	check("{\"params\":{\"a\":\"\\\\\\\"},\\\"id\\\":2\"},\"id\":1}", "{\"params\":{},\"id\":1}");
	check("[{\"id\":1}]", "[{}]"); /* the outermost level, whatever it is */
	check("{\"id\":1,\"params\":{", "{\"id\":1,\"params\":{");
	check("{\"id\":1} {\"id\":2}", "{\"id\":1} {\"id\":2}");
}

static void test_what_has_no_form_has_no_outline(void **unused)
{
	static const char *const broken[] = { "}", "]{", "{\"a\":[}", "{\"a\":{]}", "{]", "{}}" };
	struct outline o;

	(void)unused;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		take(&o, broken[i], 1);
		assert_true(o.failed);
	}
}

static void test_it_is_bounded(void **unused)
{
	struct outline o = OUTLINE_INIT;

	(void)unused;
	for (size_t i = 0; i < OUTLINE_BYTES; i++)
		outline_take(&o, " ", 1);
	assert_false(o.failed);
	outline_take(&o, " ", 1);
	assert_true(o.failed);
	o = (struct outline)OUTLINE_INIT;
	for (size_t i = 0; i < OUTLINE_DEPTH; i++)
		outline_take(&o, i % 3 ? "[" : "{", 1);
	assert_false(o.failed);
	for (size_t i = OUTLINE_DEPTH; i-- > 1;)
		outline_take(&o, i % 3 ? "]" : "}", 1);
	outline_take(&o, "}", 1);
	assert_false(o.failed);
	assert_int_equal(o.depth, 0);
	assert_memory_equal(o.text, "{[]}", 4);
	o = (struct outline)OUTLINE_INIT;
	for (size_t i = 0; i <= OUTLINE_DEPTH; i++)
		outline_take(&o, "[", 1);
	assert_true(o.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_outermost_object_is_left),
		cmocka_unit_test(test_what_has_no_form_has_no_outline),
		cmocka_unit_test(test_it_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
