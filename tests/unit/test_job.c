/*
 * test_job.c: the answer of a job is in its folder whole, with the disk's word for it, or it isn't
 * there: whichever call fails on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_fixture.h"

static struct run run;
static struct buf answer;

/* --- calls that are recorded, and fail at will: ld --wrap ------------------------------------- */

static struct {
	char done[256];    /* their names, in order; those of a name once in a row */
	const char *which; /* fails */
	int error;         /* with this errno; 0: it moves nothing */
	int times;         /* … so often */
	size_t most;       /* bytes that one write takes; 0: all */
} calls;

ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at);
int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static bool fails(const char *name)
{
	size_t len = strlen(calls.done), n = strlen(name);
	bool again = len >= n + 1 && strncmp(calls.done + len - n - 1, name, n) == 0;

	if (!again && len + n + 2 < sizeof(calls.done))
		sprintf(calls.done + len, "%s ", name);
	if (!calls.which || strcmp(calls.which, name) != 0 || calls.times == 0)
		return false;
	calls.times--;
	errno = calls.error;
	return true;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	if (fails("pwrite"))
		return calls.error ? -1 : 0;
	return __real_pwrite(fd, bytes, calls.most ? MIN_OF(n, calls.most) : n, at);
}

int __wrap_ftruncate(int fd, off_t size)
{
	return fails("ftruncate") ? -1 : __real_ftruncate(fd, size);
}

int __wrap_fsync(int fd)
{
	struct stat st;
	bool is_dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);

	return fails(is_dir ? "fsync-dir" : "fsync") ? -1 : 0;
}

int __wrap_rename(const char *from, const char *to)
{
	return fails("rename") ? -1 : __real_rename(from, to);
}

/* --- a job that has ended ------------------------------------------------------------------------ */

static const char *in_folder(const char *name)
{
	static char path[sizeof(run.job.folder) + 32];

	snprintf(path, sizeof(path), "%s/%s", run.job.folder, name);
	return path;
}

static void put_reserve(void)
{
	static char spaces[JOB_RESERVE];
	FILE *file = fopen(in_folder("answer.part"), "w");

	assert_non_null(file);
	memset(spaces, ' ', sizeof(spaces));
	assert_int_equal(fwrite(spaces, 1, sizeof(spaces), file), sizeof(spaces));
	fclose(file);
}

static void end_run(bool ok)
{
	if (answer.data)
		run_close(&run);
	run_open(&run);
	run.job = (struct job){ .is = true, .id = "job_1", .lock = -1, .control = -1, .progress = -1 };
	strcpy(run.job.folder, "/tmp/test_job.XXXXXX");
	assert_non_null(mkdtemp(run.job.folder));
	put_reserve();
	run.verdict.report.verdict = VERDICT_RESULT;
	run.verdict.report.entered_run = true;
	run.verdict.report.ok = ok;
	if (ok)
		buf_add_str(&run.verdict.report.data, "{\"n\":1}");
	else
		report_fail(&run.verdict.report, "CONFLICT", "it failed");
	report_describe(&run.verdict.report);
}

/* Its exit status; what it left is in `answer`, "" where there is nothing. */
static int deliver(bool ok, int exit_code)
{
	FILE *file;
	int status, c;

	end_run(ok);
	calls.done[0] = '\0';
	status = job_deliver(&run, exit_code);
	buf_clear(&answer);
	buf_add_str(&answer, "");
	if ((file = fopen(in_folder("answer.json"), "r"))) {
		while ((c = getc(file)) != EOF)
			buf_add_char(&answer, (char)c);
		fclose(file);
		assert_json_lines(buf_cstr(&answer), 1);
	}
	unlink(in_folder("answer.json"));
	unlink(in_folder("answer.part"));
	assert_int_equal(rmdir(run.job.folder), 0);
	return status;
}

static void fail_next(const char *which, int error, int times)
{
	memset(&calls, 0, sizeof(calls));
	calls.which = which;
	calls.error = error;
	calls.times = times;
}

static int stop(void **state UNUSED)
{
	run_close(&run);
	buf_release(&answer);
	return 0;
}

/* --- tests --------------------------------------------------------------------------------------- */

static void it_is_on_the_disk_before_it_has_its_name(void **state UNUSED)
{
	fail_next(NULL, 0, 0);
	assert_int_equal(deliver(true, 0), 0);
	assert_string_equal(calls.done, "pwrite ftruncate fsync rename fsync-dir ");
	assert_contains(buf_cstr(&answer), "{\"ok\":true,\"data\":{\"n\":1},");
	assert_int_equal(deliver(false, 5), 5);
	assert_string_equal(calls.done, "pwrite ftruncate fsync rename fsync-dir ");
	assert_contains(buf_cstr(&answer), "{\"code\":\"CONFLICT\",");
	assert_contains(buf_cstr(&answer), "\"exit_code\":5,");
}

static void it_is_whole_however_little_one_write_takes(void **state UNUSED)
{
	fail_next(NULL, 0, 0);
	calls.most = 7;
	assert_int_equal(deliver(true, 0), 0);
	assert_contains(buf_cstr(&answer), "{\"n\":1}");
	fail_next("pwrite", EINTR, 3);
	assert_int_equal(deliver(true, 0), 0);
	assert_contains(buf_cstr(&answer), "{\"n\":1}");
}

static const struct {
	const char *call;
	int error;
} writing[] = {
	{ "pwrite", ENOSPC }, { "pwrite", 0 }, { "ftruncate", EIO }, { "fsync", EIO },
};

static void where_it_cant_be_kept_what_happened_is(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(writing); i++) {
		fail_next(writing[i].call, writing[i].error, 1);
		assert_int_equal(deliver(true, 0), 1);
		assert_contains(buf_cstr(&answer), "\"code\":\"OUTPUT_FAILED\",\"message\":\"The job ended with exit code 0, but its answer can't be kept: ");
		assert_contains(buf_cstr(&answer), "\"side_effects\":\"complete\",\"phase\":\"execution\"");
		assert_contains(buf_cstr(&answer), "\"job_id\":\"job_1\"");
		fail_next(writing[i].call, writing[i].error, 1);
		assert_int_equal(deliver(false, 5), 5);
		assert_contains(buf_cstr(&answer), "The job failed with exit code 5, but its answer can't be kept: ");
		assert_contains(buf_cstr(&answer), "\"side_effects\":\"partial\"");
		assert_contains(buf_cstr(&answer), "\"exit_code\":5,");
	}
}

static void where_nothing_can_be_kept_there_is_no_answer(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(writing); i++) {
		fail_next(writing[i].call, writing[i].error, -1);
		assert_int_equal(deliver(true, 0), 1);
		assert_null(strstr(calls.done, "rename"));
		assert_string_equal(buf_cstr(&answer), "");
		fail_next(writing[i].call, writing[i].error, -1);
		assert_int_equal(deliver(false, 5), 5);
		assert_string_equal(buf_cstr(&answer), "");
	}
}

static void a_name_that_may_be_lost_is_no_success(void **state UNUSED)
{
	fail_next("rename", EIO, -1);
	assert_int_equal(deliver(true, 0), 1);
	assert_string_equal(buf_cstr(&answer), "");
	fail_next("fsync-dir", EIO, -1);
	assert_int_equal(deliver(true, 0), 1);
	fail_next("fsync-dir", EINVAL, -1); /* a file system that has no such thing */
	assert_int_equal(deliver(true, 0), 0);
	assert_contains(buf_cstr(&answer), "{\"ok\":true,");
}

static void without_a_folder_it_fails(void **state UNUSED)
{
	fail_next(NULL, 0, 0);
	for (int exit_code = 0; exit_code <= 5; exit_code += 5) {
		end_run(exit_code == 0);
		unlink(in_folder("answer.part"));
		assert_int_equal(rmdir(run.job.folder), 0);
		calls.done[0] = '\0';
		assert_int_equal(job_deliver(&run, exit_code), exit_code == 0 ? 1 : exit_code);
		assert_string_equal(calls.done, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_on_the_disk_before_it_has_its_name),
		cmocka_unit_test(it_is_whole_however_little_one_write_takes),
		cmocka_unit_test(where_it_cant_be_kept_what_happened_is),
		cmocka_unit_test(where_nothing_can_be_kept_there_is_no_answer),
		cmocka_unit_test(a_name_that_may_be_lost_is_no_success),
		cmocka_unit_test(without_a_folder_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, stop);
}
