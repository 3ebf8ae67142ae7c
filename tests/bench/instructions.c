/*
 * instructions.c: a library that tests/bench/instructions preloads, to pin what would differ
 * between measurements. A forked process counts from zero; callgrind would have it go on from
 * its parent's count. Lua seeds its string hashes with time(2) and addresses: the time is the
 * number of forks so far, so that the workers of a run have different seeds and the same ones
 * in the next measurement.
 */
#include <pthread.h>
#include <time.h>
#include <valgrind/callgrind.h>

static time_t forks;

static void begin_at_zero(void)
{
	CALLGRIND_ZERO_STATS;
}

static void count_fork(void)
{
	forks++;
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(count_fork, NULL, begin_at_zero);
}

time_t time(time_t *out)
{
	if (out)
		*out = forks;
	return forks;
}
