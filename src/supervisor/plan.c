/*
 * plan.c: EXIT and PLAN frames into struct plan. Runs in the supervisor; clamps
 * every number, since it does not trust the worker.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "../common/json.h"
#include "../common/mono.h"

#define RETRIES_MAX INT32_MAX

/* The value with that name, or `otherwise` if there is none. */
static int parse_or(enum names set, const char *name, int otherwise)
{
	int v = name_parse(set, name);

	return v < 0 ? otherwise : v;
}

void plan_init(struct plan *p, const struct launch *caller)
{
	memset(p, 0, offsetof(struct plan, codes)); /* not the rows, five pages: their count is 0 */
	p->policy = (struct policy)POLICY_DEFAULT;
	p->timeout_ms = DEFAULT_timeout_ms;
	p->grace_ms = DEFAULT_grace_ms;
	p->format = (enum format)parse_or(NAMES_FORMAT, getenv("RUNNER_FORMAT"), (int)caller->format);
	p->table = caller->exit_table < 0 ? EXIT_TABLE_STANDARD : (enum exit_table)caller->exit_table;
	strcpy(p->schema_version, "1.0");
}

static int64_t limit_field(const struct frame *f, enum field_id id, int64_t otherwise)
{
	int64_t v = frame_int(f, id, otherwise);

	return v < 0 ? 0 : MIN_OF(v, DURATION_MAX_MS);
}

static int name_field(const struct frame *f, enum field_id id, enum names set, int otherwise)
{
	char name[DECLARED_NAME_MAX + 1];

	return frame_has(f, id) ? parse_or(set, frame_copy(f, id, name, sizeof(name)), otherwise) : otherwise;
}

/* -1: not set. */
static int64_t hint_ms(const struct frame *f)
{
	return MIN_OF(MAX_OF(frame_int(f, F_retry_after_ms, -1), -1), DURATION_MAX_MS);
}

void plan_take_exit(struct plan *p, const struct frame *f)
{
	struct declared_code *row = &p->codes[p->code_count];
	int64_t number = frame_int(f, F_exit_code, -1);

	if (p->known || p->code_count == PLAN_MAX_CODES)
		return;
	frame_copy(f, F_name, row->name, sizeof(row->name));
	row->exit_code = number >= 79 && number <= 125 ? (int)number : -1;
	row->retry_after_ms = hint_ms(f);
	row->retryable = (enum retryable)name_field(f, F_retryable, NAMES_RETRYABLE, 0);
	row->side_effects = (enum side_effects)name_field(f, F_side_effects, NAMES_SIDE_EFFECTS, 0);
	row->strategy = (enum retry_strategy)name_field(f, F_retry_strategy, NAMES_RETRY_STRATEGY, 0);
	if (code_well_formed(row->name, strlen(row->name)))
		p->code_count++;
}

static void take_delays(struct policy *p, const struct frame *f)
{
	const char *text;
	size_t at = 0;

	while ((text = frame_list_next(f, F_delays, &at)) && p->delay_count < POLICY_MAX_DELAYS) {
		long long ms = atoll(text);

		p->delays[p->delay_count++] = ms < 0 ? 0 : MIN_OF(ms, DURATION_MAX_MS);
	}
}

static void take_policy(struct policy *p, const struct frame *f)
{
	p->retries = MIN_OF(MAX_OF(frame_int(f, F_retries, 0), POLICY_UNBOUNDED), RETRIES_MAX);
	p->backoff = (enum backoff)name_field(f, F_strategy, NAMES_BACKOFF, (int)p->backoff);
	p->delay_ms = limit_field(f, F_delay_ms, p->delay_ms);
	p->max_delay_ms = limit_field(f, F_max_delay_ms, p->max_delay_ms);
	p->jitter = (enum jitter)name_field(f, F_jitter, NAMES_JITTER, (int)p->jitter);
	p->jitter_ppm = (int32_t)MIN_OF(limit_field(f, F_jitter_ppm, p->jitter_ppm), 1000000);
	p->seed = (uint64_t)frame_int(f, F_seed, 0);
	take_delays(p, f);
}

static void take_limits(struct limits *l, const struct frame *f)
{
	static const enum field_id fields[] = {
		[RESOURCE_MEMORY] = F_memory_bytes,
		[RESOURCE_CPU] = F_cpu_ms,
		[RESOURCE_PROCESSES] = F_processes,
		[RESOURCE_OPEN_FILES] = F_open_files,
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		l->of[i] = MIN_OF(MAX_OF(frame_int(f, fields[i], 0), 0), LIMITS_MAX);
}

static void take_on(struct plan *p, const struct frame *f)
{
	const char *name;
	size_t at = 0;

	while ((name = frame_list_next(f, F_on, &at)) && p->on_count < PLAN_MAX_ON)
		if (strlen(name) <= DECLARED_NAME_MAX)
			strcpy(p->on[p->on_count++], name);
}

/* Cleaned, since lines for people contain it too. */
static void take_command(struct plan *p, const struct frame *f)
{
	struct field name = frame_str(f, F_command);
	struct buf clean = BUF_INIT;
	size_t n;

	text_clean(&clean, name.s, MIN_OF(name.n, sizeof(p->command)));
	n = text_cut(buf_cstr(&clean), clean.len, sizeof(p->command) - 1);
	memcpy(p->command, buf_cstr(&clean), n);
	p->command[n] = '\0';
	buf_release(&clean);
}

/* "major.minor"; anything else leaves the default. */
static void take_schema_version(struct plan *p, const struct frame *f)
{
	static const char digits[] = "0123456789";
	char text[sizeof(p->schema_version)];
	size_t major = strspn(frame_copy(f, F_schema_version, text, sizeof(text)), digits);
	size_t minor = text[major] == '.' ? strspn(text + major + 1, digits) : 0;

	if (major > 0 && minor > 0 && text[major + 1 + minor] == '\0')
		strcpy(p->schema_version, text);
}

static enum plan_output output_field(const struct frame *f)
{
	char name[16];

	frame_copy(f, F_output, name, sizeof(name));
	return strcmp(name, "protocol") == 0      ? OUTPUT_PROTOCOL :
	       strcmp(name, "passthrough") == 0 ? OUTPUT_PASSTHROUGH :
	                                          OUTPUT_ANSWER;
}

void plan_take_run(struct plan *p, const struct frame *f)
{
	if (p->output == OUTPUT_PROTOCOL)
		p->timeout_ms = limit_field(f, F_timeout_ms, p->timeout_ms);
}

#define MAX_BYTES_LEAST 4096
#define MAX_BYTES_MOST (1 << 24)

static int64_t take_most(const struct frame *f)
{
	int64_t n = frame_int(f, F_max_bytes, 0);

	n = n < -MAX_BYTES_MOST ? MAX_BYTES_MOST : n < 0 ? -n : n;
	return n == 0 ? 0 : MIN_OF(MAX_OF(n, MAX_BYTES_LEAST), MAX_BYTES_MOST);
}

void plan_take(struct plan *p, const struct frame *f)
{
	if (p->known)
		return;
	p->known = true;
	take_command(p, f);
	frame_copy(f, F_digest, p->digest, sizeof(p->digest));
	take_schema_version(p, f);
	p->own_codes = frame_has(f, F_code);
	p->safe = name_field(f, F_danger_level, NAMES_DANGER_LEVEL, -1) == DANGER_LEVEL_SAFE;
	p->format = (enum format)name_field(f, F_format, NAMES_FORMAT, (int)p->format);
	p->output = output_field(f);
	p->table = (enum exit_table)name_field(f, F_exit_table, NAMES_EXIT_TABLE, (int)p->table);
	p->timeout_ms = limit_field(f, F_timeout_ms, p->timeout_ms);
	p->attempt_timeout_ms = limit_field(f, F_attempt_timeout_ms, 0);
	p->idle_timeout_ms = limit_field(f, F_idle_timeout_ms, 0);
	p->grace_ms = limit_field(f, F_grace_ms, p->grace_ms);
	frame_copy(f, F_text, p->limit_sources, sizeof(p->limit_sources));
	take_limits(&p->limits, f);
	take_policy(&p->policy, f);
	take_on(p, f);
	p->whole_data = frame_int(f, F_max_bytes, 0) < 0;
	p->max_bytes = take_most(f);
	p->one_budget = frame_int(f, F_retries_given, 0);
	p->retry_maybe = frame_int(f, F_maybe, 0);
	p->reads_stdin = frame_int(f, F_stdin, 0);
	p->interactive = frame_int(f, F_interactive, 0);
	p->quiet = frame_int(f, F_quiet, 0);
	p->verbose = frame_int(f, F_verbose, 0);
	p->unmask = frame_int(f, F_unmask, 0);
	p->warnings_as_errors = frame_int(f, F_warnings_as_errors, 0);
	p->no_color = frame_int(f, F_no_color, 0);
}

bool plan_retries_code(const struct plan *p, const char *code, const struct hints *h)
{
	if (h->retryable != RETRYABLE_TRUE && !(h->retryable == RETRYABLE_MAYBE && p->retry_maybe))
		return false;
	if (p->on_count == 0) /* what is INCOMPLETE has stopped on purpose */
		return h->side_effects == SIDE_EFFECTS_NONE && h->entry != EXIT_ENTRY_INCOMPLETE;
	for (size_t i = 0; i < p->on_count; i++)
		if (hint_name_matches(p->on[i], code))
			return true;
	return false;
}
