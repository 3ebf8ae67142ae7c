/*
 * shorten.c: see shorten.h. Copies the text once for each level that it tries; builds no tree, and skips what is cut.
 */
#include "shorten.h"

#include <string.h>

#include "json.h"

#define MARK_BYTES (sizeof(SHORTEN_MARK) - 1)
#define PRECISION 8 /* bytes of a level, or a 64th of it */

struct cutter {
	const char *s, *end; /* what is left to read */
	struct buf *out;
	size_t limit;        /* of out->len */
	size_t level;
	bool over;           /* the limit was met */
	bool whole_data;
	int depth;
	bool in_data, exact; /* where it is: in the member "data" of an envelope; in what must not be cut */
	struct shorten_cuts *cuts; /* NULL: not wanted */
	char path[SHORTEN_PATH];
};

/* --- reading -------------------------------------------------------------------------- */

static const char *string_end(const char *s, const char *end)
{
	for (s++; s < end; s += *s == '\\' ? 2 : 1) {
		s += json_unescaped(s, (size_t)(end - s));
		if (s < end && *s == '"')
			return s + 1;
	}
	return end;
}

static const char *blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
		s++;
	return s;
}

static const char *scalar_end(const char *s, const char *end)
{
	while (s < end && !strchr(",]} \t\r\n", *s))
		s++;
	return s;
}

const char *shorten_skip(const char *s, const char *end)
{
	int depth = 0;

	s = blanks(s, end);
	do {
		if (*s == '"') {
			s = string_end(s, end);
		} else {
			depth += *s == '{' || *s == '[' ? 1 : *s == '}' || *s == ']' ? -1 : 0;
			s = depth == 0 && *s != '}' && *s != ']' ? scalar_end(s, end) : s + 1;
		}
	} while (s < end && depth > 0);
	return s;
}

/* The bytes of the character or escape at s: a pair of surrogates is one. */
static size_t unit(const char *s, const char *end)
{
	size_t n = utf8_length(s, (size_t)(end - s));

	if (*s != '\\')
		return n ? n : 1;
	if (s[1] != 'u')
		return 2;
	return json_hex4(s + 2) >= 0xd800 && json_hex4(s + 2) <= 0xdbff ? 12 : 6;
}

/* The bytes of the text that a string's characters stand for. */
static size_t text_bytes(const char *s, const char *end)
{
	size_t n = 0, bytes;

	for (; s < end; s += bytes) {
		bytes = unit(s, end);
		n += *s != '\\' ? bytes : bytes == 2 ? 1 : bytes == 12 ? 4 : json_hex4(s + 2) < 0x80 ? 1 : json_hex4(s + 2) < 0x800 ? 2 : 3;
	}
	return n;
}

/* --- what was cut ------------------------------------------------------------------------ */

static size_t path_add(struct cutter *c, const char *name, size_t n)
{
	size_t was = strlen(c->path), dot = was > 0;

	n = text_cut(name, n, was + dot < SHORTEN_PATH ? SHORTEN_PATH - 1 - was - dot : 0);
	if (c->cuts && n > 0) {
		memcpy(c->path + was, ".", dot);
		memcpy(c->path + was + dot, name, n);
		c->path[was + dot + n] = '\0';
	}
	return was;
}

static void note(struct cutter *c, bool of_items, size_t before, size_t after)
{
	struct shorten_cut *row;

	if (!c->cuts)
		return;
	if (c->cuts->count < SHORTEN_CUTS) {
		row = &c->cuts->row[c->cuts->count];
		*row = (struct shorten_cut){ .of_items = of_items, .before = before, .after = after };
		strcpy(row->path, c->path);
	}
	c->cuts->count++;
}

/* --- writing ----------------------------------------------------------------------------- */

static void put(struct cutter *c, const char *s, size_t n)
{
	c->over |= n > c->limit - MIN_OF(c->out->len, c->limit);
	if (!c->over)
		buf_add(c->out, s, n);
}

static void write_value(struct cutter *c);

static void write_string(struct cutter *c)
{
	const char *begin = c->s, *end = string_end(begin, c->end), *to = begin + 1;
	size_t limit = MAX_OF(c->level, (size_t)SHORTEN_LEAST), room = limit - MARK_BYTES - 2;

	c->s = end;
	if (c->exact || (size_t)(end - begin) <= limit) {
		put(c, begin, (size_t)(end - begin));
		return;
	}
	while ((size_t)(to - begin) - 1 + unit(to, end) <= room)
		to += unit(to, end);
	put(c, begin, (size_t)(to - begin));
	put(c, SHORTEN_MARK "\"", MARK_BYTES + 1);
	if (c->cuts)
		note(c, false, text_bytes(begin + 1, end - 1), text_bytes(begin + 1, to));
}

/* One item, where all items so far and this one have room; else nothing is written. */
static bool write_item(struct cutter *c, size_t begin, size_t nth)
{
	size_t outer = c->limit, was = c->out->len, cuts = c->cuts ? c->cuts->count : 0;
	bool may_drop = nth > 0 || c->level < SHORTEN_LEAST;

	if (may_drop)
		c->limit = MIN_OF(outer, begin + c->level);
	put(c, ",", nth > 0);
	write_value(c);
	if (c->over && may_drop && c->limit < outer) {
		c->over = false;
		c->limit = outer;
		c->out->len = was;
		if (c->cuts)
			c->cuts->count = cuts;
		return false;
	}
	c->limit = outer;
	return true;
}

/* Go from an item to the bracket behind the last one: how many there were. */
static size_t pass_items(struct cutter *c, const char *item)
{
	size_t n = 0;

	for (c->s = item; c->s < c->end && *c->s != ']'; n++) {
		c->s = blanks(shorten_skip(c->s, c->end), c->end);
		c->s = *c->s == ',' ? blanks(c->s + 1, c->end) : c->s;
	}
	return n;
}

static void write_array(struct cutter *c)
{
	size_t begin, n = 0, was;
	char index[INT_TEXT];
	bool fits = true;

	put(c, "[", 1);
	begin = c->out->len;
	for (c->s = blanks(c->s + 1, c->end); !c->over && fits && *c->s != ']';) {
		const char *item = c->s, *text = int_text((int64_t)n, index);

		was = path_add(c, text, strlen(text));
		fits = write_item(c, begin, n);
		c->path[was] = '\0';
		if (!fits) {
			note(c, true, n + pass_items(c, item), n);
		} else if (!c->over) {
			n++;
			c->s = blanks(c->s, c->end);
			c->s = *c->s == ',' ? blanks(c->s + 1, c->end) : c->s;
		}
	}
	put(c, "]", 1);
	c->s++;
}

/* Half of one is worse than none: it would be run, sent or opened. */
static bool is_exact(const char *name, size_t n)
{
	static const char *const names[] = { "code", "command", "corrected_input", "docs_url", "fix_command", "next_cursor", "path",
		                                 "refresh_command", "truncation_hint" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
			return true;
	return false;
}

static void write_member(struct cutter *c)
{
	const char *name = c->s + 1, *end = string_end(c->s, c->end);
	size_t n = (size_t)(end - name) - 1, was = path_add(c, name, n);
	bool in_data = c->in_data, exact = c->exact;

	put(c, c->s, (size_t)(end - c->s));
	put(c, ":", 1);
	c->s = blanks(blanks(end, c->end) + 1, c->end);
	if (c->depth == 1)
		c->in_data = n == 4 && memcmp(name, "data", 4) == 0;
	c->exact = exact || (!c->in_data && is_exact(name, n));
	if (c->in_data && c->depth == 1 && c->whole_data) {
		end = shorten_skip(c->s, c->end);
		put(c, c->s, (size_t)(end - c->s));
		c->s = end;
	} else {
		write_value(c);
	}
	c->in_data = in_data, c->exact = exact;
	c->path[was] = '\0';
}

static void write_object(struct cutter *c)
{
	bool more = false;

	put(c, "{", 1);
	c->depth++;
	for (c->s = blanks(c->s + 1, c->end); !c->over && *c->s != '}'; more = true) {
		put(c, ",", more);
		write_member(c);
		c->s = c->over ? c->s : blanks(c->s, c->end);
		c->s = !c->over && *c->s == ',' ? blanks(c->s + 1, c->end) : c->s;
	}
	c->depth--;
	put(c, "}", 1);
	c->s++;
}

static void write_value(struct cutter *c)
{
	const char *end;

	if (*c->s == '{') {
		write_object(c);
	} else if (*c->s == '[') {
		write_array(c);
	} else if (*c->s == '"') {
		write_string(c);
	} else {
		end = scalar_end(c->s, c->end);
		put(c, c->s, (size_t)(end - c->s));
		c->s = end;
	}
}

/* --- levels ------------------------------------------------------------------------------ */

static bool try_level(struct cutter c, const char *s, size_t n, size_t level)
{
	size_t was = c.out->len;

	c.s = blanks(s, s + n);
	c.end = s + n;
	c.level = level;
	write_value(&c);
	if (!c.over && !c.out->failed)
		return true;
	c.out->len = was;
	return false;
}

bool shorten(struct buf *out, const char *s, size_t n, size_t max, bool whole_data, struct shorten_cuts *cuts)
{
	struct cutter c = { .out = out, .limit = out->len + max, .whole_data = whole_data };
	size_t low = 0, high = max, was = out->len;

	if (try_level(c, s, n, SHORTEN_LEAST))
		low = SHORTEN_LEAST;
	else if (try_level(c, s, n, 0))
		high = SHORTEN_LEAST;
	else
		return false;
	while (high > low + PRECISION + low / 64) {
		size_t level = low + (high - low) / 2;

		out->len = was;
		if (try_level(c, s, n, level))
			low = level;
		else
			high = level;
	}
	out->len = was;
	c.cuts = cuts;
	if (cuts)
		cuts->count = 0;
	return try_level(c, s, n, low);
}
