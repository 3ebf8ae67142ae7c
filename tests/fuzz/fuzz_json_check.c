/*
 * fuzz_json_check.c: the strict checker against Jansson. What it accepts,
 * Jansson accepts and calls the same kind, and it smuggles no NUL or ANSI; what
 * Jansson writes, it accepts, unless that smuggles or is too deep.
 */
#include "fuzz.h"

#include <jansson.h>

/* json.h and jansson.h both have a JSON_OBJECT …: two declarations of ours. */
enum kind { KIND_INVALID, KIND_NULL, KIND_SCALAR, KIND_OBJECT, KIND_ARRAY };
extern int json_check(const char *s, size_t n);

#define MAX_DEPTH 128

static json_t *load(const uint8_t *data, size_t size, json_error_t *error)
{
	return json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, error);
}

static enum kind kind_of(const json_t *v)
{
	return json_is_object(v) ? KIND_OBJECT
	       : json_is_array(v) ? KIND_ARRAY
	       : json_is_null(v)  ? KIND_NULL
	                          : KIND_SCALAR;
}

/* The grammar has no largest number, Jansson has. */
static bool is_too_large_a_number(const json_error_t *error)
{
	return json_error_code(error) == json_error_numeric_overflow;
}

static int depth_of(json_t *v)
{
	const char *key;
	json_t *item;
	size_t i;
	int deepest = 0, depth;

	json_object_foreach(v, key, item)
		deepest = (depth = depth_of(item)) > deepest ? depth : deepest;
	json_array_foreach(v, i, item)
		deepest = (depth = depth_of(item)) > deepest ? depth : deepest;
	return deepest + (json_is_object(v) || json_is_array(v));
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Behind an escaped backslash, "u0000" is text like any other. */
static bool smuggles(const char *text)
{
	for (; *text; text++) {
		if (begins(text, "\\u0000") || begins(text, "\\u001B") || begins(text, "\xc2\x9b"))
			return true;
		if (*text == '\\')
			text++;
	}
	return false;
}

static void check_written(json_t *v, enum kind kind)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

	HOLDS(text);
	HOLDS(kind == KIND_INVALID || !smuggles(text));
	if (depth_of(v) > MAX_DEPTH)
		HOLDS(json_check(text, strlen(text)) == KIND_INVALID);
	else if (!smuggles(text))
		HOLDS(json_check(text, strlen(text)) == (int)kind_of(v));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum kind kind = (enum kind)json_check((const char *)data, size);
	json_error_t error;
	json_t *v = load(data, size, &error);

	if (kind != KIND_INVALID)
		HOLDS(v ? kind_of(v) == kind : is_too_large_a_number(&error));
	if (v)
		check_written(v, kind);
	json_decref(v);
	return 0;
}
