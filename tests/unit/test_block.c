/*
 * test_block.c: the lines at the bottom of a terminal: what a frame writes, and when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/xio.h"
#include "../../src/supervisor/columns.h"
#include "../../src/supervisor/line.h"
#include "../../src/supervisor/notice.h"
#include "run_fixture.h"

#define US "\x1f"
#define BEGIN "\x1b[?7l"
#define END "\x1b[?7h"
#define MARK(letters, mark) "\x1b[" letters "m" mark "\x1b[0m "

static struct run run;
static int ours = -1, theirs = -1; /* ends of the terminal that is stderr */

static void resize(unsigned short columns, unsigned short rows)
{
	struct winsize size = { .ws_col = columns, .ws_row = rows };

	assert_int_equal(ioctl(theirs, TIOCSWINSZ, &size), 0);
}

static int open_run(void **state UNUSED)
{
	struct termios raw;

	run_open(&run);
	ours = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
	theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
	assert_true(theirs >= 0);
	assert_int_equal(tcgetattr(theirs, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(theirs, TCSANOW, &raw), 0);
	assert_int_equal(xnonblock(ours), 0);
	resize(40, 10);
	outlet_init(&run.err, theirs);
	run.launch.stderr_is_tty = run.color = true;
	return 0;
}

static int close_run(void **state UNUSED)
{
	run_close(&run);
	xclose(&ours);
	xclose(&theirs);
	return 0;
}

/* What was written since the last call. */
static const char *seen(void)
{
	static char text[64 << 10];
	size_t at = 0;
	ssize_t n;

	while ((n = xread(ours, text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
	return text;
}

/* As if it was long ago. */
static void next_frame(void)
{
	run.block.drawn_at = 0;
	block_draw(&run);
}

#define STEPS(list) block_steps(&run, RECEIVED(PROGRESS, LIST(steps, list)))
/* A list that may be drawn at once. */
#define SHOW(list) (run.block.drawn_at = 0, STEPS(list))

static void the_first_frame_has_all_lines_the_second_only_what_has_changed(void **state UNUSED)
{
	SHOW("g✓" US "one" US US "\0" " ·" US "three" US US "soon");
	assert_string_equal(seen(), BEGIN "\r\x1b[K" MARK("32", "✓") "one  \r\n\r\x1b[K· three  soon" END);
	SHOW("g✓" US "one" US US "\0" " ·" US "three" US US "soon");
	assert_string_equal(seen(), "");
	SHOW("r✗" US "one" US US "bad\0" " ·" US "three" US US "soon");
	assert_string_equal(seen(), BEGIN "\x1b[1A\r\x1b[K" MARK("1;31", "✗") "one    bad\x1b[1B\x1b[14G" END);
}

static void a_frame_waits_for_the_tenth_of_a_second_after_the_one_before(void **state UNUSED)
{
	SHOW(" ·" US "one" US US "a");
	seen();
	run.block.drawn_at = mono_add_ms(mono_now(), 60000); /* however long this takes, it was not drawn before */
	STEPS(" ·" US "one" US US "b");
	STEPS(" ·" US "one" US US "c");
	assert_string_equal(seen(), "");
	assert_true(block_next(&run) == mono_add_ms(run.block.drawn_at, 100));
	run.block.due = run.block.drawn_at = 1;
	block_draw(&run);
	assert_string_equal(seen(), BEGIN "\r\x1b[K· one  c" END);
	assert_true(block_next(&run) == MONO_NEVER);
}

static void other_lines_go_above_it_in_the_same_frame(void **state UNUSED)
{
	SHOW(" ·" US "one" US US "\0" " ·" US "two" US US "");
	seen();
	notice_log(&run, "info", (struct field){ .s = "hello", .n = 5 });
	assert_string_equal(seen(), "");
	run.block.due = 1;
	block_draw(&run);
	assert_string_equal(seen(), "\r\x1b[1A\x1b[Jhello\n" BEGIN "\r\x1b[K· one\r\n\r\x1b[K· two" END);
	for (int i = 0; i < 20000; i++, i % 200 ? "" : seen())
		notice_log(&run, "info", (struct field){ .s = "hello", .n = 5 });
	assert_true(run.block.above.len < 70000);
	block_end(&run);
	while (outlet_flush(&run.err), *seen())
		;
	notice_log(&run, "info", (struct field){ .s = "hello", .n = 5 });
	assert_string_equal(seen(), "hello\n");
}

static void clocks_go_on_by_themselves_and_stand_still_while_the_run_does(void **state UNUSED)
{
	SHOW("c>" US "up" US "+59400" US "x\0" "y>" US "down" US "-61500" US "\0" " >" US "done" US "=1260" US "\0"
	     " >" US "long" US "=7260000" US "");
	const char *text = seen();

	assert_contains(text, "up    \x1b[2m59s      \x1b[0m  x");
	assert_contains(text, "in 1m 02s");
	assert_contains(text, "1.2s");
	assert_contains(text, "2h 01m");
	assert_true(block_next(&run) <= mono_add_ms(mono_now(), 600));
	run.block.given_at = mono_now() - 700 * 1000000; /* whatever has passed since */
	run.block.due = 1;
	block_draw(&run);
	text = seen();
	assert_contains(text, "1m 00s");
	assert_contains(text, "in 1m 01s");
	run.block.given_at = mono_now() - INT64_C(10700) * 1000000;
	run.paused += INT64_C(10000) * 1000000;
	run.block.due = 1;
	block_draw(&run);
	text = seen();
	assert_contains(text, "up    \x1b[2m1m 00s\x1b[0m"); /* the column is narrower now */
	assert_contains(text, "in 51s");
}

static void lines_are_cut_to_the_columns_that_their_characters_take(void **state UNUSED)
{
	static const struct {
		const char *text;
		size_t width, fits; /* in 5 columns: bytes */
	} rows[] = {
		{ "abcdef", 6, 5 }, { "中文字", 6, 6 }, { "e\xcc\x81" "abcd", 5, 7 }, { "🚀🚀🚀", 6, 8 },
		{ "…✓✗▸", 4, 12 }, { "\xff\xfe", 2, 2 }, { "", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct field text = { .s = rows[i].text, .n = strlen(rows[i].text) };

		assert_int_equal(columns_width(text), rows[i].width);
		assert_int_equal(columns_cut(text, 5), rows[i].fits);
	}
	SHOW(" ·" US "one" US US "中中中中中中中中中中中中中中中中中中中中中中");
	assert_contains(seen(), "· one  中中中中中中中中中中中中中中中…" END);
	resize(12, 10);
	SHOW(" ·" US "a-long-name" US US "text");
	assert_contains(seen(), "· a-long…");
}

static void a_narrow_terminal_shows_names_rather_than_texts_and_a_note_stands_behind_its_mark(void **state UNUSED)
{
	resize(21, 10);
	SHOW("c▸" US "2/2 unpack" US "+1000" US "a text\0" "d…" US US US "14 steps before");
	assert_contains(seen(), "2/2 unpack  \x1b[2m1s\x1b[0m  a…\r\n\r\x1b[K" MARK("2", "…") "14 steps before" END);
	resize(41, 10);
	block_renew(&run);
	block_draw(&run);
	assert_contains(seen(), "2/2 unpack  \x1b[2m1s\x1b[0m  a text");
}

static void no_more_lines_than_the_terminal_has(void **state UNUSED)
{
	resize(40, 4);
	SHOW("·" US "1" US US "\0" "·" US "2" US US "\0" "·" US "3" US US "\0" "·" US "4" US US "");
	assert_string_equal(strrchr(seen(), '\n'), "\n\r\x1b[K… 2 more" END);
	assert_int_equal(run.block.rows, 3);
}

static void after_a_resize_the_lines_that_were_wrapped_are_erased_too(void **state UNUSED)
{
	SHOW(" ·" US "one" US US "xxxxxxxxxxxxxxxxxxxxxxxxx\0" " ·" US "two" US US "");
	seen();
	resize(20, 10);
	block_renew(&run);
	block_draw(&run);
	assert_true(strncmp(seen(), "\r\x1b[2A\x1b[J" BEGIN, 13) == 0);
}

static void what_it_is_told_can_move_no_cursor(void **state UNUSED)
{
	SHOW("g\x1b[2J✓" US "a\nb\r" US "+1\x1b[31m" US "x\x1b]0;title\x07y\x9b" "2Jtoken=hunter2");
	const char *text = seen();

	assert_lacks(text, "\x1b[2J");
	assert_lacks(text, "title");
	assert_lacks(text, "hunter2");
	assert_contains(text, "a b");
}

static void nothing_of_it_without_colours_or_a_terminal_or_with_quiet(void **state UNUSED)
{
	run.color = false;
	SHOW(" ·" US "one" US US "");
	run.color = true, run.launch.stderr_is_tty = false;
	SHOW(" ·" US "one" US US "");
	run.launch.stderr_is_tty = true, run.plan.quiet = true;
	SHOW(" ·" US "one" US US "");
	assert_string_equal(seen(), "");
}

static void it_is_erased_for_a_stop_and_at_the_end_and_stays_if_it_is_to(void **state UNUSED)
{
	SHOW(" ·" US "one" US US "\0" " ·" US "two" US US "");
	seen();
	block_hide(&run);
	assert_string_equal(seen(), "\r\x1b[1A\x1b[J");
	block_renew(&run);
	block_draw(&run);
	assert_string_equal(seen(), BEGIN "\r\x1b[K· one\r\n\r\x1b[K· two" END);
	block_steps(&run, RECEIVED(PROGRESS, BYTES(steps, "", 0)));
	block_end(&run);
	assert_string_equal(seen(), "\r\x1b[1A\x1b[J");
	block_steps(&run, RECEIVED(PROGRESS, LIST(steps, " ·" US "one" US US ""), STR(state, "over")));
	assert_string_equal(seen(), BEGIN "\r\x1b[K· one" END "\r\n");
	block_end(&run);
	next_frame();
	assert_string_equal(seen(), "");
}

static struct field bytes(const char *s)
{
	return (struct field){ .s = s, .n = strlen(s) };
}

/* A line of progress that may be drawn at once. */
#define PROGRESS(text) (run.block.drawn_at = 0, picture_progress(&run, bytes(text)))

/* As if the next frame were due. */
static const char *drawn(void)
{
	run.block.due = 1;
	block_draw(&run);
	return seen();
}

static void a_line_of_progress_stays_below_other_lines_until_the_attempt_is_over(void **state UNUSED)
{
	PROGRESS("50 %");
	assert_string_equal(seen(), BEGIN "\r\x1b[K50 %" END);
	notice_log(&run, "info", bytes("hello"));
	assert_string_equal(drawn(), "\r\x1b[Khello\n" BEGIN "\r\x1b[K50 %" END);
	block_close(&run);
	assert_string_equal(seen(), "\r\x1b[K");
}

static void a_spinner_turns_by_itself(void **state UNUSED)
{
	bool differs = false;

	PROGRESS("⠋  3 rows");
	assert_contains(seen(), "  3 rows");
	assert_true(block_next(&run) <= mono_add_ms(mono_now(), 100));
	for (int i = 0; i < 10000 && !differs; i++, usleep(1000))
		differs = *drawn() != '\0';
	assert_true(differs);
	PROGRESS("50 %");
	seen();
	assert_true(block_next(&run) == MONO_NEVER);
}

static void a_line_that_comes_in_pieces_is_whole_before_anything_stands_below_it(void **state UNUSED)
{
	PROGRESS("50 %");
	seen();
	block_pass(&run, "Down", 4);
	block_pass(&run, "load", 4);
	assert_string_equal(drawn(), "\r\x1b[KDownload");
	assert_string_equal(drawn(), "");
	block_pass(&run, "ed\n", 3);
	assert_string_equal(drawn(), "ed\n" BEGIN "\r\x1b[K50 %" END);
	block_pass(&run, "...", 3);
	drawn();
	notice_log(&run, "info", bytes("hello"));
	assert_string_equal(drawn(), "\nhello\n" BEGIN "\r\x1b[K50 %" END);
	block_pass(&run, "...", 3);
	drawn();
	run.block.open_until = 1;
	assert_string_equal(drawn(), "\n" BEGIN "\r\x1b[K50 %" END);
}

static void nothing_is_drawn_while_somebody_else_has_the_terminal(void **state UNUSED)
{
	PROGRESS("50 %");
	seen();
	block_lend(&run, 1);
	assert_string_equal(seen(), "\r\x1b[K");
	block_lend(&run, 1);
	PROGRESS("60 %");
	assert_string_equal(drawn(), "");
	notice_log(&run, "info", bytes("hello"));
	assert_string_equal(seen(), "hello\n");
	block_lend(&run, -1);
	assert_string_equal(drawn(), "");
	block_lend(&run, -1);
	assert_string_equal(drawn(), BEGIN "\r\x1b[K60 %" END);
	block_lend(&run, -1);
	assert_int_equal(run.block.lent, 0);
	block_lend(&run, 1);
	block_close(&run);
	assert_int_equal(run.block.lent, 0);
}

/* Three lines, then none of them: a list that has become empty. */
static void when_nothing_is_left_to_show_all_of_it_goes_and_lines_are_passed_as_they_are(void **state UNUSED)
{
	run.block.drawn_at = 0;
	picture_lanes(&run, RECEIVED(PROGRESS, LIST(steps, "c▸" US "one" US US "\0" "c▸" US "two" US US "")));
	assert_string_equal(seen(), BEGIN "\r\x1b[K" MARK("36", "▸") "one\r\n\r\x1b[K" MARK("36", "▸") "two" END);
	run.block.drawn_at = 0;
	picture_lanes(&run, RECEIVED(PROGRESS, BYTES(steps, "", 0)));
	assert_string_equal(seen(), "\r\x1b[1A\x1b[J");
	assert_true(block_next(&run) == MONO_NEVER);
	block_pass(&run, "Name: ", 6);
	assert_string_equal(seen(), "Name: ");
	assert_string_equal(drawn(), "");
	PROGRESS("50 %");
	run.block.open_until = 1;
	assert_string_equal(drawn(), "\n" BEGIN "\r\x1b[K50 %" END);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_run, close_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_frame_has_all_lines_the_second_only_what_has_changed),
		TEST(a_frame_waits_for_the_tenth_of_a_second_after_the_one_before),
		TEST(other_lines_go_above_it_in_the_same_frame),
		TEST(clocks_go_on_by_themselves_and_stand_still_while_the_run_does),
		TEST(lines_are_cut_to_the_columns_that_their_characters_take),
		TEST(a_narrow_terminal_shows_names_rather_than_texts_and_a_note_stands_behind_its_mark),
		TEST(no_more_lines_than_the_terminal_has),
		TEST(after_a_resize_the_lines_that_were_wrapped_are_erased_too),
		TEST(what_it_is_told_can_move_no_cursor),
		TEST(nothing_of_it_without_colours_or_a_terminal_or_with_quiet),
		TEST(it_is_erased_for_a_stop_and_at_the_end_and_stays_if_it_is_to),
		TEST(a_line_of_progress_stays_below_other_lines_until_the_attempt_is_over),
		TEST(a_spinner_turns_by_itself),
		TEST(a_line_that_comes_in_pieces_is_whole_before_anything_stands_below_it),
		TEST(nothing_is_drawn_while_somebody_else_has_the_terminal),
		TEST(when_nothing_is_left_to_show_all_of_it_goes_and_lines_are_passed_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
