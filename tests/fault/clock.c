/*
 * clock.c: a preloaded library for tests: the wall clock, as time(2), gettimeofday(2)
 * and CLOCK_REALTIME tell it, jumps while a program runs. All other clocks stay.
 *
 *   FAULT_CLOCK=MS:SECONDS    by so many seconds, MS after the start of each program
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S 1000000000LL

static long long jump_at, jump_ns;

static int real_clock(clockid_t id, struct timespec *ts)
{
	static int (*next)(clockid_t, struct timespec *);

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	return next(id, ts);
}

static long long now_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	real_clock(id, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static long long wall_ns(void)
{
	return now_ns(CLOCK_REALTIME) + (now_ns(CLOCK_MONOTONIC) >= jump_at ? jump_ns : 0);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_REALTIME)
		return real_clock(id, ts);
	*ts = (struct timespec){ wall_ns() / NS_PER_S, wall_ns() % NS_PER_S };
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	(void)zone;
	*tv = (struct timeval){ wall_ns() / NS_PER_S, wall_ns() % NS_PER_S / 1000 };
	return 0;
}

time_t time(time_t *out)
{
	time_t t = wall_ns() / NS_PER_S;

	if (out)
		*out = t;
	return t;
}

__attribute__((constructor)) static void prepare(void)
{
	const char *text = getenv("FAULT_CLOCK");
	long ms, seconds;

	if (!text || sscanf(text, "%ld:%ld", &ms, &seconds) != 2)
		return;
	jump_at = now_ns(CLOCK_MONOTONIC) + ms * 1000000;
	jump_ns = seconds * NS_PER_S;
}
