/*
 * libm.h: the mathematics library on first use. Scripts notice nothing of it.
 */
#ifndef RUNNER_LIBM_H
#define RUNNER_LIBM_H

/* Load it now: before a limit on memory may refuse it, or before a C module that
 * never said it needs it. */
void libm_open(void);

#endif
