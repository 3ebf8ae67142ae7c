/*
 * columns.h: how wide a terminal is, and how much of a text fits on a line of it.
 */
#ifndef RUNNER_COLUMNS_H
#define RUNNER_COLUMNS_H

#include <stddef.h>

#include "../common/frame.h"

/* Columns and rows of the terminal `fd`; 0: unknown. */
size_t columns_of(int fd);
size_t rows_of(int fd);

/* How many columns a text takes: two for each wide character (Unicode's East Asian Width W and
 * F, and emoji), none for a mark that is drawn over the character before. */
size_t columns_width(struct field text);

/* How many bytes of `text` fit into `columns`, whole characters with their marks. */
size_t columns_cut(struct field text, size_t columns);

#endif
