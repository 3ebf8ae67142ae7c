/*
 * metas.c: checks and keeps members for meta. Runs in the supervisor; trusts no worker.
 */
#include "metas.h"

#include <string.h>

#include "../common/json.h"

/* The members that the envelope writes itself: no frame may add them again. */
static const char *const own_names[] = {
	"command", "exit_code", "duration_ms", "timeout_ms", "request_id", "timestamp", "schema_version",
	"tool_version", "attempt", "max_attempts", "retries", "retry_history", "retry_seed",
};

static bool is_new(const struct metas *m, const char *name)
{
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")])
		return false;
	for (size_t i = 0; i < ARRAY_LEN(own_names); i++)
		if (strcmp(own_names[i], name) == 0)
			return false;
	for (int i = 0; i < m->count; i++)
		if (strcmp(m->names[i], name) == 0)
			return false;
	return m->count < METAS_MAX && *name && strlen(name) < META_NAME;
}

void metas_add(struct metas *m, const char *name, struct field json)
{
	struct json_writer w = JSON_WRITER_INIT(&m->members);

	if (json_check(json.s, json.n) == JSON_INVALID || !is_new(m, name))
		return;
	strcpy(m->names[m->count++], name);
	w.need_comma = true;
	json_key(&w, name);
	json_raw(&w, json.s, json.n);
}
