/*
 * attempt_model.h: the made-up world of fuzz_attempt.c, and the model of what an
 * attempt in it must come to: no states, only the first of {result, broken, gone,
 * limit, signal} (docs/design.md#first-verdict). Included once.
 */
#ifndef RUNNER_ATTEMPT_MODEL_H
#define RUNNER_ATTEMPT_MODEL_H

#include <signal.h>

#include "../../src/supervisor/frames.h"
#include "fuzz.h"

#define MS INT64_C(1000000)
#define START (1000000 * MS)
#define LOAD_MS 5000
#define WORKER 1000 /* its pid; the others follow */
#define PROCESSES 6
#define ATTEMPTS 3
#define TURNS 20000
#define SLACK_MS 12 /* one more KILL */
#define NAMES 4
#define AT(ms) (START + (ms) * MS)

/* What TERM and KILL do to a process. */
enum nature { OBEDIENT, SLOW, DEAF, UNDYING };

struct process {
	bool there, dead, reaped, daemon;
	enum nature nature;
	mono_t dies; /* what it was sent takes effect */
	int status;
};

static const int64_t spans[] = { 1, 0, 2, 10, 40, 99, 150, 299, 301, 500, 1000, 1500, 2500, 4999, 5001, 20000 };
static const int64_t limits[] = { 0, 200, 1500, 30000 };
static const char *const codes[] = { "UNAVAILABLE", "TIMEOUT", "NOT_FOUND", "LOCKED" };
static const char *const steps[NAMES] = { "s0", "s1", "s2", "s3" };

static struct {
	const uint8_t *at, *end;
	mono_t now, next;
	struct process p[PROCESSES];
	struct buf wire;
	bool tap, child_died, no_proc;
	bool hush, unseen; /* frames that poll has not seen, though they can be read */
	int cancelled;
	mono_t insisted;
	int turns;
} world;

/* --- the model: what the attempt must come to -------------------------------------------- */

static struct {
	bool known, had_others;
	int64_t timeout, attempt, idle, grace;
} plan;

static struct {
	mono_t began, sign, latched;
	bool planned, entered, deaf; /* deaf: nothing behind garbage is read */
	int holds;
	enum verdict_kind verdict;
	enum limit limit;
	bool ok, answered;
	const char *code;
	int step[NAMES]; /* -1: not heard of */
	mono_t first_kill;
} model;

static void latch(enum verdict_kind verdict)
{
	if (model.verdict == VERDICT_NONE) {
		model.verdict = verdict;
		model.latched = world.now;
	}
}

static bool open_still(void)
{
	return model.verdict == VERDICT_NONE && !model.deaf;
}

static void earlier(mono_t from, int64_t ms, enum limit limit, mono_t *first)
{
	if (ms > 0 && from + ms * MS < *first) {
		*first = from + ms * MS;
		model.limit = limit;
	}
}

/* When the next limit is due, were nothing to happen. */
static mono_t due(void)
{
	mono_t first = MONO_NEVER;

	earlier(START, plan.known ? plan.timeout : 0, LIMIT_TIMEOUT, &first);
	earlier(model.began, plan.known ? plan.attempt : 0, LIMIT_ATTEMPT, &first);
	earlier(model.sign, model.entered && model.holds <= 0 ? plan.idle : 0, LIMIT_IDLE, &first);
	earlier(model.began, model.planned ? 0 : LOAD_MS, LIMIT_LOAD, &first);
	return first;
}

static void model_step(int i, bool skipped)
{
	for (int k = 0; !skipped && k < NAMES; k++)
		if (model.step[k] == STEP_RUNNING)
			model.step[k] = STEP_COMPLETED;
	model.step[i] = skipped ? STEP_SKIPPED : STEP_RUNNING;
}

/* Of two answers neither is believed, whatever came between them. */
static void model_second_result(void)
{
	model.ok = false;
	model.code = "COMMAND_CRASHED";
}

static void model_result(bool ok, const char *code)
{
	if (model.answered && !model.deaf)
		model_second_result();
	if (!open_still())
		return;
	model.answered = true;
	latch(VERDICT_RESULT);
	model.ok = ok;
	model.code = code;
	for (int k = 0; k < NAMES; k++)
		if ((ok || code == NULL) && model.step[k] == STEP_RUNNING)
			model.step[k] = STEP_COMPLETED;
}

/* At the end of a turn, after its frames: the worker's end, then limits and signals
 * (docs/design.md#first-verdict). */
static void model_turn(bool signs)
{
	if (signs)
		model.sign = world.now;
	if (world.p[0].dead)
		latch(VERDICT_GONE);
	if (model.verdict == VERDICT_NONE && due() <= world.now)
		latch(VERDICT_LIMIT);
	if (world.cancelled)
		latch(VERDICT_SIGNAL);
}

#endif
