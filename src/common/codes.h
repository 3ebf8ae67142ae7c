/*
 * codes.h: lookups into the registry (codes.def). Tables only: what a command
 * declares on top of them is resolved in engine/hint.h.
 */
#ifndef RUNNER_CODES_H
#define RUNNER_CODES_H

#include "base.h"

/* May the identical call be made again safely? INHERIT: not said here. */
enum retryable {
	RETRYABLE_INHERIT = 0,
	RETRYABLE_FALSE,
	RETRYABLE_TRUE,
	RETRYABLE_MAYBE,
};

enum side_effects {
	SIDE_EFFECTS_INHERIT = 0,
	SIDE_EFFECTS_NONE,
	SIDE_EFFECTS_COMPLETE,
	SIDE_EFFECTS_PARTIAL,
};

enum retry_strategy {
	RETRY_STRATEGY_NONE = 0,
	RETRY_STRATEGY_IMMEDIATE,
	RETRY_STRATEGY_LINEAR_BACKOFF,
	RETRY_STRATEGY_EXPONENTIAL_BACKOFF,
};

enum exit_table { EXIT_TABLE_STANDARD, EXIT_TABLE_CLASSIC };

enum exit_entry {
#define EXIT(name, standard, classic, retryable, side_effects, description) EXIT_ENTRY_##name,
#include "codes.def"
	EXIT_ENTRY_COUNT
};

struct exit_row {
	const char *name;
	uint8_t number[2]; /* by enum exit_table */
	enum retryable retryable;
	enum side_effects side_effects;
	const char *description;
};

struct code_row {
	const char *name;
	enum exit_entry entry;
	enum retryable retryable;
	int32_t retry_after_ms; /* -1: not said */
	enum retry_strategy strategy;
	const char *hint; /* NULL: none */
};

const struct exit_row *exit_row(enum exit_entry entry);
/* The row of a registry code or NULL. Row i of all, NULL past the last. */
const struct code_row *code_find(const char *name);
const struct code_row *code_at(size_t i);
/* The entry of that name, or -1. */
int exit_entry_find(const char *name);

/* Names as they stand in the envelope: "false" "true" "maybe" (NULL for
 * INHERIT); "none" "complete" "partial"; "immediate" … (NULL for NONE);
 * "standard" "classic". The _parse functions give -1 for an unknown name. */
const char *retryable_name(enum retryable v);
const char *side_effects_name(enum side_effects v);
const char *retry_strategy_name(enum retry_strategy v);
int retryable_parse(const char *name);
int side_effects_parse(const char *name);
int retry_strategy_parse(const char *name);
int exit_table_parse(const char *name);

/* Does it look like an error code: ^[A-Z][A-Z0-9_]+$, at most 64 bytes? */
bool code_well_formed(const char *name, size_t n);

#endif
