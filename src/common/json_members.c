/*
 * json_members.c: the members of an object that json_check() has accepted, without
 * parsing it again: which names it has, and the text between its braces. Runs in the
 * supervisor; allocates nothing.
 */
#include "json.h"

#include <string.h>

/* Behind the string that begins at s[at], a quote. */
static size_t string_end(const char *s, size_t n, size_t at)
{
	for (at++; at < n && s[at] != '"'; at++)
		if (s[at] == '\\')
			at++;
	return MIN_OF(at + 1, n);
}

static size_t blanks_end(const char *s, size_t n, size_t at)
{
	while (at < n && strchr(" \t\r\n", s[at]))
		at++;
	return at;
}

bool json_has_member(const char *s, size_t n, const char *name)
{
	size_t at = 0, end, length = strlen(name);
	int depth = 0;

	while (at < n) {
		depth += s[at] == '{' || s[at] == '[';
		depth -= s[at] == '}' || s[at] == ']';
		if (s[at] != '"') {
			at++;
			continue;
		}
		end = string_end(s, n, at);
		if (depth == 1 && end - at == length + 2 && memcmp(s + at + 1, name, length) == 0) {
			size_t next = blanks_end(s, n, end);

			if (next < n && s[next] == ':')
				return true;
		}
		at = end;
	}
	return false;
}

bool json_add_members(struct buf *out, const char *s, size_t n)
{
	size_t from = blanks_end(s, n, 0);

	while (n > from && strchr(" \t\r\n", s[n - 1]))
		n--;
	if (n < from + 2 || s[from] != '{')
		return false;
	from = blanks_end(s, n, from + 1);
	if (from >= n - 1)
		return false;
	buf_add(out, s + from, n - 1 - from);
	return true;
}
