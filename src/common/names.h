/*
 * names.h: the enumerations of names.def, and their values by name and back.
 */
#ifndef RUNNER_NAMES_H
#define RUNNER_NAMES_H

#include "base.h"

/* INHERIT and RETRY_STRATEGY_NONE mean "not set here" and have no name. */
enum retryable {
	RETRYABLE_INHERIT = 0,
#define RETRYABLE(id, text) RETRYABLE_##id,
#include "names.def"
};

enum side_effects {
	SIDE_EFFECTS_INHERIT = 0,
#define SIDE_EFFECTS(id, text) SIDE_EFFECTS_##id,
#include "names.def"
};

enum retry_strategy {
	RETRY_STRATEGY_NONE = 0,
#define RETRY_STRATEGY(id, text) RETRY_STRATEGY_##id,
#include "names.def"
};

enum exit_table {
#define EXIT_TABLE(id, text) EXIT_TABLE_##id,
#include "names.def"
};

enum backoff {
#define BACKOFF(id, text) BACKOFF_##id,
#include "names.def"
};

enum jitter {
#define JITTER(id, text) JITTER_##id,
#include "names.def"
};

enum format {
#define FORMAT(id, text) FORMAT_##id,
#include "names.def"
};

enum danger_level {
#define DANGER_LEVEL(id, text) DANGER_LEVEL_##id,
#include "names.def"
};

enum names {
	NAMES_RETRYABLE,
	NAMES_SIDE_EFFECTS,
	NAMES_RETRY_STRATEGY,
	NAMES_EXIT_TABLE,
	NAMES_BACKOFF,
	NAMES_JITTER,
	NAMES_FORMAT,
	NAMES_DANGER_LEVEL,
	NAMES_COUNT
};

/* The name of a value of this enumeration (static); NULL when it has none. */
const char *name_of(enum names set, int value);
/* The value with that name; -1 when there is none, or name is NULL. */
int name_parse(enum names set, const char *name);
/* One more than the greatest value. */
int names_end(enum names set);
/* The enumeration that declarations and flags call by this key ("strategy" for
 * NAMES_BACKOFF, otherwise the enum's own name); -1 when there is none. */
int names_find(const char *key);

#endif
