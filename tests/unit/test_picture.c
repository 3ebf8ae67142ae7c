/*
 * test_picture.c: the lines that a terminal shows of a command's steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/report.h"
#include "run_fixture.h"

static struct run run;
static struct report r;

static int open_run(void **state UNUSED)
{
	run_open(&run);
	report_init(&r);
	run.launch.stderr_is_tty = run.color = true;
	return 0;
}

static int close_run(void **state UNUSED)
{
	report_release(&r);
	run_close(&run);
	return 0;
}

static void step(const char *name, const char *said)
{
	steps_take(&r.steps, RECEIVED(STEP, STR(name, name), STR(state, said)));
	picture_step(&run, &r.steps);
}

static struct buf raw = BUF_INIT;

/* The lines, with | between their fields, a newline behind each, and N for the ms of a clock. */
static const char *lines(void)
{
	static struct buf out = BUF_INIT;
	bool clock = false;

	buf_clear(&out);
	buf_clear(&raw);
	picture_compose(&run, &raw);
	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.data[i] == '\0' ? '\n' : raw.data[i] == '\x1f' ? '|' : raw.data[i];

		if (clock && c >= '0' && c <= '9')
			continue;
		clock = (c == '+' || c == '=') && out.len > 0 && out.data[out.len - 1] == '|';
		buf_add_char(&out, c);
		buf_add_str(&out, clock ? "N" : "");
	}
	return buf_cstr(&out);
}

/* The ms of the clock of that name's line, in what lines() composed last. */
static int64_t clock_of(const char *name)
{
	const char *at = memmem(raw.data, raw.len, name, strlen(name));

	assert_non_null(at);
	return strtoll(at + strlen(name) + 2, NULL, 10);
}

static void declare(int count)
{
	struct buf list = BUF_INIT;

	for (int i = 1; i <= count; i++) {
		buf_add_fmt(&list, "s%d", i);
		buf_add_char(&list, '\0');
	}
	steps_declare(&r.steps, RECEIVED(PLAN, BYTES(steps, list.data, list.len)));
	buf_release(&list);
}

static void each_step_has_its_number_among_the_declared_ones_its_state_and_its_progress(void **state UNUSED)
{
	declare(3);
	assert_string_equal(lines(), "");
	step("s1", "running");
	picture_progress(&run, (struct field){ .s = "50%\x1fx", .n = 5 });
	assert_string_equal(lines(), "c▸|1/3 s1|+N|50% x\nd·|2/3 s2||\nd·|3/3 s3||\n");
	step("s2", "skipped");
	step("s3", "running");
	r.steps.row[2].since -= INT64_C(2500) * 1000000;
	assert_string_equal(lines(), "g✓|1/3 s1|=N|\nd-|2/3 s2||skipped\nc▸|3/3 s3|+N|\n");
	assert_in_range(clock_of("s3"), 2500, 60000);
	run.paused += INT64_C(2000000) * 1000000; /* more than was needed */
	lines();
	assert_int_equal(clock_of("s3"), 0);
}

static void a_step_that_was_not_declared_has_no_number(void **state UNUSED)
{
	step("one", "running");
	step("two", "running");
	assert_string_equal(lines(), "g✓|one|=N|\nc▸|two|+N|\n");
}

static void of_many_steps_those_around_the_running_one_are_shown(void **state UNUSED)
{
	char name[16];

	declare(100);
	for (int i = 1; i <= 50; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		step(name, "running");
	}
	const char *text = lines();

	assert_contains(text, "d…|||40 steps before\n");
	assert_contains(text, "c▸| 50/100 s50|+N|\n");
	assert_contains(text, "d…|||42 steps more\n");
	assert_lacks(text, "s40|");
}

static void lanes_stand_below_the_running_step_and_their_clocks_go_on(void **state UNUSED)
{
	declare(2);
	step("s1", "running");
	picture_lanes(&run, RECEIVED(PROGRESS, LIST(steps, "c  ▸\x1fleft\x1f+100\x1fx\0g  ✓\x1fright\x1f=7\x1f"), STR(state, "lanes")));
	run.block.picture.lanes_at -= INT64_C(1000) * 1000000;
	assert_string_equal(lines(), "c▸|1/2 s1|+N|\nc  ▸|left|+N|x\ng  ✓|right|=N|\nd·|2/2 s2||\n");
	assert_in_range(clock_of("left"), 1100, 60000);
	assert_int_equal(clock_of("right"), 7);
	step("s2", "running");
	assert_lacks(lines(), "left");
}

static void what_has_no_field_of_its_own_adds_none(void **state UNUSED)
{
	picture_lanes(&run, RECEIVED(PROGRESS, LIST(steps, "c▸\0\0c▸\x1fx\0c▸\x1fx\x1f+9\0c▸\x1fx\x1f+9223372036854775807\x1f"), STR(state, "lanes")));
	assert_contains(lines(), "c▸\n");
	picture_lanes(&run, RECEIVED(PROGRESS, BYTES(steps, "", 0), STR(state, "lanes")));
	assert_string_equal(lines(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_run, close_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_step_has_its_number_among_the_declared_ones_its_state_and_its_progress),
		TEST(a_step_that_was_not_declared_has_no_number),
		TEST(of_many_steps_those_around_the_running_one_are_shown),
		TEST(lanes_stand_below_the_running_step_and_their_clocks_go_on),
		TEST(what_has_no_field_of_its_own_adds_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
