/*
 * run.c: counts over a run. Decides nothing.
 */
#include "run.h"

int64_t run_repeats(const struct run *run)
{
	return run->attempts - 1 + run->inner_repeats;
}
