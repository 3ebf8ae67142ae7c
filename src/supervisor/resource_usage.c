/*
 * resource_usage.c: checks declared limits. Runs in the supervisor. It trusts only
 * the kernel's counters, never a path or a number from the worker.
 */
#include "resource_usage.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/xio.h"
#include "warn.h"

#define CHECK_MIN_MS 5
#define REMOVE_TRIES 20 /* × 1 ms: the last process may still be exiting */

static int64_t limit_of(const struct run *run, enum resource which)
{
	return run->plan.limits.of[which];
}

/* CPU time in ms of all reaped children, and of the children that these reaped. */
static int64_t reaped_ms(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used) < 0)
		return 0;
	return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* n processors use up the remaining time n times as fast. */
static void schedule_check(struct resource_usage *u, int64_t left_ms)
{
	long processors = MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 1);

	u->check_at = mono_add_ms(mono_now(), MAX_OF(left_ms / processors, CHECK_MIN_MS));
}

void resource_usage_enter(struct resource_usage *u, const struct run *run)
{
	char site[GROUP_PATH];

	if (u->entered || !limits_declared(&run->plan.limits))
		return;
	u->entered = true;
	u->before_ms = reaped_ms();
	if (group_site_here(site) < 0 || group_find(&u->group, site, run->request_id) < 0)
		return;
	u->hold = group_hold(&u->group);
	if (limit_of(run, RESOURCE_CPU) > 0)
		schedule_check(u, limit_of(run, RESOURCE_CPU));
}

bool resource_usage_is_spent(struct resource_usage *u, const struct run *run)
{
	int64_t limit = limit_of(run, RESOURCE_CPU), used_us;

	if (u->check_at == MONO_NEVER || mono_now() < u->check_at)
		return false;
	used_us = group_cpu_us(&u->group);
	u->check_at = MONO_NEVER;
	if (used_us >= 0 && used_us < limit * 1000)
		schedule_check(u, limit - used_us / 1000);
	return used_us >= limit * 1000;
}

void resource_usage_kill(const struct resource_usage *u, const struct run *run)
{
	if (run->spared.count == 0)
		(void)group_kill(&u->group);
}

/* --- as errors ------------------------------------------------------------------- */

static int64_t used_ms(const struct resource_usage *u)
{
	int64_t us = group_cpu_us(&u->group);

	return us >= 0 ? us / 1000 : reaped_ms() - u->before_ms;
}

static const char *mechanism_of(const struct resource_usage *u)
{
	return mechanism_name(u->group.path[0] ? MECHANISM_CGROUP : MECHANISM_RLIMIT);
}

/* Replace the error with the limit's; its old message becomes the detail. */
static struct json_writer reword(struct report *r, const char *code)
{
	char message[512];

	strncpy(message, buf_cstr(&r->message), sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	if (r->verdict == VERDICT_RESULT && r->detail.len == 0)
		buf_add_fmt(&r->detail, "%s: %s", r->code, message);
	r->own = (struct own_hints)OWN_HINTS_NONE;
	report_suggest_resume_hint(r);
	report_fail(r, code, "%s", message);
	buf_clear(&r->context);
	return (struct json_writer)JSON_WRITER_INIT(&r->context);
}

static void member_int(struct json_writer *w, const char *key, int64_t v)
{
	json_key(w, key);
	json_int(w, v);
}

static void member_cstr(struct json_writer *w, const char *key, const char *v)
{
	json_key(w, key);
	json_cstr(w, v);
}

static void describe_cpu(struct resource_usage *u, struct run *run, struct report *r)
{
	int64_t limit = limit_of(run, RESOURCE_CPU);
	struct json_writer w = reword(r, "CPU_LIMIT");

	report_fail(r, "CPU_LIMIT", "The command used up its %lldms of CPU time", (long long)limit);
	json_begin_object(&w);
	member_int(&w, "limit_ms", limit);
	member_int(&w, "used_ms", used_ms(u));
	member_cstr(&w, "mechanism", mechanism_of(u));
	json_end_object(&w);
}

static void describe_memory(struct resource_usage *u, struct run *run, struct report *r)
{
	int64_t limit = limit_of(run, RESOURCE_MEMORY);
	struct json_writer w = reword(r, "MEMORY_LIMIT");

	report_fail(r, "MEMORY_LIMIT",
	            "The kernel killed a process of the command at the memory limit of %lld bytes",
	            (long long)limit);
	json_begin_object(&w);
	member_int(&w, "limit_bytes", limit);
	member_cstr(&w, "by", "kernel");
	member_cstr(&w, "mechanism", mechanism_of(u));
	json_end_object(&w);
}

/* Lua's own "not enough memory", as the worker reported it. */
static void complete_memory(struct run *run, struct report *r)
{
	struct json_writer w = JSON_WRITER_INIT(&r->context);

	json_begin_object(&w);
	member_int(&w, "limit_bytes", limit_of(run, RESOURCE_MEMORY));
	member_cstr(&w, "by", "lua");
	json_end_object(&w);
}

static bool died_of_cpu(const struct resource_usage *u, const struct run *run, const struct report *r)
{
	int64_t limit = limit_of(run, RESOURCE_CPU);

	if (limit == 0 || r->verdict != VERDICT_GONE || !r->worker.signalled)
		return false;
	return r->worker.status == SIGXCPU ||
	       (r->worker.status == SIGKILL && used_ms(u) >= limit + LIMITS_CPU_HARD_MS);
}

/* Can the kernel's kill be the reason why this attempt failed? */
static bool may_explain(const struct report *r)
{
	if (r->verdict == VERDICT_GONE)
		return r->worker.signalled && r->worker.status == SIGKILL;
	return r->verdict == VERDICT_RESULT && strcmp(r->code, "SUBPROCESS_FAILED") == 0;
}

static void judge_memory(struct resource_usage *u, struct run *run, struct report *r)
{
	int64_t killed = group_number(&u->group, "memory.events", "oom_kill");

	if (killed > 0 && !r->ok && may_explain(r))
		describe_memory(u, run, r);
	else if (killed > 0)
		run_warn_counted(run, "MEMORY_LIMIT",
		                 "The kernel killed processes of the command at its memory limit",
		                 "killed", killed, NULL);
	else if (!r->ok && strcmp(r->code, "MEMORY_LIMIT") == 0 && r->context.len == 0 &&
	         limit_of(run, RESOURCE_MEMORY) > 0)
		complete_memory(run, r);
}

static void judge_processes(struct resource_usage *u, struct run *run)
{
	int64_t refused = group_number(&u->group, "pids.events", "max");

	if (refused > 0)
		run_warn_counted(run, "PROCESS_LIMIT",
		                 "The command could not start a process: it reached limits.processes",
		                 "refused", refused, NULL);
}

static void remove_group(struct resource_usage *u, const struct run *run, const struct report *r)
{
	int tries = run->spared.count > 0 || r->survivors ? 1 : REMOVE_TRIES;

	while (group_remove(&u->group) < 0 && --tries > 0)
		usleep(1000);
	xclose(&u->hold);
}

void resource_usage_end(struct resource_usage *u, struct run *run, struct report *r)
{
	resource_usage_enter(u, run); /* the worker may have died on its way to `run` */
	if (!u->entered)
		return;
	if ((r->verdict == VERDICT_LIMIT && r->limit == LIMIT_CPU) || died_of_cpu(u, run, r))
		describe_cpu(u, run, r);
	else
		judge_memory(u, run, r);
	judge_processes(u, run);
	remove_group(u, run, r);
}
