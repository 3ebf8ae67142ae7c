/*
 * verdict.c: the side effects and exit code of a run. Runs in the supervisor. Pure.
 */
#include "verdict.h"

#include <signal.h>

void verdict_note_effects(struct verdict *v, const struct hints *h)
{
	if (h->side_effects == SIDE_EFFECTS_PARTIAL || v->worst_effects == SIDE_EFFECTS_INHERIT)
		v->worst_effects = h->side_effects;
	else if (h->side_effects > v->worst_effects)
		v->worst_effects = h->side_effects;
}

int verdict_exit_code(const struct verdict *v)
{
	const struct report *r = &v->report;

	if (r->ok)
		return 0;
	if (r->verdict == VERDICT_SIGNAL)
		return r->signal == SIGINT ? 130 : 143;
	if (r->exit_code)
		return r->exit_code;
	/* 2 promises that nothing was touched (docs/design.md#exit-2) */
	if (v->hints.entry == EXIT_ENTRY_ARG_ERROR && r->entered_run)
		return 1;
	return v->hints.exit_code;
}
