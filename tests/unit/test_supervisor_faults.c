/*
 * test_supervisor_faults.c: memory, processes or descriptors run out in the
 * supervisor itself, at every place where it asks for some: still one valid
 * envelope, and never a success that lost its data.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "supervisor_fixture.h"

/* --- calls that fail at will: ld --wrap ---------------------------------------------------- */

static int64_t memory_left = INT64_MAX; /* allocations that succeed before all fail */
static bool once;                       /* … or before one fails */
static int64_t forks_left = INT64_MAX;
static pid_t victim;                    /* the supervisor; nobody else is disturbed */
static volatile int64_t *asked;         /* shared: allocations of the last scenario */

void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_calloc(size_t n, size_t size);
pid_t __wrap_fork(void);
void *__real_realloc(void *ptr, size_t size);
void *__real_calloc(size_t n, size_t size);
pid_t __real_fork(void);

static bool out_of_memory(void)
{
	if (getpid() != victim)
		return false;
	++*asked;
	memory_left--;
	return once ? memory_left == -1 : memory_left < 0;
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return out_of_memory() ? NULL : __real_realloc(ptr, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return out_of_memory() ? NULL : __real_calloc(n, size);
}

pid_t __wrap_fork(void)
{
	if (getpid() != victim || forks_left-- > 0)
		return __real_fork();
	errno = EAGAIN;
	return -1;
}

static void become_victim(void)
{
	victim = getpid();
	*asked = 0;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Uses every room: codes, steps, logs, warnings, metas, a retry, large data. */
static int does_a_bit_of_everything(const struct launch *launch)
{
	static char large[300 << 10];

	memset(large, 'x', sizeof(large));
	large[0] = '[';
	large[1] = '"';
	memcpy(large + sizeof(large) - 2, "\"]", 2);
	SEND(launch, EXIT, STR(name, "LOCKED"), INT(exit_code, 79), STR(retryable, "true"), STR(side_effects, "none"));
	SEND(launch, PLAN, STR(command, "test"), INT(grace_ms, 500), INT(timeout_ms, 20000), INT(retries, 1),
	     INT(delay_ms, 1), STR(jitter, "none"), LIST(steps, "a\0b"));
	SEND(launch, RUN);
	SEND(launch, STEP, STR(name, "a"));
	SEND(launch, LOG, STR(level, "info"), STR(message, "hello"));
	SEND(launch, PROGRESS, STR(data, "{\"n\":1}"));
	SEND(launch, WARN, STR(code, "W1"), STR(message, "careful"), STR(context, "{\"n\":1}"));
	SEND(launch, META, STR(name, "extra"), STR(data, "[1]"));
	(void)!write(1, "stray\n", 6);
	if (launch->attempt == 1)
		SEND(launch, RESULT, INT(ok, 0), STR(code, "LOCKED"), STR(message, "busy"), STR(context, "{\"pid\":1}"));
	else
		SEND(launch, RESULT, INT(ok, 1), BYTES(data, large, sizeof(large)));
	return 0;
}

static void assert_bearable(void)
{
	const char *text = buf_cstr(&answer.out);

	if (exit_status() == 0) {
		assert_contains(text, "{\"ok\":true,\"data\":[\"xx");
		assert_true(answer.out.len > 300 << 10);
	} else {
		assert_contains(text, "{\"ok\":false,");
		assert_contains(text, "\"code\":\"RESOURCE_EXHAUSTED\"");
	}
}

/* Take away what it needs, one allocation more each time, until it needs none. */
static void starve(bool just_once)
{
	int64_t needed;

	setup.before = become_victim;
	once = just_once;
	memory_left = INT64_MAX;
	run_scenario(does_a_bit_of_everything);
	assert_int_equal(exit_status(), 0);
	needed = *asked;
	assert_true(needed > 20);
	for (int64_t n = 0; n <= needed; n++) {
		memory_left = n;
		run_scenario(does_a_bit_of_everything);
		assert_bearable();
	}
}

static void memory_that_runs_out_anywhere_leaves_one_valid_envelope(void **state UNUSED)
{
	starve(false);
}

static void one_allocation_that_fails_anywhere_leaves_one_valid_envelope(void **state UNUSED)
{
	starve(true);
}

/* --- processes and descriptors ------------------------------------------------------------------- */

static void a_fork_that_fails_is_resource_exhausted_and_touched_nothing(void **state UNUSED)
{
	setup.before = become_victim;
	forks_left = 0;
	assert_contains(assert_answer(does_a_bit_of_everything, 12, "RESOURCE_EXHAUSTED"), "\"side_effects\":\"none\"");
}

static void a_fork_that_fails_for_the_second_attempt_leaves_the_first_error(void **state UNUSED)
{
	setup.before = become_victim;
	forks_left = 1;
	assert_contains(assert_answer(does_a_bit_of_everything, 79, "LOCKED"), "\"RETRY_REJECTED\"");
}

static rlim_t descriptors;

static void limit_descriptors(void)
{
	struct rlimit limit = { descriptors, descriptors };

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void descriptors_that_run_out_anywhere_leave_one_valid_envelope(void **state UNUSED)
{
	int status = -1;

	setup.before = limit_descriptors;
	for (descriptors = 4; descriptors <= 32 && status != 0; descriptors++) {
		const char *text = run_scenario(does_a_bit_of_everything);

		status = exit_status();
		if (status != 0)
			assert_contains(text, "{\"ok\":false,\"data\":null,\"error\":{\"code\":\"RESOURCE_EXHAUSTED\"");
	}
	assert_int_equal(status, 0);
}

static int share_counter(void **state UNUSED)
{
	asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return asked == MAP_FAILED ? -1 : 0;
}

static int give_back(void **state)
{
	memory_left = forks_left = INT64_MAX;
	return reset_fixture(state);
}

/* A RESULT whose allocation number `nth` fails, and no other; one field holds JSON. */
static void check_lost_fragment(const struct frame *f, size_t offset, int64_t nth)
{
	struct report r;
	const struct buf *fragment = (const struct buf *)((char *)&r + offset);

	report_init(&r);
	memory_left = nth;
	once = true;
	become_victim();
	report_take_result(&r, f);
	victim = 0;
	if (fragment->len == 0)
		assert_string_equal(r.code, "RESOURCE_EXHAUSTED");
	else
		assert_string_equal(r.code, "CONFLICT");
	report_release(&r);
}

static void a_lost_fragment_of_a_failure_is_never_passed_over(void **state UNUSED)
{
	for (int64_t nth = 0; nth < 6; nth++) {
		check_lost_fragment(RECEIVED(RESULT, STR(code, "CONFLICT"), STR(errors, "[{}]")), offsetof(struct report, errors), nth);
		check_lost_fragment(RECEIVED(RESULT, STR(code, "CONFLICT"), STR(context, "{\"n\":1}")), offsetof(struct report, context), nth);
		check_lost_fragment(RECEIVED(RESULT, STR(code, "CONFLICT"), STR(redirect, "{\"n\":1}")), offsetof(struct report, redirect), nth);
		check_lost_fragment(RECEIVED(RESULT, STR(code, "CONFLICT"), STR(data, "{\"n\":1}")), offsetof(struct report, data), nth);
	}
	forget_frames();
}

#define TEST(f) cmocka_unit_test_teardown(f, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_that_runs_out_anywhere_leaves_one_valid_envelope),
		TEST(one_allocation_that_fails_anywhere_leaves_one_valid_envelope),
		TEST(a_lost_fragment_of_a_failure_is_never_passed_over),
		TEST(a_fork_that_fails_is_resource_exhausted_and_touched_nothing),
		TEST(a_fork_that_fails_for_the_second_attempt_leaves_the_first_error),
		TEST(descriptors_that_run_out_anywhere_leave_one_valid_envelope),
	};

	return cmocka_run_group_tests(tests, share_counter, NULL);
}
