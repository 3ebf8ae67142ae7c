/*
 * run.c: counts over a run. Decides nothing.
 */
#include "run.h"

int64_t run_repeats(const struct run *run)
{
	return run->attempts - 1 + run->inner_repeats;
}

int64_t run_duration_ms(const struct run *run)
{
	return metas_want(&run->metas, "duration_ms") ? mono_elapsed_ms(run->launch.started, mono_now()) : 0;
}
