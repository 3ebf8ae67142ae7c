/*
 * channels.h: the descriptors between a worker and its supervisor: the frame
 * socket and the taps on its stdout and stderr. Who closes what is settled here.
 */
#ifndef RUNNER_CHANNELS_H
#define RUNNER_CHANNELS_H

#include <poll.h>

#include "run.h"

struct channels {
	int frames[2]; /* ours, the worker's */
	int out[2];    /* tap of its fd 1: read end (ours), write end */
	int err[2];    /* tap of its fd 2, or, where it keeps the terminal, of what must not run into our lines */
	struct pollfd ready[3];
	pid_t worker; /* frames come from this process alone */
};

/* 0, or -1 with errno (everything closed again). */
int channels_open(struct channels *ch);
void channels_close(struct channels *ch);
/* Fork the worker; the child never returns from here. -1 with errno. */
pid_t channels_fork(struct channels *ch, struct run *run, mono_t now);

/* With hold_frames, leave the frames where they are: the worker waits. Sleep until a frame, a tap byte, room on stderr (which is flushed), a signal,
 * or `deadline`. Taps are not read while stderr's backlog is full. */
void channels_wait(struct channels *ch, struct outlet *err, bool hold_frames, mono_t deadline);
bool channels_has_frames(const struct channels *ch);
/* Read at most 64 KiB of frames, once, of one process. True if there was anything. What another process
 * than the worker wrote is dropped, and *intruder is that process; -1: one of another PID namespace. */
bool channels_read_frames(struct channels *ch, struct frame_decoder *d, pid_t *intruder);
/* Read once from each ready tap and pass it to stderr, with what is due of secrets.h. True if there was anything. */
bool channels_read_taps(struct channels *ch, struct run *run);
/* After the tree is gone: read what is left in the pipes. Bounded. */
void channels_read_rest(struct channels *ch, struct run *run);

#endif
