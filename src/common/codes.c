/*
 * codes.c: the registry as tables, and the lookups of codes.h. Both processes
 * use it. Every row comes from codes.def: no code is named here. What a command
 * declares on top of the registry is handled in engine/hint.c.
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
