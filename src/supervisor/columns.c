/*
 * columns.c: how wide a terminal is, and how much of a text fits on a line of it. Runs in
 * the supervisor.
 */
#include "columns.h"

#include <sys/ioctl.h>

#include "../common/json.h"

size_t columns_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t columns_cut(struct field text, size_t columns)
{
	size_t at = 0, used = 0;

	while (at < text.n) {
		size_t n = utf8_length(text.s + at, text.n - at);

		used += n >= 3 ? 2 : 1;
		if (used > columns)
			break;
		at += n > 0 ? n : 1;
	}
	return at;
}
