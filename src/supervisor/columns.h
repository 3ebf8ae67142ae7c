/*
 * columns.h: how wide a terminal is, and how much of a text fits on a line of it.
 */
#ifndef RUNNER_COLUMNS_H
#define RUNNER_COLUMNS_H

#include <stddef.h>

#include "../common/frame.h"

/* Columns of the terminal `fd`; 0: unknown. */
size_t columns_of(int fd);

/* How many bytes of `text` fit into `columns`, whole characters. A character from U+0800 on
 * is taken for two columns wide, as it may be. */
size_t columns_cut(struct field text, size_t columns);

#endif
