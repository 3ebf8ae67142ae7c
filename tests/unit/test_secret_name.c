/*
 * test_secret_name.c: which names say that their value is a secret.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/secret.h"

static void a_name_is_secret_by_its_words(void **state UNUSED)
{
	static const char *const secret[] = { "token", "API-TOKEN", "github_token", "githubToken", "GITHUBTOKEN",
		"db_password", "clientSecret", "credential", "aws_secret_access_key", "X-Api-Key", "apiKey", "API_BASE",
		"AUTH_URL", "http_auth", "SMTP_PASS", "Authorization", "Set-Cookie", "AWSAccessKeyId", "privatekey",
		"X-Amz-Signature", "sort_key" };
	static const char *const plain[] = { "tokens", "author", "monkey", "key", "keyboard", "passed", "API", "api_base",
		"max_tokens", "secretary", "signature", "design", "", "-", "\xff\xfe" };

	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		assert_true(secret_name(secret[i], strlen(secret[i])));
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		assert_false(secret_name(plain[i], strlen(plain[i])));
}

static void within_a_url_any_word_anywhere_counts(void **state UNUSED)
{
	static const char *const secret[] = { "key", "sig", "tokens", "authkey", "x-amz-signature", "passwordhash",
		"PWD", "Cookie", "passphrase", "subscriptionkey" };
	static const char *const plain[] = { "page", "x-plain", "ke", "si", "", "\xff" };

	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		assert_true(secret_name_within(secret[i], strlen(secret[i])));
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		assert_false(secret_name_within(plain[i], strlen(plain[i])));
}

static void only_its_bytes_count(void **state UNUSED)
{
	char *copy = malloc(4); /* of this size: a sanitizer sees what is read behind it */

	memcpy(copy, "toke", 4);
	assert_false(secret_name(copy, 4) || secret_name_within(copy, 4));
	assert_true(secret_name("a\0token", 7) && secret_name_within("a\0token", 7));
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_secret_by_its_words),
		cmocka_unit_test(within_a_url_any_word_anywhere_counts),
		cmocka_unit_test(only_its_bytes_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
