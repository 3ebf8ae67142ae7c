/*
 * os_close.h: closes descriptors one by one where the system can't close a range.
 * Private to os_linux.c (old kernels) and os_posix.c.
 */
#ifndef RUNNER_OS_CLOSE_H
#define RUNNER_OS_CLOSE_H

#include <unistd.h>

#include "../common/base.h"

/* A limit of "infinity" must not cost a billion calls. */
#define OS_CLOSE_MAX 65536

/* Close lowest … the process's limit except `keep` (sorted ascending). [signal] */
static inline void os_close_each(int lowest, const int *keep, size_t keep_count)
{
	long limit = sysconf(_SC_OPEN_MAX);
	int end = limit < 0 || limit > OS_CLOSE_MAX ? OS_CLOSE_MAX : (int)limit;
	size_t k = 0;

	for (int fd = lowest; fd < end; fd++) {
		while (k < keep_count && keep[k] < fd)
			k++;
		if (k == keep_count || keep[k] != fd)
			close(fd);
	}
}

#endif
