/*
 * attached.c: see attached.h. Runs in the supervisor: what a command confined to a few folders attaches is kept all the same, and
 * no path of the worker's is used. Secrets have been hidden in the frames.
 */
#include "attached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/json.h"
#include "../engine/keep.h"
#include "notice.h"
#include "run.h"
#include "warn.h"

struct attached {
	int count;
	size_t bytes;
	struct one {
		char name[129], type[128];
		struct buf content;
		bool lost; /* there was no room for it */
	} list[ATTACHED_MAX];
};

static struct one *find(struct attached *a, const char *name)
{
	for (int i = 0; i < a->count; i++)
		if (strcmp(a->list[i].name, name) == 0)
			return &a->list[i];
	if (a->count == ATTACHED_MAX)
		return NULL;
	a->list[a->count] = (struct one){ .content = BUF_INIT };
	return &a->list[a->count];
}

void attached_take(struct attached **all, const struct frame *f)
{
	struct attached *a = *all = *all ? *all : calloc(1, sizeof(**all));
	struct field content = frame_str(f, F_text);
	char name[sizeof(a->list->name)];
	struct one *one;

	if (!a || !frame_copy(f, F_name, name, sizeof(name))[0])
		return;
	one = find(a, name);
	if (!one)
		return;
	a->count += one == &a->list[a->count];
	a->bytes -= one->content.len;
	strcpy(one->name, name);
	frame_copy(f, F_format, one->type, sizeof(one->type));
	buf_clear(&one->content);
	one->lost = a->bytes + content.n > ATTACHED_BYTES;
	buf_add(&one->content, content.s, one->lost ? 0 : content.n);
	a->bytes += one->content.len;
}

void attached_release(struct attached **all)
{
	for (int i = 0; *all && i < (*all)->count; i++)
		buf_release(&(*all)->list[i].content);
	free(*all);
	*all = NULL;
}

/* Its ending, so that programs know what the kept file is; keep.c takes these. */
static const char *ending_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t n = dot ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;

	return n > 0 && n <= KEEP_ENDING && !dot[1 + n] ? dot + 1 : "bin";
}

static void say(struct run *run, const struct one *one, const char *path, const char *why)
{
	struct buf text = BUF_INIT, name = BUF_INIT;

	text_clean(&name, one->name, strlen(one->name));
	if (why) {
		buf_add_fmt(&text, "The attachment %s can't be kept: %s", buf_cstr(&name), why);
		run_warn(run, "ATTACHMENT_NOT_KEPT", buf_cstr(&text), NULL);
	} else if (run->plan.format != FORMAT_JSON && !run->job.is) {
		notice_plain(run, "attached %s (%zu bytes): %s", buf_cstr(&name), one->content.len, path);
	}
	buf_release(&text);
	buf_release(&name);
}

static void keep(struct run *run, const struct one *one, int number, struct json_writer *w)
{
	const char *why = NULL; /* --unmask shows tokens in a result; what is secret is hidden in a file as ever */
	char file[96], path[KEEP_PATH], expires[32];

	snprintf(file, sizeof(file), "%s%s.%d.%s", run->request_id, run->whose, number, ending_of(one->name));
	if (one->lost || one->content.failed)
		why = one->lost ? "the files of an answer have no room for it" : strerror(ENOMEM);
	if (!why && keep_write(file, buf_cstr(&one->content), one->content.len, path) < 0)
		why = keep_reason(errno);
	json_begin_object(w);
	json_key(w, "name"), json_cstr(w, one->name);
	json_key(w, "mime_type"), json_cstr(w, one->type);
	json_key(w, "bytes"), json_int(w, (int64_t)one->content.len);
	json_key(w, why ? "not_kept" : "path"), json_cstr(w, why ? why : path);
	if (!why)
		json_key(w, "expires_at"), json_cstr(w, keep_expires(expires));
	json_end_object(w);
	say(run, one, path, why);
}

void attached_keep(struct run *run)
{
	struct report *r = &run->verdict.report;
	struct json_writer w = JSON_WRITER_INIT(&r->attachments);

	if (!r->ok || !r->attached || r->attached->count == 0)
		return;
	json_begin_array(&w);
	for (int i = 0; i < r->attached->count; i++)
		keep(run, &r->attached->list[i], i + 1, &w);
	json_end_array(&w);
	attached_release(&r->attached);
}
