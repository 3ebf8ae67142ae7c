/*
 * json.c: the streaming writer of json.h (json_text.c has its strings,
 * json_check.c the checker). The supervisor prints with it, the worker encodes
 * Lua values with it.
 *
 * It must not build a tree or write a byte that depends on the locale.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "decimal.h"

static void comma(struct json_writer *w)
{
	if (w->need_comma)
		buf_add_char(w->out, ',');
}

static void open_container(struct json_writer *w, char c)
{
	comma(w);
	buf_add_char(w->out, c);
	w->need_comma = false;
}

static void close_container(struct json_writer *w, char c)
{
	buf_add_char(w->out, c);
	w->need_comma = true;
}

void json_begin_object(struct json_writer *w)
{
	open_container(w, '{');
}

void json_end_object(struct json_writer *w)
{
	close_container(w, '}');
}

void json_begin_array(struct json_writer *w)
{
	open_container(w, '[');
}

void json_end_array(struct json_writer *w)
{
	close_container(w, ']');
}

void json_key(struct json_writer *w, const char *key)
{
	comma(w);
	json_quote(w->out, key, strlen(key));
	buf_add_char(w->out, ':');
	w->need_comma = false;
}

void json_raw(struct json_writer *w, const char *s, size_t n)
{
	comma(w);
	buf_add(w->out, s, n);
	w->need_comma = true;
}

void json_str(struct json_writer *w, const char *s, size_t n)
{
	comma(w);
	json_quote(w->out, s, n);
	w->need_comma = true;
}

void json_cstr(struct json_writer *w, const char *s)
{
	if (s == NULL)
		json_write_null(w);
	else
		json_str(w, s, strlen(s));
}

void json_bool(struct json_writer *w, bool v)
{
	json_raw(w, v ? "true" : "false", v ? 4 : 5);
}

void json_write_null(struct json_writer *w)
{
	json_raw(w, "null", 4);
}

void json_int(struct json_writer *w, int64_t v)
{
	char out[INT_TEXT];
	const char *text = int_text(v, out);

	json_raw(w, text, strlen(text));
}

/* --- doubles -------------------------------------------------------------------- */

void json_double(struct json_writer *w, double v)
{
	char text[DECIMAL_TEXT];

	if (isfinite(v))
		json_raw(w, text, decimal_write(v, text));
	else
		json_write_null(w);
}
