/*
 * redact.c: a scan for names with values behind them. It knows no grammar: logs hold
 * command lines, JSON, headers and prose, often one inside the other.
 */
#include "redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "../common/secret.h"

static const char *const headers[] = { "authorization", "proxy-authorization", "cookie",
	                                   "set-cookie", "x-api-key", "x-auth-token" };

static bool is_header(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(headers); i++)
		if (strlen(headers[i]) == n && strncasecmp(headers[i], name, n) == 0)
			return true;
	return false;
}

/* --- a name and its value ------------------------------------------------------------- */

/* Where a scan is: s[at] is next; nothing from n on is read. */
struct scan {
	const char *s;
	size_t n, at;
};

static int peek(const struct scan *c, size_t ahead)
{
	return c->at + ahead < c->n ? (unsigned char)c->s[c->at + ahead] : -1;
}

static void skip_blanks(struct scan *c)
{
	while (peek(c, 0) == ' ' || peek(c, 0) == '\t')
		c->at++;
}

/* The length of a quote that is next: 1 for " or ', 2 for \" (JSON in JSON), 0: none. */
static size_t quote_here(const struct scan *c)
{
	size_t escaped = peek(c, 0) == '\\';
	int q = peek(c, escaped);

	return q == '"' || (q == '\'' && !escaped) ? 1 + escaped : 0;
}

static bool in_name(int c)
{
	return c != -1 && (isalnum(c) || c == '_' || c == '-');
}

/* Prose has colons too ("unexpected token: x"): a plain name must begin a line or an item. */
static bool begins_item(const struct scan *c, size_t at)
{
	while (at > 0 && (c->s[at - 1] == ' ' || c->s[at - 1] == '\t'))
		at--;
	return at == 0 || strchr("\n,;{[(&?|", c->s[at - 1]) != NULL;
}

/* Step over what is between a name and its value. False: what follows is no value of it. */
static bool take_separator(struct scan *c, size_t name, size_t length, size_t quote)
{
	bool dashed = name + 1 < c->n && c->s[name] == '-' && length > 1;
	size_t end = c->at;
	int sep;

	skip_blanks(c);
	sep = peek(c, 0);
	if (sep == '=' || sep == ':') {
		c->at++;
		if (peek(c, 0) == sep || (sep == ':' && peek(c, 0) == '/' && peek(c, 1) == '/'))
			return false;
		if (sep == ':' && !quote && !is_header(c->s + name, length) && !begins_item(c, name))
			return false;
		if (peek(c, 0) == '>') /* => */
			c->at++;
	} else if (!dashed || (quote ? sep != ',' : c->at == end || sep == '-')) {
		return false;
	} else if (quote) {
		c->at++;
	}
	skip_blanks(c);
	return true;
}

static bool is_one_of(const char *s, size_t n, const char *const list[])
{
	for (size_t i = 0; list[i]; i++)
		if (strlen(list[i]) == n && strncasecmp(list[i], s, n) == 0)
			return true;
	return false;
}

/* Where a value in quotes ends: at a quote with no more backslashes than it began with. */
static size_t quoted_end(const struct scan *c, size_t from, size_t quote)
{
	char q = c->s[from - 1];
	size_t slashes = 0;

	for (size_t i = from; i < c->n; i++) {
		if (c->s[i] == q && (quote == 1 ? slashes % 2 == 0 : slashes == 1))
			return i - (quote - 1);
		slashes = c->s[i] == '\\' ? slashes + 1 : 0;
	}
	return c->n;
}

static size_t word_stop(const struct scan *c, size_t from, const char *stops)
{
	while (from < c->n && (!c->s[from] || !strchr(stops, c->s[from])) &&
	       !(c->s[from] == '\\' && from + 1 < c->n && strchr("\"nr", c->s[from + 1])))
		from++;
	return from;
}

/* Where a value without quotes ends: a header's at the end of its line, else a word's. */
static size_t plain_end(const struct scan *c, bool header)
{
	static const char *const schemes[] = { "bearer", "basic", "token", "digest", NULL };
	static const char stops[] = " \t\r\n,;&|)}]\"'";
	size_t end = word_stop(c, c->at, header ? "\r\n\"'" : stops);

	if (!header && end + 1 < c->n && c->s[end] == ' ' && is_one_of(c->s + c->at, end - c->at, schemes))
		end = word_stop(c, end + 1, stops);
	return end;
}

/* Append what stands for the value that is next; false where there is none to hide. */
static bool hide_value(struct buf *out, struct scan *c, bool header, const char *quote_mark, size_t quote)
{
	static const char *const open[] = { "null", "nil", "none", "true", "false", "***", NULL };
	size_t own = quote_here(c), from = c->at + own;
	size_t end = own ? quoted_end(c, from, own) : plain_end(c, header);
	bool json = quote && !own;

	if (end == from || (!own && (c->s[from] == '{' || c->s[from] == '[')) ||
	    is_one_of(c->s + from, end - from, open))
		return false;
	buf_add(out, json ? quote_mark : c->s + c->at, json ? quote : own);
	buf_add_str(out, REDACTED);
	buf_add(out, quote_mark, json ? quote : 0);
	c->at = end;
	return true;
}

/* The name that is next, and its value if it is a secret. */
static void take_name(struct buf *out, struct scan *c)
{
	size_t name = c->at, quote, length, after;
	const char *mark;

	while (in_name(peek(c, 0)))
		c->at++;
	length = c->at - name;
	buf_add(out, c->s + name, length);
	if (!secret_name(c->s + name, length))
		return;
	after = c->at;
	mark = c->s + c->at;
	quote = quote_here(c);
	c->at += quote;
	if (take_separator(c, name, length, quote)) {
		buf_add(out, c->s + after, c->at - after);
		after = c->at;
		if (hide_value(out, c, is_header(c->s + name, length), mark, quote))
			return;
	}
	c->at = after;
}

void redact_text(struct buf *out, const char *s, size_t n)
{
	struct scan c = { .s = s, .n = n };

	while (c.at < n) {
		if (in_name(peek(&c, 0)))
			take_name(out, &c);
		else
			buf_add_char(out, s[c.at++]);
	}
}

void redact_buf(struct buf *b)
{
	struct buf plain = *b;

	*b = (struct buf)BUF_INIT;
	redact_text(b, buf_cstr(&plain), plain.len);
	buf_release(&plain);
}
