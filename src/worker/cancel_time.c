/*
 * cancel_time.c: until when the attempt goes on, and its children do (cancel.h). Runs in the worker; waits for nothing.
 */
#include "../common/defaults.h"
#include "../engine/child.h"
#include "cancel.h"
#include "worker_launch.h"

static mono_t deadline = MONO_NEVER;
static volatile mono_t end_began = MONO_NEVER;
static int64_t grace_ms = DEFAULT_grace_ms;

void cancel_set_grace(int64_t ms)
{
	grace_ms = ms;
}

void cancel_begin_end(bool by_term)
{
	if (by_term || end_began == MONO_NEVER)
		end_began = mono_now();
}

mono_t cancel_child_end(mono_t started)
{
	return started > end_began || end_began == MONO_NEVER ? MONO_NEVER
	                                                      : mono_add_ms(end_began, grace_ms - child_reserve_ms(grace_ms));
}

/* Correct even if the shell's CONT reaches us before the supervisor. */
mono_t cancel_paused(void)
{
	const struct launch *launch = worker_launch();
	mono_t since;

	if (!launch || !launch->pauses)
		return 0;
	since = launch->pauses->since;
	return launch->pauses->total + (since ? mono_now() - since : 0);
}

mono_t cancel_shift(mono_t at, mono_t paused_then)
{
	return at == MONO_NEVER ? at : at + cancel_paused() - paused_then;
}

mono_t cancel_deadline(void)
{
	return deadline == MONO_NEVER ? deadline : deadline + cancel_paused();
}

void cancel_set_deadline(mono_t at)
{
	deadline = at == MONO_NEVER ? at : at - cancel_paused();
}
