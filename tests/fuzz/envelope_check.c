/*
 * envelope_check.c: the claims of envelope_check.h, with Jansson as the judge.
 */
#include "fuzz.h"

#include <jansson.h>

/* Jansson's JSON_OBJECT … and ours have the same names. */
#define JSON_NULL OUR_NULL
#define JSON_OBJECT OUR_OBJECT
#define JSON_ARRAY OUR_ARRAY
#include "envelope_check.h"
#include "../../src/common/json.h"
#undef JSON_NULL
#undef JSON_OBJECT
#undef JSON_ARRAY

/* Fragments of the worker's may repeat keys; what we write around them may not. */
static bool repeats_keys(const struct buf *fragment, const char *prefix, const char *suffix)
{
	struct buf text = BUF_INIT;
	json_error_t error;
	json_t *v;

	buf_add_str(&text, prefix);
	buf_add(&text, buf_cstr(fragment), fragment->len);
	buf_add_str(&text, suffix);
	v = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	json_decref(v);
	buf_release(&text);
	return !v;
}

/* meta's own members may hold repeated keys inside; their names may not repeat. */
static void check_meta_names(const struct run *run)
{
	static const char *const ours[] = { "command", "exit_code", "items_emitted", "duration_ms", "timeout_ms", "request_id",
		                            "timestamp", "schema_version", "trace_id", "headless", "attempt",
		                            "max_attempts", "retries", "retry_history", "retry_seed" };

	for (int i = 0; i < run->metas.count; i++) {
		for (size_t k = 0; k < ARRAY_LEN(ours); k++)
			HOLDS(strcmp(run->metas.names[i], ours[k]) != 0);
		for (int k = 0; k < i; k++)
			HOLDS(strcmp(run->metas.names[i], run->metas.names[k]) != 0);
	}
}

static bool fragments_repeat_keys(const struct run *run)
{
	const struct report *r = &run->verdict.report;
	const struct buf *all[] = { &r->data, &r->errors, &r->context, &r->progress };

	check_meta_names(run);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i]->len > 0 && repeats_keys(all[i], "", ""))
			return true;
	return repeats_keys(&run->warnings.rows, "[", "]") || repeats_keys(&run->metas.members, "{\"\":0", "}");
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void check_retryable(json_t *e)
{
	json_t *retryable = json_object_get(e, "retryable");

	HOLDS(json_is_boolean(retryable) || strcmp(text_of(e, "retryable"), "maybe") == 0);
	if (json_is_true(retryable)) {
		HOLDS(json_integer_value(json_object_get(e, "retry_after_ms")) >= 0);
		HOLDS(json_is_integer(json_object_get(e, "retry_after_ms")));
		HOLDS(strstr("immediate linear_backoff exponential_backoff", text_of(e, "retry_strategy")));
		HOLDS(*text_of(e, "retry_strategy"));
	} else {
		HOLDS(json_object_get(e, "retry_strategy") == NULL);
	}
	if (!json_is_false(retryable))
		HOLDS(json_integer_value(json_object_get(e, "max_retries")) >= 1);
}

static void check_error(json_t *e, int status)
{
	const char *code = text_of(e, "code"), *phase = text_of(e, "phase"), *effects = text_of(e, "side_effects");

	HOLDS(code_well_formed(code, strlen(code)));
	HOLDS(json_is_string(json_object_get(e, "message")));
	HOLDS(strcmp(phase, "validation") == 0 || strcmp(phase, "execution") == 0 || strcmp(phase, "cleanup") == 0);
	HOLDS(strcmp(effects, "none") == 0 || strcmp(effects, "partial") == 0 || strcmp(effects, "complete") == 0);
	HOLDS(status != 2 || strcmp(effects, "none") == 0);
	HOLDS(strcmp(code, "RATE_LIMITED") != 0 ||
	      json_integer_value(json_object_get(e, "retry_after_ms")) > 0);
	check_retryable(e);
}

static void check_meta(json_t *meta, int status)
{
	const char *version = text_of(meta, "schema_version"), *dot = strchr(version, '.');
	json_t *most = json_object_get(meta, "max_attempts");

	HOLDS(json_integer_value(json_object_get(meta, "exit_code")) == status);
	HOLDS(json_integer_value(json_object_get(meta, "duration_ms")) >= 0);
	HOLDS(json_is_null(most) || json_integer_value(most) >= 1);
	HOLDS(dot && dot > version && strspn(version, "0123456789") == (size_t)(dot - version));
	HOLDS(dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1));
	HOLDS(json_array_size(json_object_get(meta, "retry_history")) <= HISTORY_MAX);
}

static void check_order(json_t *e)
{
	static const char *const keys[] = { "ok", "data", "error", "warnings", "meta" };
	const char *key;
	json_t *v;
	size_t i = 0;

	json_object_foreach(e, key, v)
		HOLDS(i < ARRAY_LEN(keys) && strcmp(key, keys[i++]) == 0);
	HOLDS(i == ARRAY_LEN(keys));
}

void envelope_check(const struct run *run, const char *text, size_t n, int status)
{
	json_error_t why;
	json_t *e, *error;

	HOLDS(n > 0 && text[n - 1] == '\n' && json_check(text, n - 1) == OUR_OBJECT);
	e = json_loadb(text, n, 0, &why);
	if (!e) { /* a worker's number may be larger than Jansson's */
		HOLDS(json_error_code(&why) == json_error_numeric_overflow);
		return;
	}
	check_order(e);
	error = json_object_get(e, "error");
	HOLDS(json_is_true(json_object_get(e, "ok")) == (status == 0));
	HOLDS(json_is_null(error) == (status == 0));
	HOLDS(json_array_size(json_object_get(e, "warnings")) <= WARNINGS_MAX);
	check_meta(json_object_get(e, "meta"), status);
	if (status != 0)
		check_error(error, status);
	json_decref(e);
	if (!fragments_repeat_keys(run)) {
		e = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
		HOLDS(e);
		json_decref(e);
	}
}

static void check_line(const struct run *run, const char *line, size_t n)
{
	if (run->launch.stderr_is_tty || strncmp(line, "runner: ", 8) == 0 || strstr(line, ": warning: "))
		HOLDS(utf8_length(line, n) > 0 || n == 0);
	else
		HOLDS(json_check(line, n) == OUR_OBJECT);
}

void stderr_check(const struct run *run, const char *text, size_t n)
{
	struct buf clean = BUF_INIT;

	HOLDS(n == 0 || text[n - 1] == '\n' || run->color);
	if (!run->color)
		HOLDS(text_clean(&clean, text, n) == 0);
	for (const char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + n - line))); line = end + 1)
		check_line(run, line, (size_t)(end - line));
	buf_release(&clean);
}
