/*
 * os_proc.h: formats paths in /proc by hand. Private to os_linux.c and os_proc.c,
 * which also run where stdio can't be used.
 */
#ifndef RUNNER_OS_PROC_H
#define RUNNER_OS_PROC_H

#define OS_PROC_PATH_MAX 64

/* Append at `at`; returns the new end, where a NUL is. [signal] */
static inline char *os_put_str(char *at, const char *s)
{
	while (*s != '\0')
		*at++ = *s++;
	*at = '\0';
	return at;
}

static inline char *os_put_number(char *at, unsigned v)
{
	char digits[12];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	while (n > 0)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}

#endif
