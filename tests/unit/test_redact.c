/*
 * test_redact.c: which bytes are the values of names that are secret.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/json.h"
#include "../../src/supervisor/redact.h"

static void is(const char *text, const char *expected)
{
	struct buf out = BUF_INIT;

	redact_text(&out, text, strlen(text));
	assert_string_equal(buf_cstr(&out), expected);
	buf_release(&out);
}

static void same(const char *text)
{
	is(text, text);
}

static void values_go_in_every_form(void **state UNUSED)
{
	is("token=abc", "token=[REDACTED]");
	is("x?token=abc&y=1", "x?token=[REDACTED]&y=1");
	is("curl --api-token abc --n 1", "curl --api-token [REDACTED] --n 1");
	is("--token=abc -v", "--token=[REDACTED] -v");
	is("password: abc, user: joe", "password: [REDACTED], user: joe");
	is("DB_PASSWORD='a b' x", "DB_PASSWORD='[REDACTED]' x");
	is("password = \"a \\\" b\" x", "password = \"[REDACTED]\" x");
	is("password => abc", "password => [REDACTED]");
	is("Authorization: Bearer a.b.c\nHost: x", "Authorization: [REDACTED]\nHost: x");
	is("curl -H 'X-Api-Key: abc def' url", "curl -H 'X-Api-Key: [REDACTED]' url");
	is("auth=Bearer abc x", "auth=[REDACTED] x");
}

static void json_stays_json(void **state UNUSED)
{
	static const char text[] = "{\"a\":{\"password\":\"x\\\"y\",\"token\": 42,\"n\":1,\"auth\":{\"user\":\"joe\",\"pass\":\"z\"}},"
	                           "\"argv\":[\"curl\",\"--token\",\"abc\"],\"inner\":\"{\\\"token\\\":\\\"q\\\\\\\"r\\\"}\",\"secret\":null}";
	struct buf out = BUF_INIT;

	redact_text(&out, text, strlen(text));
	assert_int_equal(json_check(out.data, out.len), JSON_OBJECT);
	assert_string_equal(buf_cstr(&out),
	                    "{\"a\":{\"password\":\"[REDACTED]\",\"token\": \"[REDACTED]\",\"n\":1,\"auth\":{\"user\":\"joe\","
	                    "\"pass\":\"[REDACTED]\"}},\"argv\":[\"curl\",\"--token\",\"[REDACTED]\"],"
	                    "\"inner\":\"{\\\"token\\\":\\\"[REDACTED]\\\"}\",\"secret\":null}");
	buf_release(&out);
}

static void prose_and_code_stay(void **state UNUSED)
{
	same("unexpected token: }");
	same("the token is missing");
	same("if token == nil then");
	same("auth::Token x");
	same("password:");
	same("token=");
	same("token=***");
	same("auth: false");
	same("token://x");
	same("--token --other");
	same("\"token\" of joe");
	same("");
}

static void any_end_of_a_text_is_the_end(void **state UNUSED)
{
	static const char text[] = "x --token \"a\\\"b\" {\\\"secret\\\":\\\"q\\\"} Authorization: Bearer x";

	for (size_t n = 0; n <= strlen(text); n++) {
		char *copy = malloc(n ? n : 1); /* of this size: a sanitizer sees what is read behind it */
		struct buf out = BUF_INIT;

		memcpy(copy, text, n);
		redact_text(&out, copy, n);
		assert_true(n == 0 || out.len > 0);
		buf_release(&out);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_in_every_form),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(prose_and_code_stay),
		cmocka_unit_test(any_end_of_a_text_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
