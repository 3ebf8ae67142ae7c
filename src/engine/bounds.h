/*
 * bounds.h: all that a process enters to be confined, made before: files, ports and other processes (confine.h), root's
 * power (capabilities.h), system calls (system_calls.h).
 */
#ifndef RUNNER_BOUNDS_H
#define RUNNER_BOUNDS_H

#include "system_calls.h"

struct bounds {
	int ruleset;           /* of confine_open(), owned; -1: no Landlock */
	uint64_t capabilities; /* those that are kept */
	enum sockets sockets;
	bool filters;          /* the kernel has them */
};

/* Enter, this thread and what it starts from now on: first the one, then the other, as the last before its code runs,
 * since it refuses calls. Async-signal-safe. -1: errno says why. */
int bounds_enter_files(const struct bounds *b);
int bounds_enter_calls(const struct bounds *b);

#endif
