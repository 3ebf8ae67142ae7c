/*
 * plan.h: what the first worker reported before `run` began: limits, policy, exit
 * codes, steps, format. It applies to the whole run, so an edit between two
 * attempts changes nothing (docs/design.md#first-plan).
 */
#ifndef RUNNER_PLAN_H
#define RUNNER_PLAN_H

#include "../common/frame.h"
#include "../engine/hint.h"
#include "../engine/launch.h"
#include "../engine/limits.h"
#include "../engine/policy.h"

#define PLAN_MAX_CODES 128 /* all of 79–125 and the registry */
#define PLAN_MAX_ON 128
#define PLAN_NAME 128

/* What stdout carries (docs/design.md#raw-stdout). */
enum plan_output {
	OUTPUT_ANSWER,
	OUTPUT_PASSTHROUGH, /* the bytes of another program, once `run` has begun */
	OUTPUT_PROTOCOL,    /* those of a protocol, and nothing else ever */
};

struct plan {
	bool known; /* a PLAN frame has come */
	char command[PLAN_NAME];
	char digest[PLAN_NAME];
	char schema_version[16];
	bool safe; /* danger_level is "safe" */
	bool own_codes; /* a `code` in its data is one of runner's own */
	enum format format;
	enum plan_output output;
	enum exit_table table;
	int64_t timeout_ms;
	int64_t attempt_timeout_ms;
	int64_t idle_timeout_ms;
	int64_t grace_ms;
	int64_t max_bytes;   /* of the answer; 0: as many as it has */
	bool whole_data;     /* no cut of the result keeps the form that its command declares */
	char limit_sources[48]; /* of timeout, attempt_timeout and idle_timeout, "flag,command,default"; "": the default */
	struct limits limits;
	struct policy policy;
	bool one_budget; /* --retries N: retries of every kind share it */
	bool retry_maybe;
	size_t code_count;
	size_t on_count;
	bool reads_stdin;
	bool interactive;
	bool quiet;
	bool verbose;
	bool warnings_as_errors;
	bool unmask; /* its data may be secret: no file gets them */
	bool no_color;

	/* the rows that code_count and on_count count; last, for plan_init() */
	struct declared_code codes[PLAN_MAX_CODES];
	char on[PLAN_MAX_ON][DECLARED_NAME_MAX + 1];
};

/* The defaults that apply until a PLAN arrives (docs/design.md#limits); format and
 * exit table come from the caller's environment and terminal. */
void plan_init(struct plan *p, const struct launch *caller);
void plan_take_exit(struct plan *p, const struct frame *f);
void plan_take(struct plan *p, const struct frame *f);
/* RUN: a command that serves a protocol may have another limit from here on. */
void plan_take_run(struct plan *p, const struct frame *f);
/* Does the policy retry this code: retryable, and in `on` or without side effects
 * (docs/design.md#what-is-retried)? */
bool plan_retries_code(const struct plan *p, const char *code, const struct hints *h);

#endif
