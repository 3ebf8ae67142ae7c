/*
 * attempt_ops.h: what can happen in the world of fuzz_attempt.c, one small function
 * each; what is a frame tells the model its meaning, too. Included once.
 */
#ifndef RUNNER_ATTEMPT_OPS_H
#define RUNNER_ATTEMPT_OPS_H

#include "attempt_model.h"

static void die(struct process *p, int status)
{
	if (!p->there || p->dead)
		return;
	p->dead = true;
	p->dies = MONO_NEVER;
	p->status = status;
	world.child_died = true;
}

static size_t begin(enum frame_kind kind)
{
	return frame_begin(&world.wire, kind);
}

static void add(enum field_id id, const char *text)
{
	frame_add_bytes(&world.wire, id, text, strlen(text));
}

static void end(size_t at)
{
	HOLDS(frame_end(&world.wire, at) == 0);
}

static void op_plan(uint8_t how)
{
	const int64_t v[] = { limits[how & 3], limits[how >> 2 & 3], limits[how >> 4 & 3], limits[how >> 6] / 3 };
	static const enum field_id ids[] = { F_timeout_ms, F_attempt_timeout_ms, F_idle_timeout_ms, F_grace_ms };
	size_t at = begin(FRAME_PLAN);

	for (int i = 0; i < 4; i++)
		frame_add_int(&world.wire, ids[i], v[i]);
	end(at);
	if (!open_still())
		return;
	model.planned = true;
	if (!plan.known)
		plan.timeout = v[0], plan.attempt = v[1], plan.idle = v[2], plan.grace = v[3];
	plan.known = true;
}

static void op_run(uint8_t how UNUSED)
{
	end(begin(FRAME_RUN));
	model.entered |= open_still();
}

static void op_step(uint8_t how)
{
	size_t at = begin(FRAME_STEP);

	add(F_name, steps[how % NAMES]);
	add(F_state, how & 4 ? "skipped" : "running");
	end(at);
	if (open_still())
		model_step(how % NAMES, how & 4);
}

static void op_hold(uint8_t how)
{
	size_t at = begin(FRAME_HOLD);

	frame_add_int(&world.wire, F_change, how & 1 ? 1 : -1);
	end(at);
	if (open_still())
		model.holds += how & 1 ? 1 : -1;
}

static void op_sign(uint8_t how)
{
	static const enum frame_kind kinds[] = { FRAME_PROGRESS, FRAME_LOG, FRAME_WARN, FRAME_TEMPDIR };

	end(begin(kinds[how & 3]));
}

static void op_tap(uint8_t how UNUSED)
{
	world.tap = true;
}

static void op_success(uint8_t how)
{
	size_t at = begin(FRAME_RESULT);

	frame_add_int(&world.wire, F_ok, 1);
	add(F_data, how & 1 ? "{\"half\":" : "{}");
	end(at);
	model_result(!(how & 1), how & 1 ? NULL : "");
}

static void op_failure(uint8_t how)
{
	size_t at = begin(FRAME_RESULT);

	add(F_code, codes[how & 3]);
	end(at);
	model_result(false, codes[how & 3]);
}

static void op_garbage(uint8_t how UNUSED)
{
	buf_add_str(&world.wire, "neither this nor that is a frame");
	latch(VERDICT_BROKEN);
	model.deaf = true;
}

static void op_exit(uint8_t how)
{
	die(&world.p[0], how & 1 ? how & 15 : (how & 15) << 8);
}

static void op_nature(uint8_t how)
{
	world.p[0].nature = (enum nature)(how & 3);
}

static void op_fork(uint8_t how)
{
	for (int i = 1; i < PROCESSES && !world.p[0].dead; i++)
		if (!world.p[i].there) {
			world.p[i] = (struct process){ .there = true, .dies = MONO_NEVER,
				                       .nature = (enum nature)(how & 3), .daemon = how & 4 };
			plan.had_others = true;
			return;
		}
}

static void op_child_dies(uint8_t how)
{
	die(&world.p[1 + how % (PROCESSES - 1)], 0);
}

static void op_cancel(uint8_t how)
{
	world.cancelled = world.cancelled ? world.cancelled : how & 1 ? SIGINT : SIGTERM;
}

static void op_insist(uint8_t how)
{
	op_cancel(how);
	world.insisted = MIN_OF(world.insisted, world.now);
}

static void op_hush(uint8_t how UNUSED)
{
	world.hush = true;
}

static void op_no_proc(uint8_t how UNUSED)
{
	world.no_proc = true;
}

static void (*const ops[])(uint8_t how) = {
	NULL /* wait */, op_plan, op_run, op_step, op_hold, op_sign, op_tap, op_success, op_failure,
	op_garbage, op_exit, op_nature, op_fork, op_child_dies, op_cancel, op_insist, op_no_proc, op_hush,
};

/* Up to the next wait. */
static void play(void)
{
	while (world.end - world.at >= 2) {
		uint8_t what = *world.at++ % ARRAY_LEN(ops), how = *world.at++;

		if (!ops[what]) {
			world.next += spans[how & 15] * MS;
			return;
		}
		ops[what](how);
	}
	world.next = MONO_NEVER;
}

#endif
