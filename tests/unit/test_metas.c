/*
 * test_metas.c: which names and values a library module can add to meta.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/metas.h"

static struct metas metas;

static int release(void **state UNUSED)
{
	buf_release(&metas.members);
	metas = (struct metas){ .members = BUF_INIT };
	return 0;
}

static void add(const char *name, const char *json)
{
	metas_add(&metas, name, (struct field){ .s = json, .n = strlen(json) });
}

static void metas_are_members_in_their_order(void **state UNUSED)
{
	add("extra", "[1]");
	add("more_2", "{\"a\":null}");
	assert_string_equal(buf_cstr(&metas.members), ",\"extra\":[1],\"more_2\":{\"a\":null}");
}

static void metas_are_named_once_and_bounded(void **state UNUSED)
{
	char name[META_NAME];

	for (int i = 0; i < METAS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "m%d", i % (METAS_MAX + 5));
		add(name, "1");
		add(name, "2");
	}
	assert_int_equal(metas.count, METAS_MAX);
	assert_null(strstr(buf_cstr(&metas.members), ":2"));
}

/* What envelope.c writes into meta itself must not come a second time. */
static void a_meta_can_not_take_the_name_of_one_of_ours(void **state UNUSED)
{
	static const char *const ours[] = { "command", "exit_code", "items_emitted", "duration_ms", "timeout_ms", "request_id", "timestamp",
		                            "schema_version", "trace_id", "headless", "attempt", "max_attempts", "retries",
		                            "retry_history", "retry_seed", "steps" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		add(ours[i], "0");
	assert_int_equal(metas.members.len, 0);
}

static void what_differs_between_equal_calls_is_not_wanted_in_a_stable_answer(void **state UNUSED)
{
	static const char *const varying[] = { "duration_ms", "request_id", "timestamp", "retry_history", "retry_seed", "session_tmp_dir",
		                               "cache_used" };

	for (size_t i = 0; i < ARRAY_LEN(varying); i++)
		assert_true(metas_want(&metas, varying[i]));
	add("stable_output", "true");
	for (size_t i = 0; i < ARRAY_LEN(varying); i++) {
		assert_false(metas_want(&metas, varying[i]));
		add(varying[i], "1");
	}
	add("cwd", "1");
	assert_string_equal(buf_cstr(&metas.members), ",\"stable_output\":true,\"cwd\":1");
}

static void a_short_meta_has_none_that_its_caller_knows(void **state UNUSED)
{
	struct buf out = BUF_INIT;

	add("policy", "[]");
	add("pagination", "{}");
	add("form", "\"short\"");
	add("limits", "1");
	metas_write(&metas, &out);
	assert_string_equal(buf_cstr(&out), ",\"pagination\":{},\"form\":\"short\"");
	assert_false(metas_want(&metas, "request_id"));
	assert_true(metas_want(&metas, "retries"));
	assert_true(metas_want(&metas, "timeout_ms"));
	buf_release(&out);
}

static void an_error_has_names_of_its_own(void **state UNUSED)
{
	static const char *const taken[] = { "code", "message", "retryable", "context", "redirect", "signal" };

	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		metas_add_to_error(&metas, taken[i], (struct field){ .s = "1", .n = 1 });
	assert_int_equal(metas.members.len, 0);
	metas_add_to_error(&metas, "command", (struct field){ .s = "1", .n = 1 });
	assert_string_equal(buf_cstr(&metas.members), ",\"command\":1");
	metas_clear(&metas);
	assert_int_equal(metas.members.len, 0);
	metas_add_to_error(&metas, "command", (struct field){ .s = "2", .n = 1 });
	assert_string_equal(buf_cstr(&metas.members), ",\"command\":2");
}

static void other_names_and_invalid_json_are_left_out(void **state UNUSED)
{
	static const char *const names[] = { "", "Upper", "with space", "quote\"", "dash-ed", "\xc3\xa4",
		                             "a_name_that_is_longer_than_a_meta_name_may_be" };
	static const char *const values[] = { "", "{", "{}}", "nul", "'a'" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		add(names[i], "1");
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		add("name", values[i]);
	assert_int_equal(metas.members.len, 0);
	assert_int_equal(metas.count, 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(metas_are_members_in_their_order),
		TEST(metas_are_named_once_and_bounded),
		TEST(a_meta_can_not_take_the_name_of_one_of_ours),
		TEST(what_differs_between_equal_calls_is_not_wanted_in_a_stable_answer),
		TEST(a_short_meta_has_none_that_its_caller_knows),
		TEST(an_error_has_names_of_its_own),
		TEST(other_names_and_invalid_json_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
