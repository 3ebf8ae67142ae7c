/*
 * json_encode.h: what the parts of json.encode share. json_encode.c walks a
 * value; json_report.c formats its failures and has the function that Lua calls.
 */
#ifndef RUNNER_JSON_ENCODE_H
#define RUNNER_JSON_ENCODE_H

#include <lua.h>

#include "../common/json.h"

/* One level of the path to the value at hand. */
struct place {
	const void *table;
	const char *key; /* NULL in an array */
	size_t key_len;
	lua_Integer index;
};

struct encoder {
	lua_State *L;
	int mark; /* stack index of the array metatable */
	struct buf *out, *message;
	struct buf *members, *sorted; /* json_encode.c's own */
	struct json_writer w;
	size_t max;
	bool envelope;    /* its strings go into the envelope: no carriage returns */
	const char *name; /* of the value as a whole, in messages */
	const char *code; /* of the failure */
	lua_Integer nonfinite, repaired;
	int depth;
	struct place path[JSON_MAX_DEPTH];
};

/* Write the value on top of the stack, which stays. 0, or -1 with e->code and
 * a message. Needs room for 4 * JSON_MAX_DEPTH + 16 values on the stack. */
int encode_value(struct encoder *e);

/* The value at the path can't be written: "data.items[3].fn is a function".
 * Always -1. */
int encode_refuse(struct encoder *e, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same for the table at the path that is level `at` of the path again. */
int encode_refuse_cycle(struct encoder *e, int at);
/* There is no room for `more` bytes, or something was lost: say which. Always -1. */
int encode_refuse_size(struct encoder *e);

/* Check that there is room for `more` bytes and nothing was lost. 0, or -1. */
static inline int encode_check_size(struct encoder *e, size_t more)
{
	bool lost = e->out->failed || e->members->failed || e->sorted->failed;

	if (!lost && more <= e->max && e->out->len <= e->max - more)
		return 0;
	return encode_refuse_size(e);
}

#endif
