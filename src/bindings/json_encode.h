/*
 * json_encode.h: what the parts of json.encode share. json_encode.c walks
 * tables, json_members.c sorts large objects, json_values.c writes what is no
 * table; json_report.c formats failures and has the function that Lua calls.
 */
#ifndef RUNNER_JSON_ENCODE_H
#define RUNNER_JSON_ENCODE_H

#include <lua.h>

#include "../common/json.h"

/* One level of the path to the value at hand. */
struct place {
	int at;          /* stack index of its table */
	const char *key; /* NULL in an array */
	size_t key_len;
	lua_Integer index;
};

#define JSON_FEW 16 /* members of an object that are sorted on the stack */

struct key {
	const char *s; /* written as it is */
	uint64_t word; /* its first bytes: text_word.h */
	size_t len;
	int value; /* its stack index */
};

struct encoder {
	lua_State *L;
	const void *mark; /* the array metatable */
	struct buf *out, *message;
	struct buf *members, *sorted; /* json_members.c's own */
	int top, room; /* of the stack: what is in use, and what may be */
	size_t max;
	bool envelope;    /* its strings go into the envelope: no carriage returns */
	bool keep;        /* `out` is the answer, in place of a copy */
	int out_at;       /* its stack index */
	const char *name; /* of the value as a whole, in messages */
	const char *code; /* of the failure */
	lua_Integer nonfinite, repaired;
	int depth;
	struct place *path; /* JSON_MAX_DEPTH + 1 of them */
	struct key *keys;   /* room for JSON_FEW of each level */
	struct json_writer scalar; /* of one number or word */
	size_t len;                /* of the string at hand */
};

/* Write the value at the stack index, which is e->top or below. 0, with the stack as it was, or
 * -1 with e->code and a message. */
int encode_whole(struct encoder *e, int at);

/* The same for a value inside, whose end may still be too far: the size is looked at behind each
 * value that holds no other. */
int encode_value(struct encoder *e, int at);
/* The same for a table. */
int encode_table(struct encoder *e, int at);
/* The object at the index. Its first members may be on the stack above e->top. */
int encode_many(struct encoder *e, int at);
/* Every key of the last table of the path, at the index, is one of 1..n, and none is missing. 0, or
 * -1 with a message. Values above e->top are popped. */
int encode_check_items(struct encoder *e, int at, lua_Integer n);
/* The key on the stack below its value is neither a string nor an array's. Always -1. */
int encode_refuse_key(struct encoder *e);

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
	if (!e->out->failed && more <= e->max && e->out->len <= e->max - more)
		return 0;
	return encode_refuse_size(e);
}

/* Append a quoted string. */
static inline void encode_text(struct encoder *e, const char *s, size_t n)
{
	e->repaired += (lua_Integer)(e->envelope ? json_quote : json_quote_exact)(e->out, s, n);
}

/* As memcmp(3), for keys of any length. */
static inline int encode_compare_keys(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, MIN_OF(a_len, b_len));

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

#endif
