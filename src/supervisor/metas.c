/*
 * metas.c: checks and keeps members for meta and for error. Runs in the supervisor; trusts no worker.
 */
#include "metas.h"

#include <string.h>

#include "../common/json.h"

/* The members that the envelope writes itself: no frame may add them again. */
static const char *const meta_names[] = {
	"command", "exit_code", "items_emitted", "duration_ms", "timeout_ms", "request_id", "timestamp", "schema_version",
	"trace_id", "headless", "attempt", "max_attempts", "retries", "retry_history", "retry_seed", "steps", "attachments",
};
static const char *const error_names[] = {
	"code", "message", "detail", "retryable", "retry_after_ms", "retry_strategy", "max_retries",
	"retries_exhausted", "side_effects", "phase", "fix_required", "fix_command", "suggestion", "signal",
	"errors", "context", "redirect",
};

/* What differs between two equal calls: no answer to --stable-output has it (REQ-O-007). */
static const char *const varying_names[] = {
	"duration_ms", "request_id", "timestamp", "retry_history", "retry_seed", "session_tmp_dir", "cache_used", "attachments",
};

/* What is the same in all answers of a project, or that its caller knows: no answer to --meta short has it. */
static const char *const known_names[] = {
	"command", "request_id", "timestamp", "schema_version", "tool_version", "trace_id", "headless", "attempt", "max_attempts",
	"retry_history", "retry_seed", "cwd", "config_sources", "effective_config_hash", "session_tmp_dir", "instance_id", "limits",
	"schema_ref", "audit_log_path", "policy", "confined",
};

bool metas_have(const struct metas *m, const char *name)
{
	for (int i = 0; i < m->count; i++)
		if (strcmp(m->names[i], name) == 0)
			return true;
	return false;
}

static bool is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool metas_want(const struct metas *m, const char *name)
{
	return !(metas_have(m, "stable_output") && is_among(varying_names, ARRAY_LEN(varying_names), name)) &&
	       !(metas_have(m, "form") && is_among(known_names, ARRAY_LEN(known_names), name));
}

static bool is_new(const struct metas *m, const char *const *own, size_t n, const char *name)
{
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")])
		return false;
	if (is_among(own, n, name) || metas_have(m, name) || !metas_want(m, name))
		return false;
	return m->count < METAS_MAX && *name && strlen(name) < META_NAME;
}

static void add(struct metas *m, const char *const *own, size_t n, const char *name, struct field json)
{
	struct json_writer w = JSON_WRITER_INIT(&m->members);

	if (json_check(json.s, json.n) == JSON_INVALID || !is_new(m, own, n, name))
		return;
	m->at[m->count] = m->members.len;
	strcpy(m->names[m->count++], name);
	w.need_comma = true;
	json_key(&w, name);
	json_raw(&w, json.s, json.n);
}

void metas_add(struct metas *m, const char *name, struct field json)
{
	add(m, meta_names, ARRAY_LEN(meta_names), name, json);
}

void metas_add_to_error(struct metas *m, const char *name, struct field json)
{
	add(m, error_names, ARRAY_LEN(error_names), name, json);
}

void metas_write(const struct metas *m, struct buf *out)
{
	for (int i = 0; i < m->count; i++) {
		size_t end = i + 1 < m->count ? m->at[i + 1] : m->members.len;

		if (metas_want(m, m->names[i]))
			buf_add(out, m->members.data + m->at[i], end - m->at[i]);
	}
}

void metas_clear(struct metas *m)
{
	buf_clear(&m->members);
	m->count = 0;
}
