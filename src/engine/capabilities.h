/*
 * capabilities.h: what of root's power a confined process keeps. capabilities(7).
 */
#ifndef RUNNER_CAPABILITIES_H
#define RUNNER_CAPABILITIES_H

#include <stdint.h>

/* This thread and what it starts have at most these from now on (bit N: capability N). They come
 * back by no program that is started later, once PR_SET_NO_NEW_PRIVS is set. -1: errno says why. */
int capabilities_keep(uint64_t kept);

#endif
