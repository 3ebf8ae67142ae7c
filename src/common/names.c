/*
 * names.c: names.def as tables. Both processes use it.
 */
#include "names.h"

#include <string.h>

static const char *const retryable[] = {
#define RETRYABLE(id, text) [RETRYABLE_##id] = text,
#include "names.def"
};

static const char *const side_effects[] = {
#define SIDE_EFFECTS(id, text) [SIDE_EFFECTS_##id] = text,
#include "names.def"
};

static const char *const retry_strategy[] = {
#define RETRY_STRATEGY(id, text) [RETRY_STRATEGY_##id] = text,
#include "names.def"
};

static const char *const exit_table[] = {
#define EXIT_TABLE(id, text) [EXIT_TABLE_##id] = text,
#include "names.def"
};

static const char *const backoff[] = {
#define BACKOFF(id, text) [BACKOFF_##id] = text,
#include "names.def"
};

static const char *const jitter[] = {
#define JITTER(id, text) [JITTER_##id] = text,
#include "names.def"
};

static const char *const format[] = {
#define FORMAT(id, text) [FORMAT_##id] = text,
#include "names.def"
};

static const char *const danger_level[] = {
#define DANGER_LEVEL(id, text) [DANGER_LEVEL_##id] = text,
#include "names.def"
};

#define SET(key, names) { key, names, ARRAY_LEN(names) }

static const struct {
	const char *key;
	const char *const *names; /* by value */
	int count;
} sets[NAMES_COUNT] = {
	[NAMES_RETRYABLE] = SET("retryable", retryable),
	[NAMES_SIDE_EFFECTS] = SET("side_effects", side_effects),
	[NAMES_RETRY_STRATEGY] = SET("retry_strategy", retry_strategy),
	[NAMES_EXIT_TABLE] = SET("exit_table", exit_table),
	[NAMES_BACKOFF] = SET("strategy", backoff),
	[NAMES_JITTER] = SET("jitter", jitter),
	[NAMES_FORMAT] = SET("format", format),
	[NAMES_DANGER_LEVEL] = SET("danger_level", danger_level),
};

const char *name_of(enum names set, int value)
{
	return value >= 0 && value < sets[set].count ? sets[set].names[value] : NULL;
}

int name_parse(enum names set, const char *name)
{
	for (int i = 0; name && i < sets[set].count; i++)
		if (sets[set].names[i] && strcmp(sets[set].names[i], name) == 0)
			return i;
	return -1;
}

int names_end(enum names set)
{
	return sets[set].count;
}

int names_find(const char *key)
{
	for (int i = 0; i < NAMES_COUNT; i++)
		if (strcmp(sets[i].key, key) == 0)
			return i;
	return -1;
}
