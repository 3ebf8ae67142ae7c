/*
 * fuzz_text.c: whatever the bytes, json_quote() writes one clean JSON string,
 * text_clean() what a terminal may be shown, and both leave clean text alone.
 */
#include "fuzz.h"

#include "../../src/common/json.h"

static void check_quote(const char *s, size_t n)
{
	struct buf once = BUF_INIT, twice = BUF_INIT, cleaned = BUF_INIT;
	size_t repairs = json_quote(&once, s, n);

	HOLDS(json_check(once.data, once.len) == JSON_SCALAR && once.data[0] == '"');
	HOLDS(once.len <= 6 * n + 2);
	/* clean text inside quotes is quoted as it stands, but for the escapes */
	json_quote(&twice, once.data, once.len);
	HOLDS(json_check(twice.data, twice.len) == JSON_SCALAR);
	/* a text that needed no repair holds nothing that the terminal may not see */
	if (repairs == 0)
		for (size_t i = 0; i < n; i++)
			HOLDS(s[i] != '\0' && s[i] != '\x1b');
	HOLDS(text_clean(&cleaned, s, n) >= repairs);
	buf_release(&once);
	buf_release(&twice);
	buf_release(&cleaned);
}

static bool may_be_shown(const char *s, size_t length)
{
	if (length == 1)
		return (*s >= 0x20 && *s < 0x7f) || *s == '\n' || *s == '\t';
	return length > 2 || (length == 2 && !(s[0] == '\xc2' && (unsigned char)s[1] < 0xa0));
}

static void check_clean(const char *s, size_t n)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;

	text_clean(&once, s, n);
	for (size_t i = 0, length; i < once.len; i += length) {
		length = utf8_length(once.data + i, once.len - i);
		HOLDS(may_be_shown(once.data + i, length));
	}
	HOLDS(text_clean(&twice, buf_cstr(&once), once.len) == 0);
	HOLDS(twice.len == once.len && memcmp(buf_cstr(&twice), buf_cstr(&once), once.len) == 0);
	buf_release(&once);
	buf_release(&twice);
}

/* Two texts, cleaned apart and set side by side, must not grow an escape. */
static void check_joined(const char *s, size_t n)
{
	struct buf out = BUF_INIT;
	size_t half = n / 2;

	buf_add_char(&out, '[');
	json_quote(&out, s, half);
	buf_add_char(&out, ',');
	json_quote(&out, s + half, n - half);
	buf_add_char(&out, ']');
	HOLDS(json_check(out.data, out.len) == JSON_ARRAY);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_quote((const char *)data, size);
	check_clean((const char *)data, size);
	check_joined((const char *)data, size);
	return 0;
}
