/*
 * worker_launch.c: the launch record of this process and its spared sessions.
 * Runs in the worker. Nothing here locks or allocates, because signal handlers and
 * the guard call it, too.
 */
#include "worker_launch.h"

#include <sys/mman.h>

static const struct launch no_launch = { .frame_fd = -1, .stdin_fd = -1, .stdout_fd = -1, .attempt = 1 };
static const struct launch *launch = &no_launch;
static HOT struct spared own_spared;
static struct spared *spared = &own_spared;

const struct launch *worker_launch(void)
{
	return launch;
}

void worker_launch_set(const struct launch *given)
{
	launch = given;
	spared->mark = (uint64_t)given->started;
}

struct spared *worker_spared(void)
{
	return spared;
}

int worker_share_spared(void)
{
	struct spared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return -1;
	*shared = *spared;
	spared = shared;
	return 0;
}
