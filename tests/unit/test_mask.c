/*
 * test_mask.c: which bytes of a text are a secret's, in which spelling, and in whatever pieces it comes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/json.h"
#include "../../src/common/mask.h"

static struct mask *masker(const char *const values[])
{
	struct mask *m = mask_new();

	assert_non_null(m);
	for (size_t i = 0; values[i]; i++)
		assert_int_equal(mask_add(m, values[i], strlen(values[i])), 0);
	return m;
}

#define MASKER(...) masker((const char *const[]){ __VA_ARGS__, NULL })

static void put(struct buf *out, struct mask_piece piece)
{
	buf_add(out, piece.s, piece.n);
}

/* In memory of its own size: a sanitizer sees what is read beyond it. */
static void feed(struct mask_stream *s, struct buf *out, const char *bytes, size_t n)
{
	char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	put(out, mask_stream_feed(s, copy, n));
	free(copy);
}

/* As a whole, byte by byte, and cut at every place. */
static void is_in(const struct mask *m, const char *text, const char *expected)
{
	size_t n = strlen(text);
	struct buf whole = BUF_INIT;

	if (!mask_text(m, text, n, &whole))
		buf_add(&whole, text, n);
	assert_string_equal(buf_cstr(&whole), expected);
	for (size_t cut = 0; cut <= n; cut++) {
		struct mask_stream two = { .m = m }, each = { .m = m };
		struct buf out = BUF_INIT, single = BUF_INIT;

		feed(&two, &out, text, cut);
		feed(&two, &out, text + cut, n - cut);
		put(&out, mask_stream_end(&two, false));
		assert_string_equal(buf_cstr(&out), expected);
		for (size_t i = 0; i < n; i++) {
			feed(&each, &single, text + i, 0);
			feed(&each, &single, text + i, 1);
		}
		put(&single, mask_stream_end(&each, false));
		assert_string_equal(buf_cstr(&single), expected);
		buf_release(&out), buf_release(&single);
		mask_stream_release(&two), mask_stream_release(&each);
	}
	buf_release(&whole);
}

static void is(const char *value, const char *text, const char *expected)
{
	struct mask *m = MASKER(value);

	is_in(m, text, expected);
	mask_free(m);
}

static void a_value_is_hidden_as_it_is(void **state UNUSED)
{
	is("hunter2", "the password is hunter2.", "the password is ***.");
	is("hunter2", "hunter hunter2hunter2 hunter", "hunter *** hunter");
	is("aab", "aaab aaaab aab", "a*** aa*** ***");
	is("aaaa", "<aaaaaaa>", "<***>");
	is("a", "abc a", "***bc ***");
	is(" ", "a b", "a b");
	is("", "a b", "a b");
	is("nothing", "of it", "of it");
}

static void overlapping_values_leave_nothing(void **state UNUSED)
{
	struct mask *m = MASKER("abcdef", "defghi", "cdxx");

	is_in(m, "<abcdefghi> abcdxx abcde", "<***> ab*** abcde");
	mask_free(m);
	m = MASKER("secret", "secretive");
	is_in(m, "<secretive> secreti secret", "<***> ***i ***");
	mask_free(m);
	m = MASKER("abcdXfff", "cd");
	is_in(m, "abcd", "ab***");
	is_in(m, "abcdXff cd.", "ab***Xff ***.");
	mask_free(m);
}

static void encoders_do_not_matter(void **state UNUSED)
{
	static const char value[] = "p4ss w/\xc3\xb6+~*!'()&=:@\"\\\t%\xf0\x9f\x98\x80";
	static const char *const forms[] = {
		"p4ss%20w/%C3%B6%2B~%2A%21%27%28%29%26%3D%3A%40%22%5C%09%25%F0%9F%98%80",
		"p4ss+w%2F%C3%B6%2B~*%21%27%28%29%26%3D%3A%40%22%5C%09%25%F0%9F%98%80",
		"p4ss%20w%2f%c3%b6%2b~*!'()&%3d%3a%40%22%5c%09%25%f0%9f%98%80",
		"p4ss%20w/%C3%B6+~*!'()&=:@%22%5C%09%25%F0%9F%98%80",
		"p4ss w/\xc3\xb6+~*!'()&=:@\\\"\\\\\\t%\xf0\x9f\x98\x80",
		"p4ss w\\/\\u00f6+~*!'()\\u0026=:@\\\"\\\\\\t%\\ud83d\\ude00",
		"p4ss w/\\u00F6+~*!\\u0027()\\u0026=:@\\u0022\\u005C\\u0009%\\uD83D\\uDE00",
		"p4ss w/\xc3\xb6+~*!'()&=:@\\\\\\\"\\\\\\\\\\\\t%\xf0\x9f\x98\x80",
		"p4ss w\\/\\\\u00f6+~*!'()&=:@\\\\\\\"\\\\\\\\\\\\t%\\\\ud83d\\\\ude00",
		"p4ss w/\xc3\xb6+~*!&#39;()&amp;=:@&quot;\\\t%\xf0\x9f\x98\x80",
	};
	struct mask *m = MASKER(value);

	is_in(m, value, "***");
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		char text[200];

		snprintf(text, sizeof(text), "x=%s;", forms[i]);
		is_in(m, text, "x=***;");
	}
	mask_free(m);
}

static void add_base64(struct buf *out, const char *s, size_t n, bool url, size_t line)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t count = 0;

	for (size_t i = 0; i < n; i += 3) {
		unsigned three = 0;

		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (i + k < n ? (unsigned char)s[i + k] : 0);
		for (int k = 3; k >= 0; k--) {
			char c = plain[three >> 6 * k & 63];

			if (line && count++ % line == 0)
				buf_add_char(out, '\n');
			buf_add_char(out, url && c == '+' ? '-' : url && c == '/' ? '_' : c);
		}
	}
}

/* Of the digits, those that the value alone decides are gone, whatever stands around it. */
static void base64_is_hidden_at_each_place(void **state UNUSED)
{
	static const char value[] = "\xfb\xef\xbe~?token>\xff>~";
	struct mask *m = MASKER(value);

	for (size_t before = 0; before < 6; before++)
		for (size_t line = 0; line < 5; line++)
			for (int url = 0; url < 2; url++) {
				struct buf plain = BUF_INIT, text = BUF_INIT, out = BUF_INIT;

				buf_add(&plain, "uuuuuu", before);
				buf_add_str(&plain, value);
				buf_add_str(&plain, "vv");
				add_base64(&text, plain.data, plain.len, url, line);
				assert_true(mask_text(m, text.data, text.len, &out));
				assert_non_null(strstr(out.data, MASK_SHOWN));
				assert_in_range(out.len, 3, 3 + (line ? 2 : 1) * ((before + 2) * 4 / 3 + 6));
				is_in(m, text.data, out.data);
				buf_release(&plain), buf_release(&text), buf_release(&out);
			}
	mask_free(m);
}

static void lines_of_a_value_are_hidden_but_no_trifles(void **state UNUSED)
{
	is("-----BEGIN\n  line one\r\n}\nline two\n", "a line one b line two }", "a *** b *** }");
}

/* Cut, or cleaned for a terminal or JSON, it is still found. */
static void a_long_or_unclean_value_is_hidden(void **state UNUSED)
{
	char value[2000], text[2100];
	struct mask *m = mask_new();
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (char)(i % 7 == 3 ? '\xc3' : i % 7 == 4 ? '\xb6' : 'a' + (int)(i * i % 23));
	assert_int_equal(mask_add(m, value, sizeof(value)), 0);
	memset(text, '.', sizeof(text));
	memcpy(text + 50, value, sizeof(value));
	assert_true(mask_text(m, text, sizeof(text), &out));
	assert_int_equal(out.len, 103);
	mask_free(m);
	buf_release(&out);
	is("red\x1b[31mdish\r\nx", "reddish\nx red\x1b[31mdish\r\nx", "*** ***");
}

static void json_stays_json(void **state UNUSED)
{
	static const char text[] = "{\"t\\u006fken\":\"to\\u006ben\",\"n\":[4711,47110,-4711,\"4711\"],\"a b\":\"\\\"token\\\"\",\"x\":true}";
	struct mask *m = MASKER("token", "4711", "true");
	struct buf out = BUF_INIT;

	assert_true(mask_json(m, text, strlen(text), MASK_OF_OTHERS, &out));
	assert_string_equal(out.data, "{\"***\":\"***\",\"n\":[\"***\",47110,-4711,\"***\"],\"a b\":\"\\\"***\\\"\",\"x\":true}");
	assert_int_equal(json_check(out.data, out.len), JSON_OBJECT);
	buf_clear(&out);
	assert_false(mask_json(m, "{\"a\":1}", 7, MASK_OF_OTHERS, &out));
	assert_int_equal(out.len, 0);
	assert_true(mask_json(m, "{\"token\" \"to", 12, MASK_OF_OTHERS, &out));
	assert_string_equal(out.data, "{\"***\" \"to");
	buf_clear(&out);
	assert_true(mask_json(m, "{\"n\":4711,\"t\":\"4711\"}", 21, MASK_OF_OTHERS_WITH_COUNTS, &out));
	assert_string_equal(out.data, "{\"n\":4711,\"t\":\"***\"}");
	mask_free(m);
	buf_release(&out);
}

/* "message" is a member of ours, "a message" is not; less than four bytes are in no key. */
static void keys_of_ours_stay(void **state UNUSED)
{
	const char *text = "{\"message\":\"message code\",\"code\":{\"a message\":1,\"co de\":2,\"exit_code\":3,\"mess\\u0061ge\":4},\"e\":\"e\",\"\":true}";
	struct mask *m = MASKER("message", "code", "e", "tru", "message code");
	struct buf out = BUF_INIT;

	assert_true(mask_json(m, text, strlen(text), MASK_OF_OTHERS, &out));
	assert_string_equal(out.data, "{\"message\":\"***\",\"code\":{\"a ***\":1,\"co de\":2,\"exit_code\":3,\"mess\\u0061ge\":4},\"e\":\"***\",\"\":true}");
	buf_clear(&out);
	assert_true(mask_json(m, "{\"id\":\"e1 message\",\"n\":[1]}", 27, MASK_OF_OURS, &out));
	assert_string_equal(out.data, "{\"id\":\"e1 ***\",\"n\":[1]}");
	buf_clear(&out);
	text = "{\"code\":\"NOT_FOUND\",\"codes\":\"NOT_FOUND\",\"code\":\"NOT_FOUNDS\"}";
	assert_int_equal(mask_add(m, "OUN", 3), 0);
	assert_true(mask_json(m, text, strlen(text), MASK_OF_OTHERS_WITH_CODES, &out));
	assert_string_equal(out.data, "{\"code\":\"NOT_FOUND\",\"***s\":\"NOT_F***D\",\"code\":\"NOT_F***DS\"}");
	buf_clear(&out);
	assert_true(mask_json(m, text, strlen(text), MASK_OF_OTHERS, &out));
	assert_string_equal(out.data, "{\"code\":\"NOT_F***D\",\"***s\":\"NOT_F***D\",\"code\":\"NOT_F***DS\"}");
	buf_clear(&out);
	assert_false(mask_key(m, "items_emitted", 13, &out));
	assert_true(mask_key(m, "message message", 15, &out));
	assert_true(mask_key(m, "message\0", 8, &out));
	mask_free(m);
	buf_release(&out);
}

static struct mask_piece said(struct mask_stream *s, const char *text)
{
	return mask_stream_feed(s, text, strlen(text));
}

static void a_prompt_is_not_held_back_for_ever(void **state UNUSED)
{
	struct mask *m = MASKER("Password1");
	struct mask_stream s = { .m = m };
	struct buf out = BUF_INIT;

	put(&out, said(&s, "Your Pa"));
	assert_string_equal(buf_cstr(&out), "Your ");
	put(&out, mask_stream_rest(&s));
	assert_string_equal(buf_cstr(&out), "Your Pa");
	put(&out, said(&s, "ss"));
	put(&out, mask_stream_rest(&s));
	put(&out, mask_stream_rest(&s));
	assert_string_equal(buf_cstr(&out), "Your Pa***");
	assert_false(mask_stream_holds(&s));
	put(&out, said(&s, "word2 Password"));
	put(&out, said(&s, "1."));
	put(&out, said(&s, "Pass"));
	put(&out, mask_stream_end(&s, true));
	assert_string_equal(buf_cstr(&out), "Your Pa***word2 ***.***");
	mask_stream_release(&s);
	buf_release(&out);
	mask_free(m);
}

static void ends_of_texts_that_were_cut_are_found(void **state UNUSED)
{
	struct mask *m = MASKER("abcdefgh", "12345678", "xx/yyyyzz");

	assert_int_equal(mask_begun(m, "x abcdefg", 9), 7);
	assert_int_equal(mask_begun(m, "x 123", 5), 0);
	assert_int_equal(mask_ended(m, "bcdefgh y", 9), 7);
	assert_int_equal(mask_ended(m, "bcd y", 5), 0);
	assert_int_equal(mask_ended(m, "2Fyyyyzz y", 10), 8);
	assert_int_equal(mask_ended(m, "", 0), 0);
	mask_free(m);
}

static void values_have_a_limit(void **state UNUSED)
{
	struct mask *m = mask_new();
	static char large[(16 << 20) + 1];

	assert_int_equal(mask_add(m, large, sizeof(large)), -1);
	assert_int_equal(mask_add(m, "token", 5), 0);
	assert_int_equal(mask_add(m, "token", 5), 0);
	mask_free(m);
	mask_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_hidden_as_it_is),
		cmocka_unit_test(overlapping_values_leave_nothing),
		cmocka_unit_test(encoders_do_not_matter),
		cmocka_unit_test(base64_is_hidden_at_each_place),
		cmocka_unit_test(lines_of_a_value_are_hidden_but_no_trifles),
		cmocka_unit_test(a_long_or_unclean_value_is_hidden),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(keys_of_ours_stay),
		cmocka_unit_test(a_prompt_is_not_held_back_for_ever),
		cmocka_unit_test(ends_of_texts_that_were_cut_are_found),
		cmocka_unit_test(values_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
