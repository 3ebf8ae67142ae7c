/*
 * mask_json.c: a JSON text without secrets: in its strings, as they are meant, and its numbers. What is no JSON comes out
 * as a text.
 */
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "json.h"
#include "mask_forms.h"

/* --- strings --------------------------------------------------------------------------------- */

void mask_unescape(const char *s, size_t n, struct buf *out)
{
	char *to = buf_begin(out, n);

	if (to) {
		json_unescape(s, s + n, &to);
		buf_end(out, to);
	}
}

/* --- keys --------------------------------------------------------------------------------------- */

/* Members of runner's own: of envelopes, rows, events, steps, errors. A key that is one of these, and has been read in every answer, is
 * no secret's. */
static const char ours[] =
	" _cmd _count _line _source _summary _trusted actors also_in_doubt alternatives approval approvals argument argv asked asked_by "
	"attachments attempt attempt_number attempts audit_log_path auth_methods base branch breaker budget_ms busy_wait cache_used cause "
	"check chunk client code column command completed completed_steps concurrency config_sources confined conflict_id context "
	"corrected_input cost_usd count cpu_ms created cut_step data database deadline default delay_ms detail did digest directory docs_url "
	"done duration_ms effect effective_config_hash effects elapsed_ms ended env_names errno error error_history errors event events "
	"exit_code expires_at failed failed_step failures field file files first fix_command fix_required folders has_more headless help "
	"holder_age_ms holder_pid holds idempotent index injection_protection input_tokens input_value instance_id item items items_emitted "
	"job_id jobs kind known_version label lacks landlock left_ms level limit limit_bytes line lock_file logs max_attempts max_cost_usd "
	"max_retries message meta mime_type missing_scopes model name network_context next_cursor next_token_offset no_proxy none_of not_kept "
	"not_modified offset output output_tokens owner_pid pagination path peak_bytes pending_steps permanent phase policy prefix problem "
	"process processes progress project proxy_source proxy_used rate reason received_bytes redirect refresh_command rejected_pattern "
	"repairs repository request_id required_permission resume resumes retries retries_exhausted retry retry_after_ms retry_history "
	"retry_seed retry_strategy retryable returned returned_count rule runner_version runs schema_ref schema_version seccomp seed "
	"session_tmp_dir short shown side_effects signal skipped skipped_steps source spans ssl_verify stable_output started state status "
	"status_code stderr stdout step step_key steps steps_by_state steps_total subject succeeded suggestion target telemetry text throttle "
	"throttled_by time timeout_ms timestamp title token_count token_limit token_offset tokens tool_version total total_count "
	"total_duration trace_id transient transport truncated truncation_hint type uncommitted unit unsaved usage used user valid "
	"validation_only value variable variables waiting warnings window_ms workflow worktree worktrees ";

bool mask_key(const struct mask *m, const char *s, size_t n, struct buf *out)
{
	char word[40];
	bool is_word = n + 2 < sizeof(word) && !memchr(s, ' ', n) && snprintf(word, sizeof(word), " %.*s ", (int)n, s) == (int)n + 2;
	bool is_ours = is_word && strstr(ours, word);

	return !is_ours && mask_least(m, s, n, MASK_LEAST, out);
}

/* --- the text ----------------------------------------------------------------------------------- */

/* Behind the quote at s[0]: where the next one is that ends it, n: nowhere. */
static size_t string_end(const char *s, size_t n, bool *has_escapes)
{
	*has_escapes = false;
	for (size_t i = 1; i < n; i++) {
		if (s[i] == '"')
			return i;
		if (s[i] == '\\') {
			*has_escapes = true;
			i++;
		}
	}
	return n;
}

/* The contents of a string without secrets, quoted; false: there are none. */
static bool mask_string(const struct mask *m, const char *s, size_t n, bool has_escapes, bool key, struct buf *out)
{
	struct buf meant = BUF_INIT, hidden = BUF_INIT;
	bool is;

	if (has_escapes) {
		mask_unescape(s, n, &meant);
		s = buf_cstr(&meant);
		n = meant.len;
	}
	is = (key ? mask_key : mask_text)(m, s, n, &hidden);
	if (is)
		json_quote_exact(out, buf_cstr(&hidden), hidden.len);
	buf_release(&meant);
	buf_release(&hidden);
	return is;
}

static size_t number_end(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] && strchr("+-.eE", s[i]))))
		i++;
	return i;
}

/* Of n bytes at s[at], within quotes: are they the code of an error? */
static bool is_code(const char *s, size_t at, size_t n)
{
	static const char member[] = "\"code\":";
	char name[40];

	return at >= sizeof(member) - 1 && memcmp(s + at - sizeof(member) + 1, member, sizeof(member) - 1) == 0 && n < sizeof(name) + 2 &&
	       snprintf(name, sizeof(name), "%.*s", (int)n - 2, s + at + 1) > 0 && code_find(name);
}

/* Copy what hasn't come out yet, up to `at`. */
static void catch_up(struct buf *out, const char *s, size_t *done, size_t at, size_t next)
{
	buf_add(out, s + *done, at - *done);
	*done = next;
}

bool mask_json(const struct mask *m, const char *s, size_t n, enum mask_text_of whose, struct buf *out)
{
	size_t done = 0, start = out->len;
	bool any = false, has_escapes;
	struct buf token = BUF_INIT;

	for (size_t at = 0, length; at < n; at += length) {
		buf_clear(&token);
		length = 1;
		if (s[at] == '"') {
			size_t end = string_end(s + at, n - at, &has_escapes);
			bool key = whose == MASK_OF_OURS || (at + end + 1 < n && s[at + end + 1] == ':');

			if (end == n - at) { /* no JSON */
				any = false;
				break;
			}
			length = end + 1;
			if ((whose >= MASK_OF_OTHERS_WITH_CODES && is_code(s, at, length)) || !mask_string(m, s + at + 1, end - 1, has_escapes, key, &token))
				continue;
		} else if (s[at] == '-' || (s[at] >= '0' && s[at] <= '9')) {
			length = number_end(s + at, n - at);
			if (whose == MASK_OF_OURS || whose == MASK_OF_OTHERS_WITH_COUNTS || mask_at(m, s + at, length, 0).n != length)
				continue;
			buf_add_str(&token, "\"" MASK_SHOWN "\"");
		} else {
			continue;
		}
		catch_up(out, s, &done, at, at + length);
		buf_add(out, token.data, token.len);
		any = true;
	}
	buf_release(&token);
	if (!any) {
		out->len = start;
		return json_check(s, n) == JSON_INVALID && mask_text(m, s, n, out);
	}
	buf_add(out, s + done, n - done);
	return true;
}
