/*
 * hint.c: one error code, resolved for one command. Runs in both processes.
 * Pure. Each field comes from the first source that sets it; the sources are an
 * array, so precedence is written down once and not for each field.
 */
#include "hint.h"

#include <string.h>

#define FALLBACK_AFTER_MS 1000
#define FALLBACK_STRATEGY RETRY_STRATEGY_EXPONENTIAL_BACKOFF

/* What one source sets; the INHERIT values and -1 mean "not set". */
struct source {
	int exit_code;
	enum retryable retryable;
	enum side_effects side_effects;
	enum retry_strategy strategy;
	int64_t retry_after_ms;
};

enum { SOURCE_OWN, SOURCE_CODE, SOURCE_ENTRY, SOURCE_CODE_ROW, SOURCE_ENTRY_ROW, SOURCE_COUNT };

#define SOURCE_SILENT \
	((struct source){ -1, RETRYABLE_INHERIT, SIDE_EFFECTS_INHERIT, RETRY_STRATEGY_NONE, -1 })

static const struct declared_code *declared_find(const struct declared_codes *declared,
                                                 const char *name)
{
	for (size_t i = 0; declared != NULL && i < declared->count; i++)
		if (strcmp(declared->rows[i].name, name) == 0)
			return &declared->rows[i];
	return NULL;
}

static struct source own_source(const struct own_hints *own)
{
	if (own == NULL)
		return SOURCE_SILENT;
	return (struct source){ -1, own->retryable, own->side_effects, own->strategy,
		                own->retry_after_ms };
}

static struct source declared_source(const struct declared_code *d)
{
	if (d == NULL)
		return SOURCE_SILENT;
	return (struct source){ d->exit_code, d->retryable, d->side_effects, d->strategy,
		                d->retry_after_ms };
}

static struct source code_source(const struct code_row *row)
{
	if (row == NULL)
		return SOURCE_SILENT;
	return (struct source){ -1, row->retryable, SIDE_EFFECTS_INHERIT, row->strategy,
		                row->retry_after_ms };
}

static struct source entry_source(const struct exit_row *row)
{
	return (struct source){ -1, row->retryable, row->side_effects, RETRY_STRATEGY_NONE, -1 };
}

/* For each field, the first source that sets it wins. Waits below `least_ms` are
 * skipped: retrying a rate-limited call immediately makes things worse
 * (REQ-C-014, docs/design.md#retryable). */
static struct source merge(const struct source *s, int64_t least_ms)
{
	struct source out = SOURCE_SILENT;

	for (int i = 0; i < SOURCE_COUNT; i++) {
		if (out.exit_code < 0)
			out.exit_code = s[i].exit_code;
		if (out.retryable == RETRYABLE_INHERIT)
			out.retryable = s[i].retryable;
		if (out.side_effects == SIDE_EFFECTS_INHERIT)
			out.side_effects = s[i].side_effects;
		if (out.retry_after_ms < 0 && s[i].retry_after_ms >= least_ms)
			out.retry_after_ms = s[i].retry_after_ms;
		if (out.strategy == RETRY_STRATEGY_NONE)
			out.strategy = s[i].strategy;
	}
	if (out.retry_after_ms < 0)
		out.retry_after_ms = FALLBACK_AFTER_MS;
	if (out.strategy == RETRY_STRATEGY_NONE)
		out.strategy = FALLBACK_STRATEGY;
	return out;
}

/* A command's own code has no entry; GENERAL_ERROR's defaults (not retryable,
 * partial) are the safe choice for what its declaration leaves out. */
static enum exit_entry entry_of(const struct code_row *row)
{
	return row != NULL ? row->entry : EXIT_ENTRY_GENERAL_ERROR;
}

struct hints hints_resolve(const char *code, const struct own_hints *own,
                           const struct declared_codes *declared, enum exit_table table)
{
	const struct code_row *row = code_find(code);
	const struct declared_code *by_code = declared_find(declared, code);
	enum exit_entry entry = entry_of(row);
	const struct exit_row *defaults = exit_row(entry);
	bool private_name = row == NULL && by_code != NULL;
	struct source line[SOURCE_COUNT] = {
		[SOURCE_OWN] = own_source(own),
		[SOURCE_CODE] = declared_source(by_code),
		[SOURCE_ENTRY] = private_name ? SOURCE_SILENT
		                              : declared_source(declared_find(declared, defaults->name)),
		[SOURCE_CODE_ROW] = code_source(row),
		[SOURCE_ENTRY_ROW] = entry_source(defaults),
	};
	struct source m = merge(line, entry == EXIT_ENTRY_RATE_LIMITED ? 1 : 0);

	return (struct hints){
		.known = row != NULL || by_code != NULL,
		.entry = m.exit_code >= 0 ? -1 : (int)entry,
		.exit_code = m.exit_code >= 0 ? m.exit_code : defaults->number[table],
		.retryable = m.retryable,
		.side_effects = m.side_effects,
		.retry_after_ms = m.retry_after_ms,
		.strategy = m.strategy,
		.rate_limited = entry == EXIT_ENTRY_RATE_LIMITED,
		.hint = row != NULL ? row->hint : NULL,
	};
}

const char *hints_fix(const struct hints *h)
{
	return h->retryable == RETRYABLE_FALSE ? h->hint : NULL;
}

bool hint_name_matches(const char *name, const char *code)
{
	const struct code_row *row;

	if (strcmp(name, code) == 0)
		return true;
	row = code_find(code);
	return row != NULL && strcmp(name, exit_row(row->entry)->name) == 0;
}
