/*
 * history.h: meta.retry_history: how each failed attempt ended, for the newest
 * HISTORY_MAX of them.
 */
#ifndef RUNNER_HISTORY_H
#define RUNNER_HISTORY_H

#include "../common/json.h"
#include "report.h"

#define HISTORY_MAX 20

struct history {
	struct buf row[HISTORY_MAX]; /* ring of JSON objects */
	int count;                   /* rows added, including those overwritten */
};

/* Add a row for attempt number `attempt`; delay_ms < 0: no other attempt follows. */
void history_add(struct history *h, int64_t attempt, const struct report *r, int64_t delay_ms);
/* The rows, oldest first, as a JSON array. */
void history_write(const struct history *h, struct json_writer *w);
/* Did memory run out for one of the rows? */
bool history_failed(const struct history *h);

#endif
