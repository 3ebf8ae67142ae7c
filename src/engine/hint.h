/*
 * hint.h: what an error code means for this command: its exit number,
 * retryable, waits and side effects. Merges, field by field, what the failure
 * itself set, the command's declaration and the registry, most specific first
 * (docs/design.md#hint-precedence). Pure.
 */
#ifndef RUNNER_HINT_H
#define RUNNER_HINT_H

#include "../common/codes.h"

#define DECLARED_NAME_MAX 64

/* One row of a command's exit_codes. */
struct declared_code {
	char name[DECLARED_NAME_MAX + 1];
	int exit_code; /* 79–125 for the command's own codes; -1: the registry's number */
	enum retryable retryable;
	enum side_effects side_effects;
	int64_t retry_after_ms; /* -1: not said */
	enum retry_strategy strategy;
};

struct declared_codes {
	const struct declared_code *rows;
	size_t count;
};

/* What the failing call itself set (ctx:fail, Retry-After). */
struct own_hints {
	enum retryable retryable;
	enum side_effects side_effects;
	int64_t retry_after_ms; /* -1: not said */
	enum retry_strategy strategy;
};

#define OWN_HINTS_NONE { RETRYABLE_INHERIT, SIDE_EFFECTS_INHERIT, -1, RETRY_STRATEGY_NONE }

/* Every field decided. strategy counts only with retryable TRUE, retry_after_ms then or with
 * rate_limited: an answer that asks the caller to retry always says when, and never
 * "immediately" after a rate limit (REQ-C-014, docs/design.md#retryable). */
struct hints {
	bool known;              /* the code is in the registry or declared */
	int entry;               /* enum exit_entry, or -1: the command's own number */
	int exit_code;           /* exit status in the given table */
	enum retryable retryable;
	enum side_effects side_effects;
	int64_t retry_after_ms;
	enum retry_strategy strategy;
	bool rate_limited;       /* the code is RATE_LIMITED, or a kind of it */
	const char *hint;        /* the registry's fix text, or NULL */
};

/*
 * Resolve `code`. Sources, in this order: `own`, the declaration of the code, the
 * declaration of its exit entry, the code's registry row, the entry's row, then
 * 1000 ms exponential_backoff. An unknown code resolves as GENERAL_ERROR with
 * known = false.
 */
struct hints hints_resolve(const char *code, const struct own_hints *own,
                           const struct declared_codes *declared, enum exit_table table);

/* What must change before the call is made again, as the registry has it; NULL where the
 * call may be made again as it is. */
const char *hints_fix(const struct hints *h);

/* Does `name` (an item of retry.on) name this code or its exit entry? */
bool hint_name_matches(const char *name, const char *code);

#endif
