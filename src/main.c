/*
 * main.c: ties the two processes together. The supervisor is handed the
 * worker's entry point, so that none of its objects knows Lua; the worker is
 * handed the bindings, so that none of its objects knows one of them by name.
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

#ifndef __SANITIZE_ADDRESS__ /* its report of leaks is an exit handler */
	/* No exit handler is ours and no stream was written to; running those of the
	 * libraries is a dozen page faults after the answer. */
	_exit(status);
#endif
	return status;
}
