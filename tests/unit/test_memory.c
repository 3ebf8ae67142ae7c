/* test_memory.c: the allocator of the Lua state (src/worker/memory.c), whose own state is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/worker/memory.c"

#define BLOCKS 20000
#define MIB ((size_t)1 << 20)

struct held {
	unsigned char *at;
	size_t n;
};

static uint32_t random_state = 1;

static uint32_t any(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % below;
}

/* Mostly small, as Lua's are; some beyond the pool's largest. */
static size_t any_size(void)
{
	return 1 + any(any(8) ? 200 : 3 * SMALL_MAX);
}

static unsigned char mark(size_t i)
{
	return (unsigned char)(i * 7 + 1);
}

static void fill(struct held *h, size_t i)
{
	memset(h->at, mark(i), h->n);
}

/* Nobody else wrote into the first n bytes. */
static void check(const struct held *h, size_t i, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (h->at[k] != mark(i))
			fail_msg("byte %zu of block %zu changed", k, i);
}

/* Each test has the state of a new process: 0, or 1 when it failed. */
static void in_process(void (*test)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		memory_init(false);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void change(struct held *h, size_t i)
{
	size_t n = any(4) ? any_size() : 0, was = h->n;

	if (was)
		check(h, i, was);
	h->at = memory_alloc(NULL, h->at, h->at ? was : 5, n);
	h->n = n;
	assert_true((h->at != NULL) == (n != 0));
	if (was && n)
		check(h, i, MIN_OF(was, n));
	if (n)
		fill(h, i);
}

static void blocks_keep_what_they_hold(void)
{
	static struct held all[BLOCKS];
	size_t sum = 0, before = used;

	for (size_t i = 0; i < 5 * BLOCKS; i++) {
		size_t at = any(BLOCKS);

		change(&all[at], at);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		sum += all[i].n;
	assert_int_equal(used - before, sum);
	for (size_t i = 0; i < BLOCKS; i++)
		memory_alloc(NULL, all[i].at, all[i].n, 0);
	assert_int_equal(used, before);
}

/* How many blocks of n bytes the limit allows; all are freed again. */
static size_t until_refused(size_t n)
{
	struct link {
		struct link *next;
	} *last = NULL, *block;
	size_t count = 0;

	while ((block = memory_alloc(NULL, NULL, 4, n)) != NULL) {
		block->next = last;
		last = block;
		count++;
	}
	for (; last; last = block) {
		block = last->next;
		memory_alloc(NULL, last, n, 0);
	}
	return count;
}

static void the_limit_counts_what_lua_asked_for(void)
{
	memory_set_limit(8 * MIB);
	for (size_t n = 8; n <= 2 * SMALL_MAX; n = n * 3 / 2 + 1) {
		assert_int_equal(until_refused(n), 8 * MIB / n);
		assert_int_equal(used, 0);
	}
}

/* Blocks of one size are not those of another, but what was freed is not kept without bound. */
static void the_pool_is_bounded_by_what_lua_held(void)
{
	limit = 8 * MIB;
	for (size_t n = 16; n <= SMALL_MAX; n += 144)
		assert_int_equal(until_refused(n), 8 * MIB / n);
	assert_true(grown <= 12 * MIB + 2 * GROWING_SLACK);
#ifndef __SANITIZE_ADDRESS__
	assert_true(grown >= 8 * MIB);
#endif
}

/* What it keeps for one size isn't there for another, and the kernel counts both. */
static void under_a_declared_limit_little_is_kept(void)
{
	memory_set_limit(8 * MIB);
	assert_int_equal(until_refused(40), 8 * MIB / 40);
	assert_true(grown <= GROWING_SLACK + 2 * GROWING_STEP);
}

static void a_fork_has_blocks_of_its_own(void)
{
	struct held parents = { memory_alloc(NULL, NULL, 4, 100), 100 };
	int status;
	pid_t pid;

	until_refused(3000);
	fill(&parents, 1);
	pid = fork();
	if (pid == 0) {
		memory_unshare();
		fill(&parents, 2);
		blocks_keep_what_they_hold();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	check(&parents, 1, parents.n);
	memory_alloc(NULL, parents.at, parents.n, 0);
}

#ifndef __SANITIZE_ADDRESS__
static void limit_to(int which, size_t bytes)
{
	struct rlimit l = { bytes, bytes };

	assert_int_equal(setrlimit((__typeof__(RLIMIT_AS))which, &l), 0);
}

/* Addresses are left for others: malloc serves what doesn't fit. */
static void a_limit_of_addresses_leaves_them_to_others(void)
{
	limit_to(RLIMIT_AS, 200 * MIB);
	memory_set_limit(8 * MIB);
	assert_int_equal(until_refused(40), 8 * MIB / 40);
	assert_null(growing.start);
}

/* The kernel refuses before Lua's limit is reached (valgrind's doesn't): that is no crash, and all is freed. */
static void the_kernel_may_refuse(void)
{
	limit_to(RLIMIT_DATA, 32 * MIB);
	memory_set_limit(48 * MIB);
	assert_in_range(until_refused(40), 16 * MIB / 40, 48 * MIB / 40);
	assert_int_equal(used, 0);
	assert_in_range(until_refused(40), 16 * MIB / 40, 48 * MIB / 40);
}
#endif

#define TEST(name)                         \
	static void test_##name(void **unused) \
	{                                  \
		(void)unused;              \
		in_process(name);          \
	}

TEST(blocks_keep_what_they_hold)
TEST(the_limit_counts_what_lua_asked_for)
TEST(the_pool_is_bounded_by_what_lua_held)
TEST(under_a_declared_limit_little_is_kept)
TEST(a_fork_has_blocks_of_its_own)
#ifndef __SANITIZE_ADDRESS__
TEST(a_limit_of_addresses_leaves_them_to_others)
TEST(the_kernel_may_refuse)
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_keep_what_they_hold),
		cmocka_unit_test(test_the_limit_counts_what_lua_asked_for),
		cmocka_unit_test(test_the_pool_is_bounded_by_what_lua_held),
		cmocka_unit_test(test_under_a_declared_limit_little_is_kept),
		cmocka_unit_test(test_a_fork_has_blocks_of_its_own),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_a_limit_of_addresses_leaves_them_to_others),
		cmocka_unit_test(test_the_kernel_may_refuse),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
