/*
 * columns.c: how wide a terminal is, and how much of a text fits on a line of it. Runs in
 * the supervisor.
 */
#include "columns.h"

#include <sys/ioctl.h>

#include "../common/json.h"

/* Characters that take two columns, or none: first and last of each range; as in
 * lua/output/layout.lua. */
struct range {
	uint32_t first, last;
};

static const struct range wide[] = {
	{ 0x1100, 0x115F },   { 0x231A, 0x231B },   { 0x23E9, 0x23EC },   { 0x25FD, 0x25FE },   { 0x2614, 0x2615 },
	{ 0x2705, 0x2705 },   { 0x274C, 0x274E },   { 0x2753, 0x2757 },   { 0x2795, 0x2797 },   { 0x2B1B, 0x2B1C },
	{ 0x2E80, 0x303E },   { 0x3041, 0xA4CF },   { 0xA960, 0xA97C },   { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },
	{ 0xFE30, 0xFE6F },   { 0xFF00, 0xFF60 },   { 0xFFE0, 0xFFE6 },   { 0x1F18E, 0x1F19A }, { 0x1F200, 0x1F265 },
	{ 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F7E0, 0x1F7F0 }, { 0x1F900, 0x1FAFF }, { 0x20000, 0x3FFFD },
};

static const struct range none[] = {
	{ 0x300, 0x36F },   { 0x483, 0x489 },   { 0x591, 0x5BD },   { 0x610, 0x61A },   { 0x64B, 0x65F },
	{ 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
	{ 0xFE20, 0xFE2F }, { 0xE0100, 0xE01EF },
};

static bool within(const struct range *ranges, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n && ranges[i].first <= c; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

/* Of one character, well-formed and n bytes long. */
static size_t width_of(const char *s, size_t n)
{
	uint32_t c;

	if (n < 2 || n > 4)
		return 1;
	c = utf8_code_point(s, n);
	return within(wide, ARRAY_LEN(wide), c) ? 2 : within(none, ARRAY_LEN(none), c) ? 0 : 1;
}

static size_t size_of(int fd, bool of_columns)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) != 0)
		return 0;
	return of_columns ? size.ws_col : size.ws_row;
}

size_t columns_of(int fd)
{
	return size_of(fd, true);
}

size_t rows_of(int fd)
{
	return size_of(fd, false);
}

/* As columns_cut; *used is how many columns that takes. */
static size_t cut(struct field text, size_t columns, size_t *used)
{
	size_t at = 0;

	for (*used = 0; at < text.n;) {
		size_t n = utf8_length(text.s + at, text.n - at), w = width_of(text.s + at, n);

		if (*used + w > columns)
			break;
		*used += w;
		at += n > 0 ? n : 1;
	}
	return at;
}

size_t columns_cut(struct field text, size_t columns)
{
	size_t used;

	return cut(text, columns, &used);
}

size_t columns_width(struct field text)
{
	size_t used;

	cut(text, SIZE_MAX, &used);
	return used;
}
