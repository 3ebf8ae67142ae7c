/*
 * quiet_pipe.h: no SIGPIPE for one write of ours. The worker's SIGPIPE has its default
 * action, as scripts expect of a process and as os.execute's children inherit.
 */
#ifndef RUNNER_QUIET_PIPE_H
#define RUNNER_QUIET_PIPE_H

#include <errno.h>
#include <signal.h>

struct quiet_pipe {
	struct sigaction before;
};

static inline void quiet_pipe_begin(struct quiet_pipe *q)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, &q->before);
}

/* Keeps errno. */
static inline void quiet_pipe_end(struct quiet_pipe *q)
{
	int saved = errno;

	sigaction(SIGPIPE, &q->before, NULL);
	errno = saved;
}

#endif
