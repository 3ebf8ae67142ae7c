/*
 * test_json_text.c: whatever bytes go in, what comes out is clean: valid
 * UTF-8, no NUL, no ANSI, no raw control bytes, and clean text is untouched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/common/json.h"

#define R "\xef\xbf\xbd" /* U+FFFD */

struct row {
	const char *in;
	size_t n;
	const char *quoted; /* without the quotes */
	const char *cleaned;
	size_t repairs;     /* of json_quote */
};
#define IN(literal) literal, sizeof(literal) - 1

static void check_rows(const struct row *rows, size_t count)
{
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < count; i++) {
		buf_clear(&b);
		assert_int_equal(json_quote(&b, rows[i].in, rows[i].n), rows[i].repairs);
		assert_int_equal(b.data[0], '"');
		assert_int_equal(b.data[b.len - 1], '"');
		b.data[b.len - 1] = '\0';
		assert_string_equal(b.data + 1, rows[i].quoted);
		buf_clear(&b);
		size_t repairs = text_clean(&b, rows[i].in, rows[i].n);
		assert_string_equal(buf_cstr(&b), rows[i].cleaned);
		assert_int_equal(repairs == 0, b.len == rows[i].n && memcmp(buf_cstr(&b), rows[i].in, b.len) == 0);
	}
	buf_release(&b);
}
#define CHECK_ROWS(rows) check_rows(rows, ARRAY_LEN(rows))

static void clean_text_is_unchanged(void **state UNUSED)
{
	static const struct row rows[] = {
		{ IN(""), "", "", 0 },
		{ IN("plain text ~/'!"), "plain text ~/'!", "plain text ~/'!", 0 },
		{ IN("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
		  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 0 },
		{ IN("\xc2\xa0\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"),
		  "\xc2\xa0\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
		  "\xc2\xa0\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 0 },
	};
	CHECK_ROWS(rows);
}

static void what_json_escapes_is_escaped_and_does_not_count_as_a_repair(void **state UNUSED)
{
	static const struct row rows[] = {
		{ IN("a\"b\\c"), "a\\\"b\\\\c", "a\"b\\c", 0 },
		{ IN("\b\f\n\t"), "\\b\\f\\n\\t", "\n\t", 0 },
		{ IN("a\r\nb\r"), "a\\nb", "a\nb", 2 },
		{ IN("\x01\x1f\x7f"), "\\u0001\\u001f\\u007f", "", 0 },
		{ IN("\a"), "\\u0007", "", 0 },
		{ IN("\xc2\x80\xc2\x85\xc2\x9f"), "\\u0080\\u0085\\u009f", "", 0 },
		{ IN("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9"), "\\u202a\\u202e\\u2066\\u2069", "", 0 },
		{ IN("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe2\x82\xaa"),
		  "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe2\x82\xaa",
		  "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe2\x82\xaa", 0 },
	};
	CHECK_ROWS(rows);
}

static void nul_and_bad_utf8_become_one_replacement_per_maximal_sequence(void **state UNUSED)
{
	static const struct row rows[] = {
		{ IN("a\0b"), "a" R "b", "a" R "b", 1 },
		{ IN("\x80"), R, R, 1 },
		{ IN("\xff\xfe"), R R, R R, 2 },
		{ IN("\xc0\xaf"), R R, R R, 2 },                /* overlong */
		{ IN("\xe0\x80\x80"), R R R, R R R, 3 },        /* overlong */
		{ IN("\xed\xa0\x80"), R R R, R R R, 3 },        /* a surrogate */
		{ IN("\xf4\x90\x80\x80"), R R R R, R R R R, 4 }, /* above U+10FFFF */
		{ IN("\xf5\x80"), R R, R R, 2 },
		{ IN("\xf0\x9f\x98"), R, R, 1 },                /* cut off */
		{ IN("\xe2\x82z"), R "z", R "z", 1 },
		{ IN("\xe2\x82\xe2\x82\xac"), R "\xe2\x82\xac", R "\xe2\x82\xac", 1 },
		{ IN("\xc3"), R, R, 1 },
		{ IN("\xf1\x80\xe1\x80\xc2""b"), R R R "b", R R R "b", 3 },
	};
	CHECK_ROWS(rows);
}

static void ansi_sequences_are_removed_whole_and_a_lone_esc_alone(void **state UNUSED)
{
	static const struct row rows[] = {
		{ IN("\x1b[31mred\x1b[0m"), "red", "red", 2 },
		{ IN("\x1b[?25l\x1b[1;2 qx"), "x", "x", 2 },
		{ IN("a\x1b]0;title\abc"), "abc", "abc", 1 },
		{ IN("a\x1b]8;;http://x/\x1b\\b"), "ab", "ab", 1 },
		{ IN("a\x1b]0;bad \xff utf8\ab"), "ab", "ab", 1 },
		{ IN("\x1b"), "", "", 1 },
		{ IN("a\x1bMb"), "aMb", "aMb", 1 },
		{ IN("\x1b[12"), "[12", "[12", 1 },
		{ IN("\x1b[1\nm"), "[1\\nm", "[1\nm", 1 },
		{ IN("\x1b[\x1b[31mx"), "[x", "[x", 2 },
		{ IN("\x1b]open, the text stays"), "]open, the text stays", "]open, the text stays", 1 },
		{ IN("\x1b]a\nb\a"), "]a\\nb\\u0007", "]a\nb", 1 },
		{ IN("\x1b]a\x1b[1mb"), "]ab", "]ab", 2 },
		{ IN("\xc2\x9b""31m"), "31m", "31m", 1 },
		{ IN("\xc2\x1b\x9b"), R R, R R, 3 },
	};
	CHECK_ROWS(rows);
}

/* --- properties ------------------------------------------------------------------------- */

static bool raw_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

/* What must hold for any input at all. */
static void check_any(const char *s, size_t n, struct buf *a, struct buf *b)
{
	buf_clear(a);
	json_quote(a, s, n);
	if (json_check(a->data, a->len) != JSON_SCALAR)
		fail_msg("json_quote wrote what json_check refuses: %s", a->data);
	for (size_t i = 0; i < a->len; i++)
		assert_false(raw_control((unsigned char)a->data[i]));
	buf_clear(a);
	buf_clear(b);
	text_clean(a, s, n);
	assert_int_equal(text_clean(b, buf_cstr(a), a->len), 0);
	assert_string_equal(buf_cstr(a), buf_cstr(b));
}

static void every_pair_of_bytes_comes_out_clean(void **state UNUSED)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	for (int hi = 0; hi < 256; hi++) {
		for (int lo = 0; lo < 256; lo++)
			check_any((char[]){ (char)hi, (char)lo }, 2, &a, &b);
	}
	buf_release(&a);
	buf_release(&b);
}

static void any_mixture_of_dangerous_bytes_comes_out_clean(void **state UNUSED)
{
	static const char bytes[] = "\0\x1b\x1b\x1b[]]\\\a\a\n;0m\"\x7f\x80\x9b\xbf\xc2\xc2\xe0\xed\xf0\xf4\xff";
	struct buf a = BUF_INIT, b = BUF_INIT;
	uint32_t seed = 1;
	char text[24];
	for (int i = 0; i < 100000; i++) {
		size_t n = (size_t)i % (sizeof(text) + 1);
		for (size_t k = 0; k < n; k++) {
			seed = seed * 1664525 + 1013904223;
			text[k] = bytes[(seed >> 16) % (sizeof(bytes) - 1)];
		}
		check_any(text, n, &a, &b);
	}
	buf_release(&a);
	buf_release(&b);
}

static void no_byte_beyond_the_given_length_is_read(void **state UNUSED)
{
	static const char *const cut[] = { "\x1b", "\x1b[", "\x1b[1", "\x1b]", "\x1b]a\x1b", "\xf0\x9f\x98", "\xc2", "\xe0" };
	struct buf a = BUF_INIT, b = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
		size_t n = strlen(cut[i]);
		char *exact = malloc(n);
		assert_non_null(exact);
		memcpy(exact, cut[i], n);
		check_any(exact, n, &a, &b);
		free(exact);
	}
	buf_release(&a);
	buf_release(&b);
}

/* Eight bytes are looked at together: each must be seen, wherever it stands. */
static void every_byte_is_seen_at_every_place_of_a_word(void **state UNUSED)
{
	char text[24];

	for (int c = 0; c < 256; c++) {
		bool is_plain = c >= 0x20 && c <= 0x7e && c != '"' && c != '\\';

		for (size_t at = 0; at < sizeof(text); at++) {
			memset(text, 'a', sizeof(text));
			text[at] = (char)c;
			assert_int_equal(text_plain(text, sizeof(text)), is_plain ? sizeof(text) : at);
			memset(text, '~', sizeof(text));
			text[at] = (char)c;
			assert_int_equal(text_plain(text, sizeof(text)), is_plain ? sizeof(text) : at);
		}
	}
}

/* In memory of its own, so that a sanitizer sees a read beyond it. */
static void check_quoted(const char *text, size_t n, const struct buf *expected)
{
	struct buf quoted = BUF_INIT;
	char *exact = malloc(n + !n);

	assert_non_null(exact);
	memcpy(exact, text, n);
	json_quote_exact(&quoted, exact, n);
	assert_string_equal(quoted.data, expected->data);
	assert_int_equal(quoted.len, expected->len);
	buf_release(&quoted);
	free(exact);
}

static void add_many(struct buf *out, char c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add_char(out, c);
}

/* Between so many letters the unit comes out as it does alone. */
static void check_between(const char *unit, size_t n, size_t before, size_t behind)
{
	struct buf text = BUF_INIT, one = BUF_INIT, expected = BUF_INIT;

	json_quote_exact(&one, unit, n);
	add_many(&text, 'a', before);
	buf_add(&text, unit, n);
	add_many(&text, 'z', behind);
	buf_add_char(&expected, '"');
	add_many(&expected, 'a', before);
	buf_add(&expected, one.data + 1, one.len - 2);
	add_many(&expected, 'z', behind);
	buf_add_char(&expected, '"');
	check_quoted(text.data, text.len, &expected);
	buf_release(&text);
	buf_release(&one);
	buf_release(&expected);
}

static void every_byte_is_quoted_alike_wherever_it_stands(void **state UNUSED)
{
	static const char *const wide[] = { "\xc3\xa9", "\xc2\x85", "\xc2\x9b", "\xe2\x82\xac", "\xe2\x80\xae", "\xf0\x9f\x98\x80" };

	for (size_t before = 0; before < 18; before++) {
		for (size_t behind = 0; behind < 10; behind++) {
			for (int c = 0; c < 256; c++)
				check_between((char[]){ (char)c }, 1, before, behind);
			for (size_t i = 0; i < ARRAY_LEN(wide); i++)
				check_between(wide[i], strlen(wide[i]), before, behind);
		}
	}
}

/* What grows most is written where room is made again and again. */
static void a_long_row_of_one_unit_is_quoted_whole(void **state UNUSED)
{
	static const char *const units[] = { "\x01", "\"", "\\", "\xc2\x85", "\xe2\x80\xae", "\xe2\x82\xac", "\x80", "a\n", "\n1234567", "\x1f ABCDEFG" };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct buf text = BUF_INIT, one = BUF_INIT, expected = BUF_INIT;

		json_quote_exact(&one, units[i], strlen(units[i]));
		buf_add_char(&expected, '"');
		for (int k = 0; k < 1000; k++) {
			buf_add_str(&text, units[i]);
			buf_add(&expected, one.data + 1, one.len - 2);
			buf_add_char(&expected, '"');
			check_quoted(text.data, text.len, &expected);
			expected.len--;
		}
		buf_release(&text);
		buf_release(&one);
		buf_release(&expected);
	}
}

static void hostile_text_is_quoted_in_linear_time(void **state UNUSED)
{
	static const char *const patterns[] = { "\x1b]", "\x1b[", "\x1b[0", "\xf0\x9f\x98", "\xc2", "\x1b]\x1b" };
	const size_t size = (size_t)4 << 20;
	struct buf out = BUF_INIT;
	char *text = malloc(size);
	assert_non_null(text);
	for (size_t p = 0; p < ARRAY_LEN(patterns); p++) {
		for (size_t i = 0; i < size; i++)
			text[i] = patterns[p][i % strlen(patterns[p])];
		clock_t began = clock();
		buf_clear(&out);
		assert_true(json_quote(&out, text, size) > 0);
		assert_true(clock() - began < 20 * CLOCKS_PER_SEC);
	}
	free(text);
	buf_release(&out);
}

static void utf8_length_accepts_exactly_the_well_formed_sequences(void **state UNUSED)
{
	assert_int_equal(utf8_length("", 0), 0);
	assert_int_equal(utf8_length("\0", 1), 1);
	assert_int_equal(utf8_length("a", 1), 1);
	for (uint32_t c = 0x80; c < 0x120000; c += c < 0x3000 ? 1 : 61) {
		char s[4] = { (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)) };
		size_t n = 4;
		if (c < 0x800) {
			n = 2;
			s[0] = (char)(0xc0 | c >> 6);
			s[1] = s[3];
		} else if (c < 0x10000) {
			n = 3;
			s[0] = (char)(0xe0 | c >> 12);
			s[1] = s[2];
			s[2] = s[3];
		}
		bool valid = c < 0x110000 && (c < 0xd800 || c > 0xdfff);
		assert_int_equal(utf8_length(s, n), valid ? n : 0);
		assert_int_equal(utf8_length(s, n - 1), 0);
	}
}

static void a_cut_never_goes_through_a_character(void **state UNUSED)
{
	static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t kept[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

	for (size_t max = 0; max < ARRAY_LEN(kept); max++)
		assert_int_equal(text_cut(text, sizeof(text) - 1, max), kept[max]);
	/* bytes that are no characters are cut anywhere */
	assert_int_equal(text_cut("\x80\x80\x80\x80\x80\x80", 6, 4), 4);
	assert_int_equal(text_cut("abc\xe2\x82zzz", 8, 4), 4);
	assert_int_equal(text_cut("", 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_never_goes_through_a_character),
		cmocka_unit_test(clean_text_is_unchanged),
		cmocka_unit_test(what_json_escapes_is_escaped_and_does_not_count_as_a_repair),
		cmocka_unit_test(nul_and_bad_utf8_become_one_replacement_per_maximal_sequence),
		cmocka_unit_test(ansi_sequences_are_removed_whole_and_a_lone_esc_alone),
		cmocka_unit_test(every_pair_of_bytes_comes_out_clean),
		cmocka_unit_test(any_mixture_of_dangerous_bytes_comes_out_clean),
		cmocka_unit_test(no_byte_beyond_the_given_length_is_read),
		cmocka_unit_test(every_byte_is_seen_at_every_place_of_a_word),
		cmocka_unit_test(every_byte_is_quoted_alike_wherever_it_stands),
		cmocka_unit_test(a_long_row_of_one_unit_is_quoted_whole),
		cmocka_unit_test(hostile_text_is_quoted_in_linear_time),
		cmocka_unit_test(utf8_length_accepts_exactly_the_well_formed_sequences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
