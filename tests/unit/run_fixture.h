/*
 * run_fixture.h: what the tests of the supervisor share: frames written by hand,
 * frames as received, and a run as it stands before its first attempt. For
 * unit tests only.
 */
#ifndef RUNNER_TEST_RUN_FIXTURE_H
#define RUNNER_TEST_RUN_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "../../src/common/json.h"
#include "../../src/supervisor/run.h"

/* --- frames ---------------------------------------------------------------------- */

struct frame_value {
	enum field_id id;
	const char *s; /* NULL: a number */
	size_t n;
	int64_t i;
};

#define STR(id, text) { F_##id, text, strlen(text), 0 }
#define BYTES(id, s, n) { F_##id, s, n, 0 }
#define LIST(id, s) { F_##id, s, sizeof(s), 0 } /* a literal: "one\0two" */
#define INT(id, v) { F_##id, NULL, 0, v }

/* Append one frame to a struct buf: ADD_FRAME(&out, RESULT, INT(ok, 1)). */
#define ADD_FRAME(out, kind, ...) \
	add_frame(out, FRAME_##kind, (const struct frame_value[]){ __VA_ARGS__ }, \
	    sizeof((const struct frame_value[]){ __VA_ARGS__ }) / sizeof(struct frame_value))

static inline int add_frame(struct buf *out, enum frame_kind kind, const struct frame_value *fields, size_t n)
{
	size_t start = frame_begin(out, kind);

	for (size_t i = 0; i < n; i++) {
		if (fields[i].s)
			frame_add_bytes(out, fields[i].id, fields[i].s, fields[i].n);
		else
			frame_add_int(out, fields[i].id, fields[i].i);
	}
	return frame_end(out, start);
}

/* One frame as the supervisor receives it; lives until the next. */
#define RECEIVED(kind, ...) \
	received(FRAME_##kind, (const struct frame_value[]){ __VA_ARGS__ }, \
	         sizeof((const struct frame_value[]){ __VA_ARGS__ }) / sizeof(struct frame_value))

static inline const struct frame *received(enum frame_kind kind, const struct frame_value *fields, size_t n)
{
	static struct frame_decoder decoder = FRAME_DECODER_INIT;
	static struct frame frame;
	struct buf wire = BUF_INIT;

	frame_decoder_release(&decoder);
	if (kind == FRAME_NONE)
		return NULL;
	assert_int_equal(add_frame(&wire, kind, fields, n), 0);
	assert_int_equal(frame_feed(&decoder, wire.data, wire.len), 0);
	buf_release(&wire);
	assert_int_equal(frame_next(&decoder, &frame), FRAME_READY);
	return &frame;
}

/* Free the memory of the last frame. */
static inline void forget_frames(void)
{
	received(FRAME_NONE, NULL, 0);
}

/* --- a run ------------------------------------------------------------------------ */

static inline void run_open(struct run *run)
{
	unsetenv("RUNNER_EXIT_TABLE");
	unsetenv("RUNNER_FORMAT");
	unsetenv("CI");
	memset(run, 0, sizeof(*run));
	run->launch.started = mono_now();
	run->launch.stdin_fd = -1;
	run->launch.stdout_fd = -1;
	run->stdout_fd = -1;
	run->attempts = 1;
	strcpy(run->request_id, "req_00000000000000000000000000");
	plan_init(&run->plan, &run->launch);
	tap_init(&run->stdout_tap, 1024);
	outlet_init(&run->err, -1);
	report_init(&run->verdict.report);
}

static inline void run_close(struct run *run)
{
	secrets_release(run);
	report_release(&run->verdict.report);
	buf_release(&run->warnings.rows);
	buf_release(&run->metas.members);
	for (int i = 0; i < HISTORY_MAX; i++)
		buf_release(&run->history.row[i]);
	outlet_release(&run->err);
	block_release(run);
	tap_release(&run->stdout_tap);
	forget_frames();
}

/* --- assertions ------------------------------------------------------------------------ */

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s in %s", part, text);
}

static inline void assert_json_lines(const char *text, int expected)
{
	int lines = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1, lines++)
		assert_int_equal(json_check(text, (size_t)(end - text)), JSON_OBJECT);
	assert_string_equal(text, "");
	assert_int_equal(lines, expected);
}

#endif
