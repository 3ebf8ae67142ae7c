/*
 * audit.c: see audit.h. Runs in the supervisor.
 */
#include "audit.h"

#include <stdio.h>
#include <string.h>

#include "../common/json.h"
#include "../engine/ledger.h"
#include "warn.h"

void audit_take(struct audit *audit, const struct frame *f)
{
	if (audit->path[0])
		return;
	frame_copy(f, F_text, audit->path, sizeof(audit->path));
	frame_copy(f, F_name, audit->project, sizeof(audit->project));
	frame_copy(f, F_message, audit->subject, sizeof(audit->subject));
	frame_copy(f, F_context, audit->client, sizeof(audit->client));
	if (json_check(audit->client, strlen(audit->client)) != JSON_OBJECT)
		audit->client[0] = '\0';
	if (audit->path[0] != '/')
		audit->path[0] = '\0';
	audit->sync = frame_int(f, F_rows, 0) != 0;
	audit->from = frame_int(f, F_max_bytes, 0);
}

static void text(struct json_writer *w, const char *key, const char *value)
{
	json_key(w, key);
	json_cstr(w, value);
}

static void number(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_int(w, value);
}

static void write_row(const struct run *run, int exit_code, struct buf *out)
{
	struct json_writer w = JSON_WRITER_INIT(out);
	const struct report *r = &run->verdict.report;
	struct timespec now;
	char when[32];

	wall_now(&now);
	json_begin_object(&w);
	text(&w, "event", "end");
	text(&w, "time", rfc3339_format(&now, when));
	text(&w, "request_id", run->request_id);
	text(&w, "command", run->plan.command);
	text(&w, "project", run->audit.project);
	if (run->audit.subject[0])
		text(&w, "subject", run->audit.subject);
	if (run->audit.client[0]) {
		json_key(&w, "client");
		json_raw(&w, run->audit.client, strlen(run->audit.client));
	}
	if (run->launch.job)
		text(&w, "job", run->launch.job);
	number(&w, "from", run->audit.from);
	number(&w, "exit_code", exit_code);
	text(&w, "code", exit_code == 0 ? NULL : r->code);
	text(&w, "side_effects", exit_code == 0 ? NULL : name_of(NAMES_SIDE_EFFECTS, (int)run->verdict.worst_effects));
	number(&w, "attempts", run->attempts);
	number(&w, "duration_ms", mono_elapsed_ms(run->launch.started, mono_now()));
	json_end_object(&w);
}

void audit_end(struct run *run, int exit_code)
{
	struct buf row = BUF_INIT;
	char message[256];
	const char *why = "not enough memory";

	if (!run->audit.path[0])
		return;
	write_row(run, exit_code, &row);
	if (row.failed || ledger_append(run->audit.path, row.data, row.len, run->audit.sync, &why) < 0) {
		snprintf(message, sizeof(message), "Can't record the end of this call in the audit ledger: %s", why);
		run_warn(run, "AUDIT_UNAVAILABLE", message, NULL);
	}
	buf_release(&row);
}
