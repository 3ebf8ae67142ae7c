/*
 * outcome.c: wait statuses and signal names. Runs in both processes. Pure. No
 * other file decodes a wait status.
 */
#include "outcome.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct signal_row {
	int number;
	const char *name;
};

#define ROW(name) { name, #name }
/* The first name of a number is printed; later ones are only parsed. */
static const struct signal_row signals[] = {
	ROW(SIGHUP),    ROW(SIGINT),  ROW(SIGQUIT), ROW(SIGILL),  ROW(SIGTRAP), ROW(SIGABRT),
	ROW(SIGBUS),    ROW(SIGFPE),  ROW(SIGKILL), ROW(SIGUSR1), ROW(SIGSEGV), ROW(SIGUSR2),
	ROW(SIGPIPE),   ROW(SIGALRM), ROW(SIGTERM), ROW(SIGCHLD), ROW(SIGCONT), ROW(SIGSTOP),
	ROW(SIGTSTP),   ROW(SIGTTIN), ROW(SIGTTOU), ROW(SIGURG),  ROW(SIGXCPU), ROW(SIGXFSZ),
	ROW(SIGVTALRM), ROW(SIGPROF), ROW(SIGSYS),
#ifdef SIGSTKFLT
	ROW(SIGSTKFLT),
#endif
#ifdef SIGWINCH
	ROW(SIGWINCH),
#endif
#ifdef SIGIO
	ROW(SIGIO),
#endif
#ifdef SIGPOLL
	ROW(SIGPOLL),
#endif
#ifdef SIGPWR
	ROW(SIGPWR),
#endif
#ifdef SIGEMT
	ROW(SIGEMT),
#endif
#ifdef SIGINFO
	ROW(SIGINFO),
#endif
#ifdef SIGIOT
	ROW(SIGIOT),
#endif
};

struct outcome outcome_decode(int wait_status)
{
	struct outcome o = { false, 0, false };

	if (WIFSIGNALED(wait_status)) {
		o.signalled = true;
		o.status = WTERMSIG(wait_status);
#ifdef WCOREDUMP
		o.core_dumped = WCOREDUMP(wait_status) != 0;
#endif
	} else if (WIFEXITED(wait_status)) {
		o.status = WEXITSTATUS(wait_status);
	}
	return o;
}

static const char *realtime_name(int number, char scratch[16])
{
#ifdef SIGRTMIN
	if (number == SIGRTMIN)
		return "SIGRTMIN";
	if (number > SIGRTMIN && number <= SIGRTMAX) {
		snprintf(scratch, 16, "SIGRTMIN+%d", number - SIGRTMIN);
		return scratch;
	}
#endif
	snprintf(scratch, 16, "SIG%d", number);
	return scratch;
}

const char *signal_name(int number, char scratch[16])
{
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (signals[i].number == number)
			return signals[i].name;
	return realtime_name(number, scratch);
}

/* "RTMIN", "RTMIN+3", "77": what signal_name() writes, without "SIG". */
static int parse_unnamed(const char *text)
{
	long base = 0, v;
	char *end;

#ifdef SIGRTMIN
	if (strcmp(text, "RTMIN") == 0)
		return SIGRTMIN;
	if (strncmp(text, "RTMIN+", 6) == 0) {
		base = SIGRTMIN;
		text += 6;
	}
#endif
	if (*text < '0' || *text > '9')
		return -1;
	v = strtol(text, &end, 10);
	if (*end != '\0' || v > NSIG || base + v < 1 || base + v >= NSIG)
		return -1;
	return (int)(base + v);
}

int signal_parse(const char *name)
{
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (strcmp(signals[i].name + 3, name) == 0)
			return signals[i].number;
	return parse_unnamed(name);
}
