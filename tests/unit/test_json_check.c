/*
 * test_json_check.c: the checker accepts RFC 8259 on one line and nothing that
 * would break, forge or colour the envelope.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/json.h"

/* From an allocation of exactly n bytes, so that ASan sees a read beyond it. */
static enum json_kind check(const char *s, size_t n)
{
	char *exact = malloc(n > 0 ? n : 1);
	assert_non_null(exact);
	memcpy(exact, s, n);
	enum json_kind kind = json_check(exact, n);
	free(exact);
	return kind;
}

static void check_all(const char *const *texts, size_t count, enum json_kind expected)
{
	for (size_t i = 0; i < count; i++) {
		enum json_kind kind = check(texts[i], strlen(texts[i]));
		if (kind != expected)
			fail_msg("%s is kind %d, not %d", texts[i], kind, expected);
	}
}
#define CHECK_ALL(texts, expected) check_all(texts, ARRAY_LEN(texts), expected)

static void every_kind_of_text_is_recognized(void **state UNUSED)
{
	static const char *const objects[] = {
		"{}", " { } ", "{\"a\":1}", "{\"a\" : [ ] , \"b\":{\"c\":null}}", "{\"\":0,\"\":1}", "\t{\t}\t",
	};
	static const char *const arrays[] = { "[]", "[ ]", "[1]", "[[],{},[[]]]", "[1 , \"a\",null,true]" };
	static const char *const scalars[] = { "true", "false", " 1 ", "\"\"", "\"text\"", "-0" };
	static const char *const nulls[] = { "null", " null\t" };
	CHECK_ALL(objects, JSON_OBJECT);
	CHECK_ALL(arrays, JSON_ARRAY);
	CHECK_ALL(scalars, JSON_SCALAR);
	CHECK_ALL(nulls, JSON_NULL);
}

static void broken_structure_is_refused(void **state UNUSED)
{
	static const char *const texts[] = {
		"", " ", "{", "}", "[", "]", "[}", "{]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[]]",
		"{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{a:1}", "{1:1}", "{\"a\",1}",
		"{'a':1}", "{\"a\":1}}", "{} {}", "1 1", "[] 1", ",", ":", "nul", "nulll", "True", "NULL",
		"truefalse", "undefined", "[true false]", "/* */1", "1//", "[[1]", "{\"a\":[}", "{null:1}",
		"\xef\xbb\xbf{}", "[{]}", "{[}]",
	};
	CHECK_ALL(texts, JSON_INVALID);
}

static void numbers_follow_the_grammar_to_the_letter(void **state UNUSED)
{
	static const char *const good[] = {
		"0", "-0", "7", "-12", "10", "0.5", "-0.25", "1.0e5", "1E5", "1e+5", "1E-05", "0e0",
		"123456789012345678901234567890", "1e999",
	};
	static const char *const bad[] = {
		"-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e5", "1e", "1e+", "1E-", "1e5.5", "0x10",
		"1_000", "1,5", "NaN", "Infinity", "-Infinity", "inf", "--1", "1-", "1e5e5", "[01]", "[1.]",
		"[-]", "{\"a\":+1}", "\xd9\xa1",
	};
	CHECK_ALL(good, JSON_SCALAR);
	CHECK_ALL(bad, JSON_INVALID);
}

static void newlines_between_tokens_are_refused(void **state UNUSED)
{
	static const char *const texts[] = {
		"\n1", "1\n", "[\n]", "[1,\n2]", "{\n}", "{\"a\"\n:1}", "{\"a\":\n1}", "1\r", "\r[]", "\f1", "\v1",
		"\"a\nb\"", "\"a\rb\"",
	};
	CHECK_ALL(texts, JSON_INVALID);
}

static void string_escapes_are_the_eight_and_paired_unicode(void **state UNUSED)
{
	static const char *const good[] = {
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0041\\u00e4\\uFFFF\\u007f\\u0085\"", "\"\\u0001\"",
		"\"\\ud83d\\ude00\"", "\"\\uDBFF\\uDFFF\"", "\"\\u001a\\u001C\\u009a\\u009C\"", "\"\x7f\"",
	};
	static const char *const bad[] = {
		"\"", "\"a", "\"\\\"", "\"\\", "\"\\a\"", "\"\\x41\"", "\"\\0\"", "\"\\U0041\"", "\"\\'\"",
		"\"\\u\"", "\"\\u004\"", "\"\\u00g1\"", "\"\\u 041\"", "\"\\u+041\"", "\"\\u-041\"", "\"\\u004",
		"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\n\"",
		"\"\\ud83d\\u0041\"", "\"\\ude00\\ud83d\"", "\"\\ude00\\ude00\"", "\"\\ud83d\\u\"", "'a'", "\"a\"b\"",
	};
	CHECK_ALL(good, JSON_SCALAR);
	CHECK_ALL(bad, JSON_INVALID);
}

static void nul_and_ansi_can_not_be_smuggled(void **state UNUSED)
{
	static const char *const texts[] = {
		"\"\\u0000\"", "\"\\u001b\"", "\"\\u001B[31m\"", "\"\\u009b\"", "\"\\u009B\"", "\"\x1b[31m\"",
		"\"\xc2\x9b\"", "{\"\\u001b\":1}", "[\"ok\",\"\\u0000\"]", "\"\x01\"", "\"\x1f\"", "\"\t\"",
	};
	CHECK_ALL(texts, JSON_INVALID);
	assert_int_equal(check("\"\0\"", 3), JSON_INVALID);
	assert_int_equal(check("1\0", 2), JSON_INVALID);
	assert_int_equal(check("[\0]", 3), JSON_INVALID);
	assert_int_equal(check("\"\\\0\"", 4), JSON_INVALID);
}

static void only_valid_utf8_passes(void **state UNUSED)
{
	static const char *const good[] = {
		"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\xc2\x9a\xc2\x9c\"", "\"\xf4\x8f\xbf\xbf\"",
	};
	static const char *const bad[] = {
		"\"\x80\"", "\"\xc3\"", "\"\xc0\xaf\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"",
		"\"\xf4\x90\x80\x80\"", "\"\xf0\x9f\x98\"", "\"\xff\"", "\"\xf0\x9f\x98", "\xc2\xa0[]",
	};
	CHECK_ALL(good, JSON_SCALAR);
	CHECK_ALL(bad, JSON_INVALID);
}

/* depth openings and as many closings; every `objects`th is an object. */
static void nest(struct buf *b, int depth, int objects)
{
	buf_clear(b);
	for (int i = 0; i < depth; i++)
		buf_add_str(b, i % objects == 1 ? "{\"k\":" : "[");
	buf_add_char(b, '1');
	for (int i = depth - 1; i >= 0; i--)
		buf_add_char(b, i % objects == 1 ? '}' : ']');
}

static void depth_128_passes_and_129_does_not(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	for (int objects = 2; objects < 9; objects++) {
		nest(&b, JSON_MAX_DEPTH, objects);
		assert_int_equal(check(b.data, b.len), JSON_ARRAY);
		nest(&b, JSON_MAX_DEPTH + 1, objects);
		assert_int_equal(check(b.data, b.len), JSON_INVALID);
	}
	buf_release(&b);
}

static void a_wrong_closing_is_seen_at_every_depth(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	for (int at = 1; at <= JSON_MAX_DEPTH; at++) {
		nest(&b, JSON_MAX_DEPTH, 2);
		char *close = b.data + b.len - at;
		*close = *close == '}' ? ']' : '}';
		assert_int_equal(check(b.data, b.len), JSON_INVALID);
	}
	buf_release(&b);
}

static void a_flood_of_openings_is_refused_without_a_stack(void **state UNUSED)
{
	const size_t size = (size_t)1 << 20;
	char *flood = malloc(size);
	assert_non_null(flood);
	memset(flood, '[', size);
	assert_int_equal(json_check(flood, size), JSON_INVALID);
	free(flood);
}

static void many_siblings_do_not_count_as_depth(void **state UNUSED)
{
	struct buf b = BUF_INIT;
	buf_add_char(&b, '[');
	for (int i = 0; i < 10000; i++)
		buf_add_str(&b, "{\"a\":[]},");
	buf_add_str(&b, "0]");
	assert_int_equal(check(b.data, b.len), JSON_ARRAY);
	buf_release(&b);
}

static void every_truncation_of_a_document_is_refused(void **state UNUSED)
{
	static const char text[] = "{\"a\":[1.5e-3,\"\\ud83d\\ude00\xe2\x82\xac\",true,null],\"b\":{\"c\":\"\\n\"}}";
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_int_equal(check(text, n), JSON_INVALID);
	assert_int_equal(check(text, sizeof(text) - 1), JSON_OBJECT);
}

static void a_damaged_byte_never_leads_outside(void **state UNUSED)
{
	static const char text[] = "{\"a\":[1.5e-3,\"\\ud83d\\ude00\xe2\x82\xac\",true,null],\"b\":{\"c\":\"\\n\"}}";
	char copy[sizeof(text)];
	int refused = 0;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		for (int c = 0; c < 256; c++) {
			memcpy(copy, text, sizeof(text));
			copy[i] = (char)c;
			refused += check(copy, sizeof(text) - 1) == JSON_INVALID;
		}
	}
	assert_true(refused > 1000);
}

static void a_member_is_one_of_the_object_itself(void **state UNUSED)
{
	static const char text[] = "{ \"a\\\"b\" : [{\"in\":1}], \"v\": \"in\" , \"at\" :{\"deep\":0} }";

	assert_true(json_has_member(text, strlen(text), "v"));
	assert_true(json_has_member(text, strlen(text), "at"));
	assert_false(json_has_member(text, strlen(text), "in"));
	assert_false(json_has_member(text, strlen(text), "deep"));
	assert_false(json_has_member(text, strlen(text), "a"));
	assert_false(json_has_member("[\"v\",1]", 7, "v"));
	assert_false(json_has_member("", 0, "v"));
}

static void the_members_of_an_object_are_what_stands_between_its_braces(void **state UNUSED)
{
	struct buf out = BUF_INIT;

	assert_false(json_add_members(&out, " { } ", 5));
	assert_false(json_add_members(&out, "[1]", 3));
	assert_int_equal(out.len, 0);
	assert_true(json_add_members(&out, " {\"a\":{}} ", 10));
	assert_string_equal(buf_cstr(&out), "\"a\":{}");
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_text_is_recognized),
		cmocka_unit_test(broken_structure_is_refused),
		cmocka_unit_test(numbers_follow_the_grammar_to_the_letter),
		cmocka_unit_test(newlines_between_tokens_are_refused),
		cmocka_unit_test(string_escapes_are_the_eight_and_paired_unicode),
		cmocka_unit_test(nul_and_ansi_can_not_be_smuggled),
		cmocka_unit_test(only_valid_utf8_passes),
		cmocka_unit_test(depth_128_passes_and_129_does_not),
		cmocka_unit_test(a_wrong_closing_is_seen_at_every_depth),
		cmocka_unit_test(a_flood_of_openings_is_refused_without_a_stack),
		cmocka_unit_test(many_siblings_do_not_count_as_depth),
		cmocka_unit_test(every_truncation_of_a_document_is_refused),
		cmocka_unit_test(a_damaged_byte_never_leads_outside),
		cmocka_unit_test(a_member_is_one_of_the_object_itself),
		cmocka_unit_test(the_members_of_an_object_are_what_stands_between_its_braces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
