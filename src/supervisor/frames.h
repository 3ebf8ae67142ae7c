/*
 * frames.h: what each frame does to the run and the report: the receiving side
 * of the frame table in docs/architecture.md.
 */
#ifndef RUNNER_FRAMES_H
#define RUNNER_FRAMES_H

#include "run.h"

struct frames {
	struct frame_decoder decoder;
	bool planned;      /* this worker has sent its PLAN */
	bool broken;       /* nothing that follows can be read */
	int holds;         /* waits of ours that are no silence */
	mono_t last_sign;  /* newest frame or tap byte */
	int64_t load_ms;   /* limit of everything before PLAN */
};

enum frames_status { FRAMES_MORE, FRAMES_RESULT, FRAMES_BROKEN };

void frames_init(struct frames *f, mono_t now);
void frames_release(struct frames *f);
/* Act on every complete frame in the decoder. With `open`, a RESULT may latch
 * (one does: FRAMES_RESULT); later ones and late steps are passed over. */
enum frames_status frames_take(struct frames *f, struct run *run, struct report *r, bool open);
/* Does silence count now: run has begun and no wait of ours is on. */
bool frames_may_idle(const struct frames *f, const struct report *r);

#endif
