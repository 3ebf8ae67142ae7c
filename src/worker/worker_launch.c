/*
 * worker_launch.c: the launch record of this process and its spared sessions.
 * Runs in the worker. Nothing here locks or allocates, because signal handlers
 * call it, too.
 */
#include "worker_launch.h"

static const struct launch no_launch = { .frame_fd = -1, .stdin_fd = -1, .stdout_fd = -1, .above_fd = -1, .attempt = 1 };
static const struct launch *launch = &no_launch;
static struct spared spared;

const struct launch *worker_launch(void)
{
	return launch;
}

void worker_launch_set(const struct launch *given)
{
	launch = given;
	spared.mark = (uint64_t)given->started;
}

struct spared *worker_spared(void)
{
	return &spared;
}
