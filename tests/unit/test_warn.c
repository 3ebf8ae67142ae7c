/*
 * test_warn.c: the warnings that every room adds to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/warn.h"
#include "run_fixture.h"

static struct run run;

static int open_run(void **state UNUSED)
{
	run_open(&run);
	return 0;
}

static int close_run(void **state UNUSED)
{
	run_close(&run);
	return 0;
}

/* The warnings as the envelope has them: the inside of an array. */
static const char *warnings(void)
{
	static struct buf out = BUF_INIT;

	buf_clear(&out);
	buf_add_str(&out, "[");
	buf_add(&out, run.warnings.rows.data, run.warnings.rows.len);
	buf_add_str(&out, "]");
	assert_int_equal(json_check(out.data, out.len), JSON_ARRAY);
	return out.data;
}

static struct field bytes(const char *s)
{
	return (struct field){ .s = s, .n = strlen(s) };
}

static void a_warning_is_code_message_and_a_context_that_is_an_object(void **state UNUSED)
{
	static const char *const refused[] = { "", "[]", "1", "null", "{", "{\"a\":\n1}", "{} {}" };

	run_warn(&run, "A_CODE", "text", "{\"n\":1}");
	assert_string_equal(warnings(), "[{\"code\":\"A_CODE\",\"message\":\"text\",\"context\":{\"n\":1}}]");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		run_warn(&run, "A_CODE", "text", refused[i]);
	run_warn(&run, "A_CODE", "text", NULL);
	assert_int_equal(run.warnings.count, ARRAY_LEN(refused) + 2);
	assert_null(strstr(strstr(warnings(), "context") + 1, "context"));
}

static void a_malformed_code_becomes_warning(void **state UNUSED)
{
	run_warn_bytes(&run, bytes("not a code\"},{"), bytes("m"), bytes(""));
	run_warn_bytes(&run, bytes(""), bytes(""), bytes(""));
	run_warn_bytes(&run, (struct field){ .s = "" }, (struct field){ .s = "" }, (struct field){ .s = "" });
	assert_string_equal(warnings(), "[{\"code\":\"WARNING\",\"message\":\"m\"},{\"code\":\"WARNING\",\"message\":\"\"},"
	                                "{\"code\":\"WARNING\",\"message\":\"\"}]");
}

static void a_hundred_warnings_are_kept_and_the_rest_counted(void **state UNUSED)
{
	for (int i = 0; i < WARNINGS_MAX + 25; i++)
		run_warn(&run, "A_CODE", "text", NULL);
	assert_int_equal(run.warnings.count, WARNINGS_MAX - 1);
	assert_int_equal(run.warnings.dropped, 26);
	run_warn_dropped(&run);
	assert_int_equal(run.warnings.count, WARNINGS_MAX);
	assert_contains(warnings(), "{\"code\":\"WARNINGS_DROPPED\",\"message\":\"Too many warnings; the rest were dropped\",\"context\":{\"dropped\":26}}");
}

static void a_flood_of_the_commands_warnings_leaves_room_for_ours(void **state UNUSED)
{
	for (int i = 0; i < WARNINGS_MAX + 25; i++)
		run_warn_bytes(&run, bytes("A_CODE"), bytes("text"), bytes(""));
	run_warn(&run, "SURVIVORS", "text", NULL);
	assert_int_equal(run.warnings.count, WARNINGS_OF_COMMAND + 1);
	assert_contains(warnings(), "SURVIVORS");
}

static void a_long_or_dirty_message_is_cut_and_cleaned(void **state UNUSED)
{
	static char text[MESSAGE_MAX * 2];

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "\x1b[31m\xff\0", 7);
	run_warn_bytes(&run, bytes("A_CODE"), (struct field){ .s = text, .n = sizeof(text) }, bytes(""));
	assert_in_range(strlen(warnings()), MESSAGE_MAX - 16, MESSAGE_MAX + 64);
	memset(text, 0xe2, sizeof(text)); /* cut inside of a sequence */
	run_warn_bytes(&run, bytes("A_CODE"), (struct field){ .s = text, .n = sizeof(text) }, bytes(""));
	warnings();
}

static void a_counted_warning_carries_its_number_and_text(void **state UNUSED)
{
	struct buf text = BUF_INIT;

	buf_add_str(&text, "say \"hi\"\n");
	run_warn_counted(&run, "THIRD_PARTY_STDOUT", "m", "bytes", INT64_MAX, &text);
	run_warn_counted(&run, "WARNINGS_DROPPED", "m", "dropped", -1, NULL);
	assert_contains(warnings(), "\"context\":{\"bytes\":9223372036854775807,\"text\":\"say \\\"hi\\\"\\n\"}");
	assert_contains(warnings(), "\"context\":{\"dropped\":-1}");
	buf_release(&text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_warning_is_code_message_and_a_context_that_is_an_object),
		TEST(a_malformed_code_becomes_warning),
		TEST(a_hundred_warnings_are_kept_and_the_rest_counted),
		TEST(a_flood_of_the_commands_warnings_leaves_room_for_ours),
		TEST(a_long_or_dirty_message_is_cut_and_cleaned),
		TEST(a_counted_warning_carries_its_number_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
