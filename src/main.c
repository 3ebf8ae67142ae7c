/*
 * main.c: ties the two processes together. It hands the supervisor the worker's
 * entry point, so no supervisor object knows Lua, and the worker its bindings,
 * so no worker object knows a binding by name. As a zygote (engine/fork_server.h) it does
 * so again and again.
 */
#include <unistd.h>

#include "bindings/bindings.h"
#include "engine/fork_server.h"
#include "supervisor/supervisor.h"
#include "worker/worker.h"

static int run_attempt(const struct launch *launch)
{
	return worker_main(launch, bindings);
}

static int warm_for_calls(void)
{
	return worker_warm_for_calls(bindings);
}

static int warm_for_retries(void)
{
	return worker_warm_for_retries(bindings);
}

static int run_below(int argc, char **argv, pid_t parent)
{
	return supervisor_main_below(parent, argc, argv, run_attempt);
}

int main(int argc, char **argv)
{
	int status;

	if (zygote_is_called(argc, argv))
		zygote_serve(warm_for_calls, run_below);
	status = supervisor_main(argc, argv, run_attempt, warm_for_retries);

#ifndef __SANITIZE_ADDRESS__ /* its leak report is an exit handler */
	/* We register no exit handler and write to no stream; running the libraries'
	 * handlers would cost a dozen page faults after the answer. */
	_exit(status);
#endif
	return status;
}
