/*
 * fuzz_json_scan.c: the reader's first pass against Jansson: they accept the same texts
 * (numbers have a form here, and a size there), and it counts what Jansson finds in
 * each container, in the order in which they open.
 */
#include "fuzz.h"

#include <jansson.h>

#include "../../src/bindings/json_decode.h"

/* Duplicate members are one in Jansson's object; JSON_REJECT_DUPLICATES tells. */
static json_t *load(const char *text, size_t n, json_error_t *error)
{
	return json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, error);
}

/* Objects keep no order in Jansson's loops: only arrays of arrays and the number of all are compared. */
static void count(const json_t *v, size_t *containers, size_t *values)
{
	const char *key;
	json_t *item;
	size_t i;

	*values += 1;
	*containers += json_is_object(v) || json_is_array(v);
	json_object_foreach((json_t *)v, key, item)
		count(item, containers, values);
	json_array_foreach(v, i, item)
		count(item, containers, values);
}

static bool may_differ(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);

	return code == json_error_numeric_overflow || code == json_error_duplicate_key;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf counts = BUF_INIT;
	struct json_scan scan = { .counts = &counts };
	json_error_t error;
	char *text = malloc(size + 1);
	size_t containers = 0, values = 0, found = 1;
	int status;
	json_t *v;

	memcpy(text, data, size);
	text[size] = '\0';
	status = json_scan(&scan, text, size);
	v = load(text, size, &error);
	if (v && status < 0) {
		HOLDS(memchr(text, '\0', size)); /* Jansson passes over a NUL behind a number */
	} else if (v) {
		count(v, &containers, &values);
		HOLDS(counts.len == containers * sizeof(uint32_t));
		for (size_t i = 0; i < containers; i++)
			found += ((const uint32_t *)(const void *)counts.data)[i];
		HOLDS(found == values);
	} else if (status == 0) {
		HOLDS(may_differ(&error));
	} else {
		HOLDS(scan.why && scan.at >= text && scan.at <= text + size);
	}
	HOLDS(json_weight(text, size) <= (size + 1) * JSON_WEIGHT_MAX + JSON_WEIGHT_MAX);
	json_decref(v);
	buf_release(&counts);
	free(text);
	return 0;
}
