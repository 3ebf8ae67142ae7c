/*
 * test_sha256.c: the examples of FIPS 180-4 and NIST's, and every length around the end of a block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "../../src/common/base.h"
#include "../../src/common/sha256.h"

static void known_texts_have_their_digests(void **state)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	char hex[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		sha256_hex(rows[i].text, strlen(rows[i].text), hex);
		assert_string_equal(hex, rows[i].hex);
	}
}

/* The digest of the digests of 0 to 199 times 'a', computed with sha256sum(1). */
static void lengths_around_a_block_are_padded_right(void **state)
{
	char text[200], all[200 * (SHA256_HEX - 1)], hex[SHA256_HEX];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t n = 0; n < 200; n++) {
		sha256_hex(text, n, hex);
		memcpy(all + n * (SHA256_HEX - 1), hex, SHA256_HEX - 1);
	}
	sha256_hex(all, sizeof(all), hex);
	assert_string_equal(hex, "019f2b9f1af27a53a1f046da7e98af2c179f431e4b5bebb000e74040917a4123");
}

static void a_million_bytes(void **state)
{
	char *text = malloc(1000000), hex[SHA256_HEX];

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 1000000);
	sha256_hex(text, 1000000, hex);
	free(text);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_have_their_digests),
		cmocka_unit_test(lengths_around_a_block_are_padded_right),
		cmocka_unit_test(a_million_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
