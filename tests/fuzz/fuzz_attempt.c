/*
 * fuzz_attempt.c: the states and events of an attempt in a world that is made up:
 * no process, no clock, no descriptor. The input says what happens when; a model that
 * knows no states (the first of {result, broken, gone, limit, signal},
 * docs/design.md#first-verdict) says what must come of it, and who may be signalled when.
 *
 * The input is pairs of bytes, {what, how}: see attempt_ops.h. What stands between two
 * waits happens at once.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/common/json.h"
#include "../../src/supervisor/attempt.h"
#include "../../src/supervisor/channels.h"
#include "../../src/supervisor/deadline.h"
#include "../../src/supervisor/pause.h"
#include "../../src/supervisor/resource_usage.h"
#include "../../src/supervisor/signals.h"

#include "attempt_ops.h"

/* --- what the attempt asks for ---------------------------------------------------------------- */

static void send_signal(struct process *p, int sig)
{
	if (!p->there || p->reaped || sig == SIGCONT)
		return;
	HOLDS(model.verdict != VERDICT_NONE); /* nobody is ended without a reason */
	if (sig == SIGKILL) {
		HOLDS(world.insisted <= world.now || world.now >= model.latched + plan.grace * MS);
		model.first_kill = MIN_OF(model.first_kill, world.now);
	} else if (model.verdict == VERDICT_RESULT) {
		HOLDS(world.p[0].reaped || world.cancelled); /* cleanup runs */
	} else {
		HOLDS(p == &world.p[0] || world.p[0].reaped || world.now >= model.latched + (plan.grace - child_reserve_ms(plan.grace)) * MS);
	}
	if (p->dead || p->nature == UNDYING || (p->nature == DEAF && sig != SIGKILL))
		return;
	p->status = sig;
	p->dies = MIN_OF(p->dies, world.now + (p->nature == SLOW && sig != SIGKILL ? 70 : 1) * MS);
}

static int world_kill(pid_t pid, int sig)
{
	if (sig == SIGKILL)
		model.first_kill = MIN_OF(model.first_kill, world.now);
	if (pid > 0)
		send_signal(&world.p[pid - WORKER], sig);
	for (int i = 1; pid < 0 && i < PROCESSES; i++)
		if (!world.p[i].daemon)
			send_signal(&world.p[i], sig);
	return 0;
}

static int world_signal_tree(pid_t root, int sig, const struct spared *spare)
{
	int count = 0;

	(void)root, (void)spare;
	for (int i = 0; i < PROCESSES && !world.no_proc; i++) {
		count += world.p[i].there && !world.p[i].reaped;
		send_signal(&world.p[i], sig);
	}
	return world.no_proc ? -1 : count;
}

static int world_kill_all(const struct spared *spare)
{
	return world_signal_tree(1, SIGKILL, spare);
}

static mono_t world_kill_again(mono_t began, int alive)
{
	return mono_add_ms(MAX_OF(began, world.now), alive ? 2 : 20);
}

static bool world_reap(const struct spared *spare, child_exit_fn *on_exit, void *data)
{
	bool empty = true;

	(void)spare;
	for (int i = 0; i < PROCESSES; i++) {
		struct process *p = &world.p[i];

		if (p->there && p->dead && !p->reaped) {
			p->reaped = true;
			on_exit(WORKER + i, p->status, data);
		}
		empty &= !p->there || p->reaped;
	}
	return empty;
}

static mono_t next_death(void)
{
	mono_t first = MONO_NEVER;

	for (int i = 0; i < PROCESSES; i++)
		first = MIN_OF(first, world.p[i].dies);
	return first;
}

/* The input is at its end, and nobody has a plan: all leave of their own accord. */
static void end_of_the_world(void)
{
	for (int i = 0; i < PROCESSES; i++)
		die(&world.p[i], 0);
}

static void world_wait(struct channels *ch, struct outlet *err, bool hold_frames, mono_t deadline)
{
	mono_t until = MIN_OF(MIN_OF(deadline, world.next), next_death());
	bool limit;

	(void)ch, (void)err, (void)hold_frames;
	HOLDS(++world.turns < TURNS);
	HOLDS(model.verdict != VERDICT_NONE || until <= due()); /* no limit is slept through */
	if (until == MONO_NEVER)
		end_of_the_world();
	else
		world.now = MAX_OF(world.now, until);
	limit = model.verdict == VERDICT_NONE && due() <= world.now;
	for (int i = 0; i < PROCESSES; i++)
		if (world.p[i].dies <= world.now)
			die(&world.p[i], world.p[i].status);
	world.hush = false;
	if (world.next <= world.now)
		play();
	/* they come between the poll and what it has woken us for */
	world.unseen = world.hush && (limit || (world.p[0].dead && !world.p[0].reaped));
	model_turn(world.wire.len > 0 || world.tap);
}

static bool world_has_frames(const struct channels *ch UNUSED)
{
	return world.wire.len > 0 && !world.unseen;
}

static bool world_read_frames(struct channels *ch UNUSED, struct frame_decoder *d, pid_t *intruder UNUSED)
{
	bool some = world.wire.len > 0;

	if (some)
		(void)frame_feed(d, world.wire.data, world.wire.len);
	buf_clear(&world.wire);
	return some;
}

static bool world_read_taps(struct channels *ch UNUSED, struct run *run UNUSED)
{
	bool some = world.tap;

	world.tap = false;
	return some;
}

static bool world_takes(int sig)
{
	bool some = sig == SIGCHLD && world.child_died;

	world.child_died &= !some;
	return some;
}

static enum frames_status world_frames_take(struct frames *f, struct run *run, struct report *r, bool open)
{
	enum frames_status status = frames_take(f, run, r, open);

	f->last_sign = world.now;
	return status;
}

static void world_describe(const struct spared *spare UNUSED, struct buf *out)
{
	buf_add_str(out, "{}");
}

/* --- the attempt under test --------------------------------------------------------------------- */

void attempt_under_test(struct run *run, struct report *r);

#define attempt_run attempt_under_test
#define mono_now() world.now
#define kill world_kill
#define child_term(pid, cause) world_kill(pid, SIGTERM)
#define child_signal_tree world_signal_tree
#define child_kill_all world_kill_all
#define child_kill_again world_kill_again
#define child_reap world_reap
#define frames_take world_frames_take
#define channels_open(ch) 0
#define channels_fork(ch, run, now) WORKER
#define channels_close(ch)
#define channels_wait world_wait
#define channels_has_frames world_has_frames
#define channels_read_frames world_read_frames
#define channels_read_taps world_read_taps
#define channels_read_rest(ch, run)
#define signals_take world_takes
#define signals_cancelled() world.cancelled
#define signals_cause() world.cancelled
#define signals_insisted() (world.insisted <= world.now)
#define signals_orphaned() false
#define pause_run(run, sign)
#define pause_describe_children world_describe
#define resource_usage_enter(q, run)
#define resource_usage_kill(q, run)
#define resource_usage_is_spent(q, run) false
#define resource_usage_end(q, run, r)
#include "../../src/supervisor/attempt.c"

/* --- a run ---------------------------------------------------------------------------------------- */

static void start_attempt(void)
{
	memset(&model, 0, sizeof(model));
	model.began = model.sign = world.now;
	model.first_kill = MONO_NEVER;
	memset(model.step, -1, sizeof(model.step));
	memset(world.p, 0, sizeof(world.p));
	for (int i = 0; i < PROCESSES; i++)
		world.p[i].dies = MONO_NEVER;
	world.p[0].there = true;
	world.child_died = world.tap = false;
	world.next = MAX_OF(world.next, world.now);
}

static bool anybody_left(void)
{
	for (int i = 0; i < PROCESSES; i++)
		if (world.p[i].there && !world.p[i].reaped)
			return true;
	return false;
}

static void check_steps(const struct steps *s)
{
	for (int k = 0; k < NAMES; k++) {
		int state = -1;

		for (int i = 0; i < s->count; i++)
			if (strcmp(s->row[i].name, steps[k]) == 0)
				state = (int)s->row[i].state;
		HOLDS(state == model.step[k]);
	}
}

static void check_verdict(const struct report *r)
{
	HOLDS(r->verdict == model.verdict);
	HOLDS(r->entered_run == model.entered);
	HOLDS(r->ok == (model.verdict == VERDICT_RESULT && model.ok));
	if (r->verdict == VERDICT_RESULT && !r->ok)
		HOLDS(strcmp(r->code, model.code ? model.code : "INVALID_RESULT") == 0);
	if (r->verdict == VERDICT_SIGNAL)
		HOLDS(r->signal == world.cancelled);
	if (r->verdict == VERDICT_GONE)
		HOLDS(r->worker.signalled == WIFSIGNALED(world.p[0].status));
	check_steps(&r->steps);
}

/* The answer is in time, and the tree is gone or named (docs/design.md#proof-of-the-end). */
static void check_end(const struct run *run, const struct report *r)
{
	int64_t grace = plan.grace;
	int64_t cleanup = model.verdict == VERDICT_RESULT ? MAX_OF(grace, 100) : 0;

	HOLDS(r->survivors == anybody_left());
	HOLDS(world.now <= model.latched + (cleanup + grace + 1000 + SLACK_MS) * MS);
	HOLDS(world.insisted > world.now || world.now - world.insisted <= (1000 + SLACK_MS) * MS);
	if (r->survivors)
		HOLDS(world.now >= model.first_kill + 1000 * MS);
	if (!plan.had_others)
		HOLDS(!run->warnings.rows.data || !strstr(buf_cstr(&run->warnings.rows), "PROCESS_LEFT"));
}

/* True: there may be another one. */
static bool attempt(struct run *run)
{
	struct report r;
	enum limit limit;
	bool again;

	start_attempt();
	attempt_under_test(run, &r);
	limit = model.limit;
	check_verdict(&r);
	if (r.verdict == VERDICT_LIMIT)
		HOLDS(r.limit == limit);
	check_end(run, &r);
	HOLDS(!plan.known || run->plan.timeout_ms == plan.timeout);
	again = !r.ok && !r.survivors && !world.cancelled && world.end - world.at >= 2;
	report_release(&r);
	return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	static int err = -1;

	if (err < 0)
		err = memfd_create("err", 0);
	HOLDS(err >= 0 && ftruncate(err, 0) == 0);
	memset(&world, 0, sizeof(world));
	world.at = data, world.end = data + size;
	world.now = world.next = START;
	world.insisted = MONO_NEVER;
	memset(&plan, 0, sizeof(plan));
	plan.grace = 2000;
	memset(&run, 0, sizeof(run));
	plan_init(&run.plan, &run.launch);
	run.launch.started = START;
	outlet_init(&run.err, err);
	for (int i = 0; i < ATTEMPTS && attempt(&run); i++)
		;
	buf_release(&world.wire);
	buf_release(&run.warnings.rows);
	outlet_release(&run.err);
	return 0;
}
