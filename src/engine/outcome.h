/*
 * outcome.h: a wait status, decoded once. Pure.
 */
#ifndef RUNNER_OUTCOME_H
#define RUNNER_OUTCOME_H

#include "../common/base.h"

struct outcome {
	bool signalled;
	int status;       /* exit status, or the signal's number */
	bool core_dumped;
};

struct outcome outcome_decode(int wait_status);
/* "SIGSEGV", "SIGRTMIN+3", "SIG77"; never NULL. Static for known signals,
 * otherwise written to scratch (16 bytes). */
const char *signal_name(int number, char scratch[16]);
/* The number of "SIGTERM" or "TERM"; -1 when unknown. */
int signal_parse(const char *name);

#endif
