/*
 * test_confine.c: what each version of Landlock is asked for, whatever kernel runs this test.
 * The numbers are those of <linux/landlock.h>, written out so that a wrong one is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "../../src/engine/confine.h"

#define READ 0x000dULL        /* execute, read_file, read_dir */
#define CHANGE_1 0x17b2ULL    /* write_file, remove_*, make_* without devices */
#define DEVICES 0x0840ULL     /* make_char, make_block */
#define REFER 0x2000ULL
#define TRUNCATE 0x4000ULL
#define IOCTL_DEV 0x8000ULL

static const struct confine all = { true, true, true };
static const struct confine write_only = { .write = true }, read_only = { .read = true };
static const struct confine network_only = { .network = true }, nothing = { 0 };

static struct confine_masks masks_of(int abi, const struct confine *what)
{
	struct confine_masks m;

	confine_masks(abi, what, &m);
	return m;
}

static void without_landlock_nothing_is_asked_for(void **state)
{
	struct confine_masks m = masks_of(0, &all);

	(void)state;
	assert_true(m.handled_fs == 0 && m.handled_net == 0 && m.scoped == 0 && m.give_write == 0 && m.give_read == 0);
	assert_int_equal(confine_open(0, &m), -1);
	assert_int_equal(errno, ENOMSG);
}

static void each_version_handles_what_it_knows(void **state)
{
	static const struct {
		int abi;
		uint64_t fs, net, scoped;
	} rows[] = {
		{ 1, READ | CHANGE_1 | DEVICES, 0, 0 },
		{ 2, READ | CHANGE_1 | DEVICES | REFER, 0, 0 },
		{ 3, READ | CHANGE_1 | DEVICES | REFER | TRUNCATE, 0, 0 },
		{ 4, READ | CHANGE_1 | DEVICES | REFER | TRUNCATE, 3, 0 },
		{ 5, READ | CHANGE_1 | DEVICES | REFER | TRUNCATE | IOCTL_DEV, 3, 0 },
		{ 6, READ | CHANGE_1 | DEVICES | REFER | TRUNCATE | IOCTL_DEV, 3, 3 },
		{ 99, READ | CHANGE_1 | DEVICES | REFER | TRUNCATE | IOCTL_DEV, 3, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct confine_masks m = masks_of(rows[i].abi, &all);

		assert_true(m.handled_fs == rows[i].fs);
		assert_true(m.handled_net == rows[i].net);
		assert_true(m.scoped == rows[i].scoped);
	}
}

static void what_is_given_back_is_handled_and_never_a_device(void **state)
{
	(void)state;
	for (int abi = 1; abi <= 7; abi++) {
		struct confine_masks m = masks_of(abi, &all);

		assert_true((m.give_write & ~m.handled_fs) == 0 && (m.give_read & ~m.handled_fs) == 0);
		assert_true((m.give_write & DEVICES) == 0);
		assert_true(m.give_lock == ((0x4 | 0x102 | (abi >= 3 ? TRUNCATE : 0))));
		assert_true(m.give_read == READ);
		assert_true((m.give_write & READ) == READ);
	}
}

static void one_bound_leaves_the_others_alone(void **state)
{
	struct confine_masks m = masks_of(5, &write_only);

	(void)state;
	assert_true((m.handled_fs & READ) == 0 && m.give_read == 0 && m.handled_net == 0 && m.give_root == 0);
	m = masks_of(6, &read_only);
	assert_true(m.handled_fs == (READ | REFER) && m.give_write == READ && m.handled_net == 0);
	assert_true(m.scoped == 2);
}

/* A ruleset forbids to link between directories by itself. */
static void links_between_directories_stay_where_writing_is_not_confined(void **state)
{
	(void)state;
	assert_true(masks_of(4, &network_only).handled_fs == REFER);
	assert_true(masks_of(4, &network_only).give_root == REFER);
	assert_true(masks_of(2, &read_only).give_root == REFER);
	assert_true(masks_of(1, &read_only).give_root == 0);
	assert_true(masks_of(3, &write_only).give_root == 0);
}

/* A ruleset must handle something, and what it gives back at "/" it does not confine. */
static void there_is_a_ruleset_that_confines_no_more_than_tracing(void **state)
{
	(void)state;
	for (int abi = 1; abi <= 7; abi++) {
		struct confine_masks m = masks_of(abi, &nothing);

		assert_true(m.handled_fs != 0 && m.handled_fs == m.give_root && m.handled_net == 0);
	}
	assert_true(masks_of(1, &network_only).give_root == masks_of(1, &network_only).handled_fs);
	assert_true(masks_of(3, &network_only).handled_fs == REFER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_landlock_nothing_is_asked_for),
		cmocka_unit_test(each_version_handles_what_it_knows),
		cmocka_unit_test(what_is_given_back_is_handled_and_never_a_device),
		cmocka_unit_test(one_bound_leaves_the_others_alone),
		cmocka_unit_test(links_between_directories_stay_where_writing_is_not_confined),
		cmocka_unit_test(there_is_a_ruleset_that_confines_no_more_than_tracing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
