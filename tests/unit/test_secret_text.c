/*
 * test_secret_text.c: which texts may hold tokens or keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/secret.h"

static const char *const beginnings[] = { "eyJ", "sk-", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "_pat_", "AKIA", "AIza", "xox",
	                                  "glpat-", "PRIVATE KEY" };

#define LONG 5000

/* `filler` again and again, of exactly this size: a sanitizer sees what is read beyond it. */
static char *filled(const char *filler, size_t n)
{
	size_t period = strlen(filler);
	char *text = malloc(n);

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		text[i] = filler[i % period];
	return text;
}

static void assert_found(const char *filler, size_t n, const char *beginning, size_t at)
{
	char *text = filled(filler, n);

	memcpy(text + at, beginning, strlen(beginning));
	if (!secret_text(text, n))
		fail_msg("%s is not found at %zu of %zu", beginning, at, n);
	free(text);
}

static void a_beginning_is_found_wherever_it_is(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
		size_t length = strlen(beginnings[i]);

		assert_found("-", length, beginnings[i], 0);
		for (size_t at = 0; at < 20; at++) {
			assert_found("gho", LONG, beginnings[i], at);
			assert_found("-", LONG, beginnings[i], LONG / 2 + at);
			assert_found("ey", LONG + at, beginnings[i], LONG + at - length);
			assert_found("PRIVATE KE", LONG, beginnings[i], LONG - length - at);
		}
	}
}

/* The first few are searched in another way than those that follow. */
static void a_short_text_is_searched_to_its_end(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
		size_t length = strlen(beginnings[i]);

		for (size_t n = length; n < length + 20; n++)
			for (size_t at = 0; at + length <= n; at++)
				assert_found("-", n, beginnings[i], at);
	}
}

static void nothing_else_is(void **state UNUSED)
{
	static const char *const fillers[] = { "ey", "sk_", "gh_", "hp_ho_s_", "_pa", "at_", "AKI-", "-KIA", "AIz", "Iza", "xo-", "o-x", "glpat",
		                               "PRIVATE KE", "RIVATE KEY", "\xff\x80", "{\"key\":[1,2.5]} " };

	for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
		for (size_t n = 0; n < LONG; n += n < 20 ? 1 : 997) {
			char *text = filled(fillers[i], n);

			if (n > 0)
				assert_false(secret_text(text, n));
			free(text);
		}
	assert_false(secret_text("", 0));
}

/* As many bytes as there are, and none behind them. */
static void one_that_is_cut_off_is_none(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		for (size_t n = LONG; n < LONG + 8; n++) {
			size_t length = strlen(beginnings[i]) - 1;
			char *text = filled(" ", n);

			memcpy(text + n - length, beginnings[i], length);
			assert_false(secret_text(text, n));
			free(text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_beginning_is_found_wherever_it_is),
		cmocka_unit_test(a_short_text_is_searched_to_its_end),
		cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(one_that_is_cut_off_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
