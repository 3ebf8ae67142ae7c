/*
 * frames.h: what each frame does to the run and the report: the receiving side
 * of the frame table in docs/architecture.md.
 */
#ifndef RUNNER_FRAMES_H
#define RUNNER_FRAMES_H

#include "run.h"

struct frames {
	struct frame_decoder decoder;
	pid_t intruder;    /* another process that wrote into the channel (channels.h): the attempt has failed, if it has no verdict */
	bool planned;      /* this worker has sent its PLAN */
	bool answered;     /* its RESULT was taken */
	bool broken;       /* nothing that follows is taken */
	int holds;         /* runner's own waits, which do not count as idle */
	mono_t last_sign;  /* time of the newest frame or tap byte */
	int64_t load_ms;   /* limit of everything before PLAN */
	int64_t stall_ms;  /* limit of reports that say the same; 0: none */
	mono_t changed;    /* time of the newest that said something else */
	mono_t changed_paused; /* run.paused then */
};

enum frames_status { FRAMES_MORE, FRAMES_RESULT, FRAMES_BROKEN };

void frames_init(struct frames *f, mono_t now);
void frames_release(struct frames *f);
/* Act on every complete frame in the decoder. With `open`, a RESULT may latch
 * (FRAMES_RESULT says that one did); later results and steps are ignored. */
enum frames_status frames_take(struct frames *f, struct run *run, struct report *r, bool open);
/* Does the idle timeout apply now: `run` has begun and runner itself isn't waiting? */
bool frames_may_idle(const struct frames *f, const struct report *r);

#endif
