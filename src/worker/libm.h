/*
 * libm.h: loads the math library on first use. Scripts don't notice.
 */
#ifndef RUNNER_LIBM_H
#define RUNNER_LIBM_H

/* Load it now: before a memory limit could refuse it, or before loading a C module,
 * which may need it without linking to it. */
void libm_open(void);

#endif
