/*
 * bounds.c: the parts of a confinement in their order (bounds.h).
 */
#include "bounds.h"

#include "capabilities.h"
#include "confine.h"

int bounds_enter_files(const struct bounds *b)
{
	return confine_enter(b->ruleset);
}

int bounds_enter_calls(const struct bounds *b)
{
	if (capabilities_keep(b->capabilities) < 0)
		return -1;
	return b->filters ? system_calls_confine(b->sockets) : 0;
}
