/*
 * limit_advice.c: see limit_advice.h. The sources of limits are those of lua/project/settings.lua.
 */
#include "limit_advice.h"

#include <string.h>

/* The limits whose sources the plan has, in its order. */
static const struct limit_key {
	enum limit limit;
	const char *key, *flag, *variable;
} keys[] = {
	{ LIMIT_TIMEOUT, "timeout", "--timeout", "RUNNER_TIMEOUT" },
	{ LIMIT_ATTEMPT, "attempt_timeout", "--attempt-timeout", "RUNNER_ATTEMPT_TIMEOUT" },
	{ LIMIT_IDLE, "idle_timeout", "--idle-timeout", "RUNNER_IDLE_TIMEOUT" },
};

/* The n-th of the sources that the plan has, separated by commas; "" is the default. */
static void source_of(const struct plan *p, size_t n, char *out, size_t size)
{
	const char *at = p->limit_sources;
	size_t len;

	while (n-- > 0 && *at)
		at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
	len = strcspn(at, ",");
	if (len >= size)
		len = 0;
	memcpy(out, at, len);
	out[len] = '\0';
}

static void advise(struct buf *out, const struct limit_key *k, const char *source)
{
	if (strcmp(source, "flag") == 0)
		buf_add_fmt(out, "%s of this call set the limit: give a longer one", k->flag);
	else if (strcmp(source, "environment") == 0)
		buf_add_fmt(out, "%s set the limit; %s DURATION overrides it for one call", k->variable, k->flag);
	else if (strcmp(source, "command") == 0)
		buf_add_fmt(out, "%s = … of the command's file set the limit; %s DURATION overrides it for one call",
		            k->key, k->flag);
	else if (strcmp(source, "runner.lua") == 0)
		buf_add_fmt(out,
		            "%s = … of runner.lua set the limit; a command that needs longer declares %s = \"5m\" in its file, "
		            "and %s 5m gives one call longer", k->key, k->key, k->flag);
	else if (strcmp(source, "interruption") == 0)
		buf_add_str(out, "max_lifetime in interruption of the command's file set the limit");
	else if (strcmp(source, "policy") == 0)
		buf_add_str(out, "A policy of the caller set the limit (meta.policy has its file), and no flag gives longer");
	else if (strcmp(source, "outer run") == 0)
		buf_add_str(out, "The run that made this call ends then: give that one a longer --timeout");
	else
		buf_add_fmt(out,
		            "The limit is the default: a command that needs longer declares %s = \"5m\" in its file, "
		            "and %s 5m gives one call longer", k->key, k->flag);
}

void limit_advise(struct report *r, const struct plan *p)
{
	struct buf *out = r->suggestion.len > 0 ? &r->fix_required : &r->suggestion; /* it says how to go on */

	if (r->verdict != VERDICT_LIMIT)
		return;
	if (r->limit == LIMIT_LOAD)
		buf_add_str(out, "RUNNER_LOAD_TIMEOUT sets how long a file may take to load (5s)");
	else if (r->limit == LIMIT_CPU)
		buf_add_str(out, "cpu in limits of the command's file set the limit");
	else if (r->limit == LIMIT_STALL)
		buf_add_str(out, "idle_timeout in interruption of the command's file set the limit");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].limit == r->limit) {
			char source[16];

			source_of(p, i, source, sizeof(source));
			advise(out, &keys[i], source);
		}
}
