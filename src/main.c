/*
 * main.c: ties the two processes together. It hands the supervisor the worker's
 * entry point, so no supervisor object knows Lua, and the worker its bindings,
 * so no worker object knows a binding by name.
 */
#include <unistd.h>

#include "bindings/bindings.h"
#include "supervisor/supervisor.h"
#include "worker/worker.h"

static int run_attempt(const struct launch *launch)
{
	return worker_main(launch, bindings);
}

int main(int argc, char **argv)
{
	int status = supervisor_main(argc, argv, run_attempt);

#ifndef __SANITIZE_ADDRESS__ /* its leak report is an exit handler */
	/* We register no exit handler and write to no stream; running the libraries'
	 * handlers would cost a dozen page faults after the answer. */
	_exit(status);
#endif
	return status;
}
