/*
 * codes.h: lookups in the registry (codes.def). Tables only; engine/hint.h
 * resolves what a command declares on top of them.
 */
#ifndef RUNNER_CODES_H
#define RUNNER_CODES_H

#include "names.h"

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
	int32_t retry_after_ms; /* -1: not set */
	enum retry_strategy strategy;
	const char *hint; /* NULL: none */
};

const struct exit_row *exit_row(enum exit_entry entry);
/* The row of a registry code, or NULL. Row i of the table, NULL past the last. */
const struct code_row *code_find(const char *name);
const struct code_row *code_at(size_t i);

/* Does it have the form of an error code: ^[A-Z][A-Z0-9_]+$, at most 64 bytes? */
bool code_well_formed(const char *name, size_t n);

#endif
