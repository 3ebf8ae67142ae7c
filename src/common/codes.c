/*
 * codes.c: the registry as tables, and the lookups of codes.h. Both processes
 * use it. Every row comes from codes.def; nothing here knows a single code,
 * and what a command declares on top is none of its business.
 */
#include "codes.h"

#include <string.h>

static const struct exit_row exit_rows[EXIT_ENTRY_COUNT] = {
#define EXIT(name_, standard, classic, retryable_, effects, description_) \
	[EXIT_ENTRY_##name_] = { \
		.name = #name_, \
		.number = { [EXIT_TABLE_STANDARD] = standard, [EXIT_TABLE_CLASSIC] = classic }, \
		.retryable = RETRYABLE_##retryable_, \
		.side_effects = SIDE_EFFECTS_##effects, \
		.description = description_, \
	},
#include "codes.def"
};

static const struct code_row code_rows[] = {
#define CODE(name_, entry_, retryable_, after_ms, strategy_, hint_) \
	{ \
		.name = #name_, \
		.entry = EXIT_ENTRY_##entry_, \
		.retryable = RETRYABLE_##retryable_, \
		.retry_after_ms = after_ms, \
		.strategy = RETRY_STRATEGY_##strategy_, \
		.hint = hint_, \
	},
#include "codes.def"
};

static const char *const retryable_names[] = {
	[RETRYABLE_INHERIT] = NULL,
	[RETRYABLE_FALSE] = "false",
	[RETRYABLE_TRUE] = "true",
	[RETRYABLE_MAYBE] = "maybe",
};

static const char *const side_effects_names[] = {
	[SIDE_EFFECTS_INHERIT] = NULL,
	[SIDE_EFFECTS_NONE] = "none",
	[SIDE_EFFECTS_COMPLETE] = "complete",
	[SIDE_EFFECTS_PARTIAL] = "partial",
};

static const char *const retry_strategy_names[] = {
	[RETRY_STRATEGY_NONE] = NULL,
	[RETRY_STRATEGY_IMMEDIATE] = "immediate",
	[RETRY_STRATEGY_LINEAR_BACKOFF] = "linear_backoff",
	[RETRY_STRATEGY_EXPONENTIAL_BACKOFF] = "exponential_backoff",
};

static const char *const exit_table_names[] = {
	[EXIT_TABLE_STANDARD] = "standard",
	[EXIT_TABLE_CLASSIC] = "classic",
};

static const char *name_of(const char *const *names, size_t count, size_t i)
{
	return i < count ? names[i] : NULL;
}

static int parse_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; name != NULL && i < count; i++) {
		if (names[i] != NULL && strcmp(names[i], name) == 0)
			return (int)i;
	}
	return -1;
}

const struct exit_row *exit_row(enum exit_entry entry)
{
	return &exit_rows[entry];
}

const struct code_row *code_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(code_rows); i++) {
		if (strcmp(code_rows[i].name, name) == 0)
			return &code_rows[i];
	}
	return NULL;
}

const struct code_row *code_at(size_t i)
{
	return i < ARRAY_LEN(code_rows) ? &code_rows[i] : NULL;
}

int exit_entry_find(const char *name)
{
	for (size_t i = 0; i < EXIT_ENTRY_COUNT; i++) {
		if (strcmp(exit_rows[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

const char *retryable_name(enum retryable v)
{
	return name_of(retryable_names, ARRAY_LEN(retryable_names), v);
}

const char *side_effects_name(enum side_effects v)
{
	return name_of(side_effects_names, ARRAY_LEN(side_effects_names), v);
}

const char *retry_strategy_name(enum retry_strategy v)
{
	return name_of(retry_strategy_names, ARRAY_LEN(retry_strategy_names), v);
}

int retryable_parse(const char *name)
{
	return parse_name(retryable_names, ARRAY_LEN(retryable_names), name);
}

int side_effects_parse(const char *name)
{
	return parse_name(side_effects_names, ARRAY_LEN(side_effects_names), name);
}

int retry_strategy_parse(const char *name)
{
	return parse_name(retry_strategy_names, ARRAY_LEN(retry_strategy_names), name);
}

int exit_table_parse(const char *name)
{
	return parse_name(exit_table_names, ARRAY_LEN(exit_table_names), name);
}

static bool code_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool code_well_formed(const char *name, size_t n)
{
	if (n < 2 || n > 64 || name[0] < 'A' || name[0] > 'Z')
		return false;
	for (size_t i = 1; i < n; i++) {
		if (!code_byte(name[i]))
			return false;
	}
	return true;
}
