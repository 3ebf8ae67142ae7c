/*
 * budget.c: see budget.h. Runs in the supervisor, once an answer is known; what is cut has been masked before.
 */
#include "budget.h"

#include <errno.h>
#include <string.h>

#include "../common/json.h"
#include "../common/shorten.h"
#include "../engine/keep.h"
#include "decide.h"
#include "envelope.h"
#include "notice.h"

#define RESERVE 2048   /* bytes of the least that an answer says without its data */
#define SLACK 64       /* that an answer may still grow: digits of its time */
#define REST 1024      /* of meta.rest, with what it shows */
#define FIRST 256      /* of what was too large, where nothing else shows any of it */
#define ROW 320        /* most bytes of a warning about a cut */
#define COUNTS 60      /* of what is said of a list */
#define MESSAGE 256

static size_t most(const struct run *run)
{
	return (size_t)run->plan.max_bytes;
}

/* --- what is kept -------------------------------------------------------------------------- */

/*
 * Keep a text, and say so as members of meta: ,"truncated":true,"rest":{…}. `first`: show how it begins. NULL, or why it is
 * not kept.
 */
static const char *keep(struct run *run, const char *s, size_t n, bool is_json, bool first, struct buf *members)
{
	struct json_writer w = JSON_WRITER_INIT(members);
	char name[80], path[KEEP_PATH], expires[32];
	struct buf hint = BUF_INIT;
	const char *why = run->plan.unmask ? "with --unmask it may hold secrets, which no file gets" : NULL;

	stpcpy(stpcpy(stpcpy(name, run->request_id), run->whose), is_json ? ".json" : ".txt");
	if (!why && keep_write(name, s, n, path) < 0)
		why = keep_reason(errno);
	w.need_comma = true;
	json_key(&w, "rest");
	json_begin_object(&w);
	json_key(&w, "of"), json_cstr(&w, first ? "data" : "answer");
	json_key(&w, "bytes"), json_int(&w, (int64_t)n);
	json_key(&w, "kind"), json_cstr(&w, is_json ? "application/json" : "text/plain");
	if (why) {
		json_key(&w, "not_kept"), json_cstr(&w, why);
	} else {
		json_key(&w, "path"), json_cstr(&w, path);
		json_key(&w, "expires_at"), json_cstr(&w, keep_expires(expires));
	}
	if (first)
		json_key(&w, "first"), json_str(&w, s, text_cut(s, n, FIRST));
	json_end_object(&w);
	if (!metas_have(&run->metas, "truncated"))
		json_key(&w, "truncated"), json_bool(&w, true);
	if (!why && !metas_have(&run->metas, "truncation_hint")) {
		buf_add_fmt(&hint, "tail -c +1 '%s' | head -c %zu", path, most(run));
		if (!strchr(path, '\''))
			json_key(&w, "truncation_hint"), json_str(&w, buf_cstr(&hint), hint.len);
	}
	buf_release(&hint);
	return why;
}

/* --- a result that can't be cut --------------------------------------------------------------- */

static bool can_be_cut(const struct run *run, const struct buf *data, size_t max)
{
	struct buf text = BUF_INIT, out = BUF_INIT;
	bool can;

	if (run->plan.whole_data)
		return false;
	buf_add_str(&text, "{\"data\":");
	buf_add(&text, data->data, data->len);
	buf_add_char(&text, '}');
	can = shorten(&out, buf_cstr(&text), text.len, max, false, NULL);
	buf_release(&text);
	buf_release(&out);
	return can;
}

static bool has_budget(const struct run *run)
{
	return run->plan.max_bytes > 0 && !run->job.is;
}

/* A success becomes a failure: no caller could have what it lacks, or no half of it is one. */
static void fail(struct run *run, size_t n, const char *why, const char *fix)
{
	struct report *r = &run->verdict.report;

	if (!r->ok)
		return;
	report_fail(r, "OUTPUT_TOO_LARGE", "The result has %zu bytes; the answer may have %zu, and %s", n, most(run), why);
	strcpy(r->phase, "execution");
	r->own = (struct own_hints)OWN_HINTS_NONE;
	r->own.side_effects = run->plan.safe ? SIDE_EFFECTS_NONE : SIDE_EFFECTS_COMPLETE;
	buf_clear(&r->suggestion);
	buf_add_str(&r->suggestion, fix);
	run->verdict.hints = decide_hints(run, r);
	verdict_note_effects(&run->verdict, &run->verdict.hints);
}

static void fail_for_good(struct run *run, size_t n, const char *why)
{
	struct buf text = BUF_INIT;

	buf_add_fmt(&text, "what is cut can't be kept: %s", why);
	fail(run, n, buf_cstr(&text), "Remove that reason, or ask for more bytes with --max-bytes");
	buf_release(&text);
}

/* A text loses whole lines at its end, and is too large where the first has no room. */
static void judge_text(struct run *run)
{
	struct report *r = &run->verdict.report;
	size_t n = r->text.len;
	const char *line, *why;

	if (n <= most(run))
		return;
	why = keep(run, r->text.data, n, false, false, &run->rest);
	line = memrchr(r->text.data, '\n', most(run));
	if (line && (run->plan.format == FORMAT_TSV || run->plan.format == FORMAT_TABLE) && line == memchr(r->text.data, '\n', most(run)))
		line = NULL; /* only the names of the columns */
	r->text.len = line ? (size_t)(line + 1 - r->text.data) : 0;
	run->rest_stays = true;
	if (why)
		fail_for_good(run, n, why);
	else if (!line)
		fail(run, n, "its first row is longer", "Read the file of meta.rest, or ask for more bytes with --max-bytes");
	if (!r->ok)
		buf_clear(&r->data);
}

/* The envelope as it would be: written, it takes the data with it. */
static void compose(struct run *run, struct buf *out)
{
	struct report *r = &run->verdict.report;
	struct buf data = BUF_INIT;

	buf_add(&data, r->data.data, r->data.len);
	envelope_write(run, verdict_exit_code(&run->verdict), out);
	out->failed |= data.failed;
	buf_release(&r->data);
	buf_give(&r->data, &data);
}

/* Kept are the data where all else has room, or else the whole answer. */
static void refuse(struct run *run, const struct buf *whole)
{
	struct report *r = &run->verdict.report;
	struct buf data = BUF_INIT, rest = BUF_INIT;
	const char *why;

	buf_give(&data, &r->data);
	fail(run, data.len, "the result's form allows no cut", "Read the file of meta.rest, or ask for more bytes with --max-bytes");
	compose(run, &rest);
	if (rest.len + REST <= most(run))
		why = keep(run, data.data, data.len, true, true, &run->rest);
	else
		why = keep(run, whole->data, whole->len, true, false, &run->rest);
	if (why && strcmp(r->code, "OUTPUT_TOO_LARGE") == 0) {
		r->ok = true;
		fail_for_good(run, data.len, why);
	}
	run->rest_stays = true;
	buf_release(&data), buf_release(&rest);
}

void budget_judge(struct run *run)
{
	struct report *r = &run->verdict.report;
	struct buf whole = BUF_INIT;
	size_t n = r->data.len;
	const char *why;

	if (!has_budget(run))
		return;
	if (run->plan.format != FORMAT_JSON && (r->ok || run->launch.stdout_is_tty)) {
		if (run->plan.output == OUTPUT_ANSWER)
			judge_text(run); /* at a terminal that of a failure, too */
		return;
	}
	if (metas_have(&run->metas, "pagination") && n + RESERVE <= most(run))
		run->plan.whole_data = true; /* a page ends where its cursor says */
	compose(run, &whole);
	if (!whole.failed && n + RESERVE > most(run) && !can_be_cut(run, &r->data, most(run) - RESERVE)) {
		refuse(run, &whole);
	} else if (!whole.failed && whole.len + SLACK > most(run)) {
		why = keep(run, whole.data, whole.len, true, false, &run->rest);
		if (why && whole.len > most(run)) {
			fail_for_good(run, whole.len, why);
			run->rest_stays = true;
		}
	}
	buf_release(&whole);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void add_cut(struct json_writer *w, const struct shorten_cut *cut)
{
	struct buf text = BUF_INIT;

	buf_add_fmt(&text, "%s was cut from %zu to %zu %s", cut->path, cut->before, cut->after, cut->of_items ? "items" : "bytes");
	json_begin_object(w);
	json_key(w, "code"), json_cstr(w, "FIELD_TRUNCATED");
	json_key(w, "message"), json_str(w, buf_cstr(&text), text.len);
	json_key(w, "context");
	json_begin_object(w);
	json_key(w, "field"), json_cstr(w, cut->path);
	json_key(w, cut->of_items ? "original_items" : "original_bytes"), json_int(w, (int64_t)cut->before);
	json_key(w, cut->of_items ? "returned_items" : "returned_bytes"), json_int(w, (int64_t)cut->after);
	json_end_object(w);
	json_end_object(w);
	buf_release(&text);
}

static void add_cuts(struct buf *rows, const struct shorten_cuts *cuts, bool more)
{
	struct json_writer w = { rows, more };

	for (size_t i = 0; i < MIN_OF(cuts->count, (size_t)SHORTEN_CUTS); i++)
		add_cut(&w, &cuts->row[i]);
	if (cuts->count > SHORTEN_CUTS)
		add_cut(&w, &(struct shorten_cut){ .path = "the answer", .of_items = true, .before = cuts->count, .after = SHORTEN_CUTS });
}

/* Where the value of a member of the envelope begins; they stand in their order. */
static const char *value_of(const struct buf *envelope, const char *name, const char **end)
{
	const char *s = envelope->data + 1, *stop = envelope->data + envelope->len;

	for (;;) {
		const char *colon = shorten_skip(s, stop), *after = shorten_skip(colon + 1, stop);

		if (strncmp(s + 1, name, strlen(name)) == 0) {
			*end = after;
			return colon + 1;
		}
		s = after + 1;
	}
}

/* The cut envelope, with what was cut among its warnings, and where the rest is in its meta. */
static void join(struct buf *out, const struct buf *cut, const struct shorten_cuts *cuts, const struct buf *members)
{
	const char *end, *warnings = value_of(cut, "warnings", &end);

	buf_add(out, cut->data, (size_t)(end - 1 - cut->data));
	add_cuts(out, cuts, warnings[1] != ']');
	buf_add(out, end - 1, (size_t)(cut->data + cut->len - 2 - (end - 1)));
	buf_add(out, members->data, members->len);
	buf_add_str(out, "}}\n");
}

/* F-052: of a result that is a list, how many items there are and how many are shown. */
static void add_counts(struct run *run, const struct shorten_cuts *cuts, struct buf *members)
{
	if (cuts->count > 0 && strcmp(cuts->row[0].path, "data") == 0 && cuts->row[0].of_items && !metas_have(&run->metas, "total_count"))
		buf_add_fmt(members, ",\"total_count\":%zu,\"returned_count\":%zu", cuts->row[0].before, cuts->row[0].after);
}

/* What always has room: the data and what kind of failure it was. */
static void write_least(struct run *run, int exit_code, const struct buf *whole, struct buf *out)
{
	struct report *r = &run->verdict.report;
	struct buf *all[] = { &r->detail, &r->fix_required, &r->fix_command, &r->suggestion, &r->errors, &r->context, &r->redirect,
		                  &r->extra.members, &r->attachments };
	const char *end, *data = value_of(whole, "data", &end);
	struct buf text = BUF_INIT, cut = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		buf_clear(all[i]);
	if (r->message.len > MESSAGE)
		r->message.len = text_cut(r->message.data, r->message.len, MESSAGE);
	buf_clear(&run->warnings.rows);
	metas_clear(&run->metas);
	metas_add(&run->metas, "form", (struct field){ .s = "\"short\"", .n = 7 });
	steps_release(&r->steps);
	buf_add_str(&text, "{\"data\":");
	buf_add(&text, data, (size_t)(end - data));
	buf_add_char(&text, '}');
	buf_clear(&r->data);
	if (shorten(&cut, text.data, text.len, most(run) - RESERVE, run->plan.whole_data, NULL))
		buf_add(&r->data, cut.data + 8, cut.len - 9);
	envelope_write(run, exit_code, out);
	out->len -= 3;
	buf_add(out, run->rest.data, run->rest.len);
	buf_add_str(out, "}}\n");
	buf_release(&text);
	buf_release(&cut);
}

/* What is said of the cuts takes bytes itself: once more with as many as it took. */
static bool write_cut(struct run *run, const struct buf *whole, size_t for_cuts, bool again, struct buf *out)
{
	struct buf cut = BUF_INIT, members = BUF_INIT, rows = BUF_INIT;
	struct shorten_cuts cuts;
	size_t room = run->rest.len + for_cuts + COUNTS;
	bool fits = room < most(run) && shorten(&cut, whole->data, whole->len - 1, most(run) - room, run->plan.whole_data, &cuts);

	if (fits) {
		add_cuts(&rows, &cuts, true);
		if (again || !write_cut(run, whole, rows.len + COUNTS, true, out)) {
			buf_add(&members, run->rest.data, run->rest.len);
			add_counts(run, &cuts, &members);
			fits = cut.len + rows.len + members.len + 1 <= most(run);
			if (fits)
				join(out, &cut, &cuts, &members);
		}
		out->failed |= members.failed || rows.failed;
	}
	buf_release(&cut), buf_release(&members), buf_release(&rows);
	return fits;
}

void budget_write(struct run *run, int exit_code, struct buf *out)
{
	struct buf whole = BUF_INIT;
	size_t rest = run->rest_stays ? run->rest.len : 0;

	envelope_write(run, exit_code, &whole);
	if (!has_budget(run) || whole.failed || whole.len + rest <= most(run)) {
		if (rest > 0 && !whole.failed)
			join(out, &(struct buf){ .data = whole.data, .len = whole.len - 1 }, &(struct shorten_cuts){ .count = 0 }, &run->rest);
		else
			buf_give(out, &whole);
	} else {
		if (run->rest.len == 0)
			keep(run, whole.data, whole.len, true, false, &run->rest);
		if (!write_cut(run, &whole, (SHORTEN_CUTS + 1) * ROW, false, out))
			write_least(run, exit_code, &whole, out);
		out->failed |= whole.failed || run->rest.failed;
	}
	buf_release(&run->rest);
	buf_release(&whole);
}

void budget_write_text(struct run *run, struct buf *text, struct buf *out)
{
	if (run->rest.len > 0)
		notice_plain(run, "the result was cut to %zu bytes; {%s}", text->len, run->rest.data + 1);
	buf_release(&run->rest);
	buf_give(out, text);
}
