/*
 * proc_warm.c: calls of our own program that a zygote starts (engine/zygote.h), and when that would
 * not be the same as fork and exec. Runs in the worker; knows no Lua values.
 */
#include <stdlib.h>

#include "../engine/zygote.h"
#include "../worker/adopted.h"
#include "../worker/worker_launch.h"
#include "proc.h"

static pid_t zygote; /* whom the worker is not to mistake for an adopted child */

static void know(pid_t pid)
{
	if (pid == zygote)
		return;
	if (zygote > 0)
		adopted_forget(zygote);
	if (pid > 0)
		adopted_expect(pid);
	adopted_count_helpers((pid > 0) - (zygote > 0));
	zygote = pid;
}

/* A call has our session; it holds no lock of ours. A zygote doesn't know what a C module has
 * changed (mask, limits, dispositions, threads …), nor what RUNNER_LUA reads each time. Outside of a
 * run we are some other program. */
static bool can_be_warm(const struct proc_spec *spec)
{
	return spec->warm && !spec->detach && !spec->foreground && spec->held_fd < 0 && spec->handed_fd < 0 && spec->terminal_fd < 0 && !adopted_with_module() &&
	       worker_launch()->supervisor > 0 && !getenv("RUNNER_LUA");
}

pid_t proc_start_warm(const struct proc_spec *spec, const struct child_spec *child, int *report)
{
	pid_t pid;

	if (!can_be_warm(spec))
		return 0;
	know(zygote_start());
	pid = zygote_spawn(child, spec->grace_ms, report);
	know(zygote_pid());
	return pid;
}
