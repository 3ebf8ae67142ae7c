/*
 * test_steps.c: how far a command got, in whatever order it reports its steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

static void take(struct steps *s, const char *name, const char *said)
{
	steps_take(s, RECEIVED(STEP, STR(name, name), STR(state, said)));
}

static const char *members(const struct steps *s)
{
	static struct buf out = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&out);

	buf_clear(&out);
	json_begin_object(&w);
	steps_members(s, &w);
	json_end_object(&w);
	assert_int_equal(json_check(out.data, out.len), JSON_OBJECT);
	return out.data;
}

static void assert_members(struct steps *s, const char *completed, const char *failed,
                           const char *pending, const char *skipped)
{
	char wanted[512];

	snprintf(wanted, sizeof(wanted),
	         "{\"completed_steps\":%s,\"failed_step\":%s,\"pending_steps\":%s,\"skipped_steps\":%s}",
	         completed, failed, pending, skipped);
	assert_string_equal(members(s), wanted);
}

static void declare(struct steps *s)
{
	steps_declare(s, RECEIVED(PLAN, LIST(steps, "a\0b\0c")));
}

static void the_running_step_is_the_failed_one_and_leads_the_pending(void **state UNUSED)
{
	struct steps s = { 0 };

	declare(&s);
	assert_members(&s, "[]", "null", "[\"a\",\"b\",\"c\"]", "[]");
	take(&s, "a", "running");
	assert_members(&s, "[]", "\"a\"", "[\"a\",\"b\",\"c\"]", "[]");
	take(&s, "c", "running");
	assert_members(&s, "[\"a\"]", "\"c\"", "[\"c\",\"b\"]", "[]");
	steps_finish(&s);
	assert_members(&s, "[\"a\",\"c\"]", "null", "[\"b\"]", "[]");
	steps_release(&s);
}

static void a_skipped_step_leaves_the_running_one_running(void **state UNUSED)
{
	struct steps s = { 0 };

	declare(&s);
	take(&s, "a", "running");
	take(&s, "b", "skipped");
	assert_members(&s, "[]", "\"a\"", "[\"a\",\"c\"]", "[\"b\"]");
	take(&s, "a", "skipped");
	assert_members(&s, "[]", "null", "[\"c\"]", "[\"a\",\"b\"]");
	steps_release(&s);
}

static void from_every_state_a_step_can_go_to_every_other(void **state UNUSED)
{
	static const enum step_state reached[] = { STEP_RUNNING, STEP_COMPLETED, STEP_SKIPPED };

	for (size_t from = 0; from < ARRAY_LEN(reached); from++) {
		struct steps s = { 0 };

		declare(&s);
		s.row[0].state = reached[from];
		take(&s, "a", "running");
		assert_int_equal(s.row[0].state, STEP_RUNNING);
		s.row[0].state = reached[from];
		take(&s, "a", "skipped");
		assert_int_equal(s.row[0].state, STEP_SKIPPED);
		s.row[0].state = reached[from];
		steps_finish(&s);
		assert_int_equal(s.row[0].state, reached[from] == STEP_RUNNING ? STEP_COMPLETED : reached[from]);
		assert_int_equal(s.row[1].state, STEP_PENDING);
		steps_release(&s);
	}
}

static void an_undeclared_step_joins_at_the_end_and_an_unnamed_one_does_not(void **state UNUSED)
{
	struct steps s = { 0 };

	declare(&s);
	take(&s, "extra", "running");
	take(&s, "", "running");
	steps_take(&s, RECEIVED(STEP));
	assert_members(&s, "[]", "\"extra\"", "[\"extra\",\"a\",\"b\",\"c\"]", "[]");
	steps_release(&s);
}

static void more_steps_than_are_kept_change_nothing(void **state UNUSED)
{
	struct steps s = { 0 };
	char name[32];

	for (int i = 0; i < STEPS_MAX + 50; i++) {
		snprintf(name, sizeof(name), "step %d", i);
		take(&s, name, "running");
	}
	assert_int_equal(s.count, STEPS_MAX);
	assert_string_equal(s.row[STEPS_MAX - 1].name, "step 255");
	assert_int_equal(s.row[STEPS_MAX - 1].state, STEP_RUNNING);
	steps_release(&s);
	assert_null(s.row);
	assert_int_equal(s.count, 0);
}

static void a_long_or_dirty_name_is_the_same_step_declared_and_reported(void **state UNUSED)
{
	struct steps s = { 0 };
	char name[300];

	memset(name, 'x', sizeof(name));
	memcpy(name, "\x1b[31m\xff", 6);
	name[299] = '\0';
	steps_declare(&s, RECEIVED(PLAN, BYTES(steps, name, sizeof(name))));
	take(&s, name, "running");
	assert_int_equal(s.count, 1);
	assert_int_equal(strlen(s.row[0].name), STEP_NAME - 1);
	members(&s);
	steps_release(&s);
	forget_frames();
}

/* A resumable command that has failed says where to go on; at its beginning there is nothing to resume. */
static void a_failure_says_where_to_resume(void **state UNUSED)
{
	static const struct {
		const char *completed, *skipped, *running, *wanted;
	} rows[] = {
		{ NULL, NULL, NULL, NULL },       { NULL, NULL, "a", NULL },        { "a", NULL, NULL, "\"b\"" },
		{ "a", NULL, "b", "\"b\"" },      { NULL, "a", "c", "\"b\"" },      { "a", "b", "c", "\"c\"" },
		{ NULL, "a", NULL, "\"b\"" },     { NULL, "c", "a", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int resumable = 0; resumable <= 1; resumable++) {
			struct steps s = { 0 };
			struct buf out = BUF_INIT;
			struct json_writer w = JSON_WRITER_INIT(&out);
			char wanted[64];

			if (resumable)
				steps_declare(&s, RECEIVED(PLAN, LIST(steps, "a\0b\0c"), STR(state, "resumable")));
			else
				steps_declare(&s, RECEIVED(PLAN, LIST(steps, "a\0b\0c")));
			if (rows[i].completed)
				take(&s, rows[i].completed, "running");
			steps_finish(&s);
			if (rows[i].skipped)
				take(&s, rows[i].skipped, "skipped");
			if (rows[i].running)
				take(&s, rows[i].running, "running");
			json_begin_object(&w);
			steps_of_failure(&s, &w);
			json_end_object(&w);
			snprintf(wanted, sizeof(wanted), "\"resume_from\":%s}", rows[i].wanted ? rows[i].wanted : "none");
			if (resumable && rows[i].wanted)
				assert_contains(out.data, wanted);
			else
				assert_lacks(out.data, "resume_from");
			buf_release(&out);
			steps_release(&s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_running_step_is_the_failed_one_and_leads_the_pending),
		cmocka_unit_test(a_skipped_step_leaves_the_running_one_running),
		cmocka_unit_test(from_every_state_a_step_can_go_to_every_other),
		cmocka_unit_test(an_undeclared_step_joins_at_the_end_and_an_unnamed_one_does_not),
		cmocka_unit_test(more_steps_than_are_kept_change_nothing),
		cmocka_unit_test(a_failure_says_where_to_resume),
		cmocka_unit_test(a_long_or_dirty_name_is_the_same_step_declared_and_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
