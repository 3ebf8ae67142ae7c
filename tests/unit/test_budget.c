/*
 * test_budget.c: whatever a run came to, its envelope has no more bytes than were asked for, is one, and what is not in it is
 * in the file that it names. HOSTILE_CASES in the environment: how many answers are made (10,000).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/supervisor/budget.h"
#include "../../src/supervisor/envelope.h"
#include "../../src/supervisor/warn.h"
#include "hostile_json.h"
#include "needs.h"
#include "run_fixture.h"

static struct run run;
static char state[64];
static size_t whole_ones, cut_ones, refused_ones;

static int make_state(void **unused UNUSED)
{
	strcpy(state, "/tmp/runner-budget-XXXXXX");
	assert_non_null(mkdtemp(state));
	setenv("XDG_STATE_HOME", state, 1);
	return 0;
}

static int remove_state(void **unused UNUSED)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", state);
	return system(command);
}

/* --- an answer ------------------------------------------------------------------------------ */

static void make_data(struct buf *out)
{
	do {
		buf_clear(out);
		add_value(out, 0);
	} while (out->data[0] != '{' && out->data[0] != '[');
}

static void add_words(struct buf *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add_str(out, dice(9) ? "w" : "é\"\\");
}

static void make_answer(void)
{
	struct report *r = &run.verdict.report;
	struct buf text = BUF_INIT;

	r->ok = dice(3) > 0;
	r->verdict = VERDICT_RESULT;
	make_data(&r->data);
	for (unsigned i = dice(4) ? 0 : dice(60); i > 0; i--) {
		buf_clear(&text);
		add_words(&text, dice(900));
		run_warn_bytes(&run, (struct field){ .s = "SOME", .n = 4 }, (struct field){ .s = text.data ? text.data : "", .n = text.len },
		               (struct field){ .s = "", .n = 0 });
	}
	if (dice(5) == 0) {
		make_data(&text);
		metas_add(&run.metas, "effects", (struct field){ .s = text.data, .n = text.len });
	}
	if (!r->ok) {
		struct buf *all[] = { &r->message, &r->detail, &r->suggestion, &r->fix_command, &r->fix_required };

		strcpy(r->code, "NOT_FOUND");
		for (size_t i = 0; i < ARRAY_LEN(all); i++)
			add_words(all[i], dice(3) ? dice(60) : dice(7000));
		do {
			make_data(&text);
		} while (text.data[0] != '{');
		buf_add(&r->context, text.data, text.len);
	}
	buf_release(&text);
}

/* --- what came out ---------------------------------------------------------------------------- */

static const char *member(const char *s, const char *name, const char *end, size_t *n)
{
	const char *from = memmem(s, (size_t)(end - s), name, strlen(name));

	assert_non_null(from);
	from += strlen(name);
	*n = (size_t)(shorten_skip(from, end) - from);
	return from;
}

static void read_file(const char *path, size_t n, struct buf *out)
{
	char name[600];
	struct stat st;
	FILE *f;

	snprintf(name, sizeof(name), "%.*s", (int)n - 2, path + 1);
	f = fopen(name, "rb");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(buf_reserve(out, (size_t)st.st_size + 1), 0);
	out->len = fread(out->data, 1, (size_t)st.st_size, f);
	out->data[out->len] = '\0';
	fclose(f);
	unlink(name);
}

static void assert_same(const char *a, size_t n, const struct buf *b)
{
	assert_int_equal(n, b->len);
	assert_memory_equal(a, b->data, n);
}

static void check_rest(const struct buf *answer, const struct buf *data)
{
	const char *end = answer->data + answer->len, *meta = strstr(answer->data, ",\"rest\":{"), *path, *kept, *cut;
	struct buf file = BUF_INIT;
	size_t n;

	path = member(meta, "\"path\":", end, &n);
	read_file(path, n, &file);
	if (strncmp(meta + 9, "\"of\":\"data\"", 11) == 0) {
		assert_same(file.data, file.len, data);
		assert_contains(answer->data, "\"data\":null");
		refused_ones++;
	} else {
		kept = member(file.data, "\"data\":", file.data + file.len, &n);
		assert_same(kept, n, data);
		cut = member(answer->data, "\"data\":", end, &n);
		cut_end = end, whole_end = file.data + file.len;
		if (strncmp(cut, "null", 4) == 0)
			refused_ones++;
		else
			assert_true(begins(&cut, &kept)), cut_ones++;
	}
	buf_release(&file);
}

static void forget_kept(void)
{
	char name[600];

	snprintf(name, sizeof(name), "%s/runner/answers/%s.json", getenv("XDG_STATE_HOME"), run.request_id);
	unlink(name);
}

static void check_one(void)
{
	struct buf answer = BUF_INIT, data = BUF_INIT;

	run_open(&run);
	run.plan.format = FORMAT_JSON;
	run.plan.safe = dice(2);
	run.plan.whole_data = dice(8) == 0;
	run.plan.max_bytes = 4096 + (dice(4) ? dice(4096) : dice(30000));
	make_answer();
	buf_add(&data, run.verdict.report.data.data, run.verdict.report.data.len);
	budget_judge(&run);
	budget_write(&run, verdict_exit_code(&run.verdict), &answer);
	assert_false(answer.failed);
	assert_true(answer.len <= (size_t)run.plan.max_bytes);
	assert_json_lines(answer.data, 1);
	if (strstr(answer.data, ",\"rest\":{"))
		check_rest(&answer, &data);
	else
		whole_ones++, forget_kept(); /* what was kept in case its time had more digits */
	buf_release(&answer);
	buf_release(&data);
	run_close(&run);
}

static void test_hostile_answers(void **unused UNUSED)
{
	const char *asked = getenv("HOSTILE_CASES");
	uint64_t cases = asked ? (uint64_t)atoll(asked) : under_valgrind() ? 60 : 10000;

	for (uint64_t i = 0; i < cases; i++) {
		dice_state = i;
		check_one();
	}
	print_message("%zu whole, %zu cut, %zu refused\n", whole_ones, cut_ones, refused_ones);
	assert_true(cut_ones > cases / 4 && refused_ones > cases / 40 && whole_ones > cases / 8);
}

/* --- text, and no place for it ------------------------------------------------------------------ */

static void test_text_loses_lines(void **unused UNUSED)
{
	struct buf out = BUF_INIT, *text = &run.verdict.report.text;

	run_open(&run);
	run.plan.format = FORMAT_TEXT;
	run.plan.max_bytes = 4096;
	run.verdict.report.ok = true;
	for (int i = 0; i < 1000; i++)
		buf_add_fmt(text, "line %04d\n", i);
	budget_judge(&run);
	assert_true(run.verdict.report.ok);
	budget_write_text(&run, text, &out);
	assert_int_equal(out.len, 4096 / 10 * 10);
	assert_int_equal(out.data[out.len - 1], '\n');
	buf_release(&out);
	run_close(&run);
}

static void test_text_without_a_line_that_has_room(void **unused UNUSED)
{
	run_open(&run);
	run.plan.format = FORMAT_TEXT;
	run.plan.max_bytes = 4096;
	run.verdict.report.ok = true;
	for (int i = 0; i < 5000; i++)
		buf_add_char(&run.verdict.report.text, 'x');
	budget_judge(&run);
	assert_false(run.verdict.report.ok);
	assert_string_equal(run.verdict.report.code, "OUTPUT_TOO_LARGE");
	assert_int_equal(run.verdict.report.text.len, 0);
	buf_release(&run.rest);
	run_close(&run);
}

static void test_a_state_folder_that_cannot_be_written(void **unused UNUSED)
{
	struct buf answer = BUF_INIT;

	setenv("XDG_STATE_HOME", "/proc/self/none", 1);
	run_open(&run);
	run.plan.max_bytes = 4096;
	run.verdict.report.ok = true;
	buf_add_str(&run.verdict.report.data, "[");
	for (int i = 0; i < 5000; i++)
		buf_add_fmt(&run.verdict.report.data, "%s%d", i ? "," : "", i);
	buf_add_str(&run.verdict.report.data, "]");
	budget_judge(&run);
	assert_false(run.verdict.report.ok);
	assert_string_equal(run.verdict.report.code, "OUTPUT_TOO_LARGE");
	budget_write(&run, 1, &answer);
	assert_json_lines(answer.data, 1);
	assert_true(answer.len <= 4096);
	assert_contains(answer.data, "\"not_kept\":");
	assert_contains(answer.data, "\"truncated\":true");
	assert_lacks(answer.data, "\"path\":");
	buf_release(&answer);
	run_close(&run);
	setenv("XDG_STATE_HOME", state, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_answers),
		cmocka_unit_test(test_text_loses_lines),
		cmocka_unit_test(test_text_without_a_line_that_has_room),
		cmocka_unit_test(test_a_state_folder_that_cannot_be_written),
	};
	return cmocka_run_group_tests(tests, make_state, remove_state);
}
