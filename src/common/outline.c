/* outline.c: see outline.h. */
#include "outline.h"

static void keep(struct outline *o, char c)
{
	if (o->n == OUTLINE_BYTES)
		o->failed = true;
	else
		o->text[o->n++] = c;
}

static void take_in_string(struct outline *o, char c)
{
	if (o->depth <= 1)
		keep(o, c);
	o->in_string = o->escaped || c != '"';
	o->escaped = !o->escaped && c == '\\';
}

static void open_level(struct outline *o, bool array)
{
	uint8_t bit = (uint8_t)(1u << o->depth % 8), *at = &o->is_array[o->depth / 8];

	*at = (uint8_t)(array ? *at | bit : *at & ~bit);
	o->depth++;
}

static void close_level(struct outline *o, bool array)
{
	if (o->depth > 0) {
		o->depth--;
		o->failed = (o->is_array[o->depth / 8] >> o->depth % 8 & 1) != array;
	} else {
		o->failed = true;
	}
}

static void take_mark(struct outline *o, char c)
{
	bool array = c == '[' || c == ']', opens = c == '{' || c == '[';

	if (c == '}' || c == ']')
		close_level(o, array);
	if (o->depth <= 1)
		keep(o, c);
	o->in_string = c == '"';
	if (opens && o->depth == OUTLINE_DEPTH)
		o->failed = true;
	else if (opens)
		open_level(o, array);
}

void outline_take(struct outline *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n && !o->failed; i++) {
		if (o->in_string)
			take_in_string(o, s[i]);
		else
			take_mark(o, s[i]);
	}
}
