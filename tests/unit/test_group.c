/*
 * test_group.c: where a group may be made, what is written into it, and that a
 * failure leaves nothing behind. Runs on a directory that looks like a cgroup: the
 * mkdir() below does the kernel's part: it fills a new group with its files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/engine/group.h"
#include "needs.h"

static char root[64];
static const char *const *new_files; /* NULL-ended: in each new group */
static int mistaken; /* that many new groups are removed at once, by somebody else */

static void put(const char *dir, const char *name, const char *text)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static const char *got(const char *dir, const char *name)
{
	static char text[200];
	char path[600];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* In place of libc's, for the code under test. */
int mkdir(const char *path, mode_t mode)
{
	int status;

	if (mistaken > 0) {
		mistaken--;
		return 0;
	}
	status = mkdirat(AT_FDCWD, path, mode);
	for (size_t i = 0; status == 0 && new_files && new_files[i]; i++)
		put(path, new_files[i], "usage_usec 0\n");
	return status;
}

/* A cgroup directory below the fake mount. */
static void make_cgroup(const char *path)
{
	char dir[200];

	snprintf(dir, sizeof(dir), "%s%s", root, path);
	assert_int_equal(mkdirat(AT_FDCWD, dir, 0755) == 0 || strcmp(path, "") == 0, 1);
	put(dir, "cgroup.procs", "");
	put(dir, "cgroup.subtree_control", "");
}

static int open_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test_group.XXXXXX");
	assert_non_null(mkdtemp(root));
	put(root, "cgroup.controllers", "memory pids\n");
	make_cgroup("");
	new_files = NULL;
	mistaken = 0;
	return 0;
}

static int close_root(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

/* --- where ------------------------------------------------------------------------ */

static void the_root_of_all_is_a_site_for_who_may_write_it(void **state)
{
	char site[GROUP_PATH];

	(void)state;
	assert_int_equal(group_site(site, root, "3:cpu:/x\n0::/\n"), 0);
	assert_string_equal(site, root);
}

static void another_cgroup_is_a_site_for_its_owner_only(void **state)
{
	char site[GROUP_PATH], expected[GROUP_PATH];
	int mine;

	(void)state;
	make_cgroup("/mine");
	snprintf(expected, sizeof(expected), "%s/mine", root);
	mine = group_site(site, root, "0::/mine\n");
	/* root may write everywhere: what it was not given is the system's */
	assert_int_equal(mine, geteuid() == 0 ? -1 : 0);
	if (mine == 0)
		assert_string_equal(site, expected);
}

static void the_group_of_an_outer_run_is_a_site_and_nothing_beside_it(void **state)
{
	char site[GROUP_PATH], expected[GROUP_PATH];

	(void)state;
	make_cgroup("/runner-outer");
	snprintf(expected, sizeof(expected), "%s/runner-outer", root);
	assert_int_equal(group_site(site, root, "0::/runner-outer\n"), 0);
	assert_string_equal(site, expected);
	snprintf(expected, sizeof(expected), "%s/runner-outer/cgroup.procs", root);
	unlink(expected);
	assert_int_equal(group_site(site, root, "0::/runner-outer\n"), -1);
}

static void there_is_no_site_without_cgroup_v2(void **state)
{
	static const char *const texts[] = { "", "3:memory:/\n", "0::/../beyond\n", "0::/gone\n", "10::/\n" };
	char site[GROUP_PATH];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(group_site(site, root, texts[i]), -1);
	assert_int_equal(group_site(site, "/nonexistent", "0::/\n"), -1);
}

/* --- making ----------------------------------------------------------------------- */

static const struct limits all = { .of = { [RESOURCE_MEMORY] = 64000000, [RESOURCE_CPU] = 1000,
                                           [RESOURCE_PROCESSES] = 32, [RESOURCE_OPEN_FILES] = 64 } };

static void a_group_with_every_controller_holds_all_but_open_files(void **state)
{
	static const char *const files[] = { "cgroup.procs", "memory.max", "memory.swap.max", "pids.max",
	                                     "cpu.stat", NULL };
	struct group g;
	struct mechanisms m = { { MECHANISM_NONE } };
	char max[32];

	(void)state;
	new_files = files;
	assert_int_equal(group_make(&g, root, "req_1", &all, &m), 0);
	snprintf(max, sizeof(max), "%lld", 64000000 + (long long)LIMITS_MEMORY_ROOM);
	assert_memory_equal(got(g.path, "memory.max"), max, strlen(max));
	assert_memory_equal(got(g.path, "memory.swap.max"), "0", 1);
	assert_memory_equal(got(g.path, "pids.max"), "33", 2); /* and the worker */
	assert_memory_equal(got(g.path, "cgroup.procs"), "0", 1);
	assert_int_equal(m.by[RESOURCE_MEMORY], MECHANISM_CGROUP);
	assert_int_equal(m.by[RESOURCE_CPU], MECHANISM_CGROUP);
	assert_int_equal(m.by[RESOURCE_PROCESSES], MECHANISM_CGROUP);
	assert_int_equal(m.by[RESOURCE_OPEN_FILES], MECHANISM_NONE);
}

static void controllers_that_are_missing_are_asked_for_and_not_claimed(void **state)
{
	static const char *const files[] = { "cgroup.procs", "cpu.stat", NULL };
	struct group g;
	struct mechanisms m = { { MECHANISM_NONE } };

	(void)state;
	new_files = files;
	assert_int_equal(group_make(&g, root, "req_1", &all, &m), 0);
	assert_memory_equal(got(root, "cgroup.subtree_control"), "+", 1);
	assert_int_equal(m.by[RESOURCE_MEMORY], MECHANISM_NONE);
	assert_int_equal(m.by[RESOURCE_PROCESSES], MECHANISM_NONE);
	assert_int_equal(m.by[RESOURCE_CPU], MECHANISM_CGROUP);
}

static void a_group_that_nobody_can_enter_is_removed(void **state)
{
	struct group g;
	struct mechanisms m = { { MECHANISM_NONE } };
	char path[100];

	(void)state;
	assert_int_equal(group_make(&g, root, "req_1", &all, &m), -1);
	assert_string_equal(g.path, "");
	assert_int_equal(m.by[RESOURCE_CPU], MECHANISM_NONE);
	snprintf(path, sizeof(path), "%s/runner-req_1", root);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_group_that_another_run_mistakes_for_a_leftover_is_made_again(void **state)
{
	static const char *const files[] = { "cgroup.procs", "cpu.stat", NULL };
	struct group g;
	struct mechanisms m = { { MECHANISM_NONE } };

	(void)state;
	new_files = files;
	mistaken = 2;
	assert_int_equal(group_make(&g, root, "req_1", &all, &m), 0);
	assert_memory_equal(got(g.path, "cgroup.procs"), "0", 1);
	assert_int_equal(m.by[RESOURCE_CPU], MECHANISM_CGROUP);
}

static void empty_groups_of_crashed_runs_are_removed_and_others_stay(void **state)
{
	static const char *const files[] = { "cgroup.procs", NULL };
	struct group g;
	struct mechanisms m = { { MECHANISM_NONE } };
	char path[100];
	int hold;

	(void)state;
	make_cgroup("/runner-in-use");
	snprintf(path, sizeof(path), "%s/runner-req_0", root); /* its supervisor reads what it did */
	mkdir(path, 0755);
	strcpy(g.path, path);
	hold = group_hold(&g);
	assert_true(hold >= 0);
	snprintf(path, sizeof(path), "%s/somebody-else", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/runner-old", root);
	mkdir(path, 0755);
	strcat(path, "/runner-nested");
	mkdir(path, 0755);
	new_files = files;
	assert_int_equal(group_make(&g, root, "req_1", &all, &m), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/runner-in-use", root);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/somebody-else", root);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/runner-req_0", root);
	assert_int_equal(access(path, F_OK), 0);
	close(hold);
	assert_int_equal(group_make(&g, root, "req_2", &all, &m), 0);
	assert_int_equal(access(path, F_OK), -1);
}

/* --- using ------------------------------------------------------------------------ */

static void numbers_are_found_by_their_whole_key(void **state)
{
	struct group g;

	(void)state;
	make_cgroup("/runner-req_1");
	assert_int_equal(group_find(&g, root, "req_1"), 0);
	put(g.path, "memory.events", "low 1\noom 2\noom_kill 3\noom_group_kill 4\n");
	put(g.path, "cpu.stat", "usage_usec 5000001\nuser_usec 1\n");
	assert_int_equal(group_number(&g, "memory.events", "oom_kill"), 3);
	assert_int_equal(group_number(&g, "memory.events", "low"), 1);
	assert_int_equal(group_number(&g, "memory.events", "kill"), -1);
	assert_int_equal(group_number(&g, "memory.events", "oo"), -1);
	assert_int_equal(group_number(&g, "memory.events", "oom_group"), -1);
	assert_int_equal(group_number(&g, "pids.events", "max"), -1);
	assert_int_equal(group_cpu_us(&g), 5000001);
	put(g.path, "cgroup.kill", "");
	assert_int_equal(group_kill(&g), 0);
	assert_string_equal(got(g.path, "cgroup.kill"), "1");
}

static void having_no_group_is_not_an_error(void **state)
{
	struct group none = { "" };

	(void)state;
	assert_int_equal(group_find(&none, root, "req_2"), -1);
	assert_int_equal(group_cpu_us(&none), -1);
	assert_int_equal(group_kill(&none), -1);
	assert_int_equal(group_remove(&none), 0);
}

static void a_group_goes_with_the_empty_ones_in_it_but_not_while_in_use(void **state)
{
	struct group g;
	char path[GROUP_PATH + 32];

	(void)state;
	make_cgroup("/runner-req_1");
	assert_int_equal(group_find(&g, root, "req_1"), 0);
	assert_int_equal(group_remove(&g), -1);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", g.path, i ? "cgroup.procs" : "cgroup.subtree_control");
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/runner-inner", g.path);
	mkdir(path, 0755);
	assert_int_equal(group_remove(&g), 0);
	assert_string_equal(g.path, "");
}

/* The kernel's own, where this process has a cgroup to make groups in. */
static void a_real_group_counts_and_kills_its_processes(void **state)
{
	const struct limits l = { .of = { [RESOURCE_CPU] = 1000 } };
	struct mechanisms m = { { MECHANISM_NONE } };
	struct group g;
	char site[GROUP_PATH], name[32];
	int status;
	pid_t pid;

	(void)state;
	if (group_site_here(site) < 0)
		NEEDS("a cgroup v2 that we may make groups in");
	snprintf(name, sizeof(name), "test_%d", (int)getpid());
	pid = fork();
	if (pid == 0) {
		if (group_make(&g, site, name, &l, &m) < 0)
			_exit(1);
		for (;;)
			;
	}
	for (int i = 0; i < 2000 && group_find(&g, site, name) < 0; i++)
		usleep(1000);
	for (int i = 0; i < 2000 && group_cpu_us(&g) < 10000; i++)
		usleep(1000);
	assert_true(group_cpu_us(&g) >= 10000);
	assert_int_equal(group_remove(&g), -1);
	assert_int_equal(group_kill(&g), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	for (int i = 0; i < 1000 && group_remove(&g) < 0; i++)
		usleep(1000);
	assert_string_equal(g.path, "");
}

#define in_root(test) cmocka_unit_test_setup_teardown(test, open_root, close_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_root(the_root_of_all_is_a_site_for_who_may_write_it),
		in_root(another_cgroup_is_a_site_for_its_owner_only),
		in_root(the_group_of_an_outer_run_is_a_site_and_nothing_beside_it),
		in_root(there_is_no_site_without_cgroup_v2),
		in_root(a_group_with_every_controller_holds_all_but_open_files),
		in_root(controllers_that_are_missing_are_asked_for_and_not_claimed),
		in_root(a_group_that_nobody_can_enter_is_removed),
		in_root(a_group_that_another_run_mistakes_for_a_leftover_is_made_again),
		in_root(empty_groups_of_crashed_runs_are_removed_and_others_stay),
		in_root(numbers_are_found_by_their_whole_key),
		in_root(having_no_group_is_not_an_error),
		in_root(a_group_goes_with_the_empty_ones_in_it_but_not_while_in_use),
		cmocka_unit_test(a_real_group_counts_and_kills_its_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
