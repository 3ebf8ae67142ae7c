/*
 * test_way.c: the way to a path goes through links and mounts that only the caller or root can have made, and
 * ends where another user could have put something else: with openat2(2), without it, and where a filter hides it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/way.h"
#include "../../src/common/xio.h"
#include "needs.h"

#define OTHER 65533

static char stage[] = "/tmp/way-XXXXXX";
static int no_openat2; /* why it fails, or 0 */
static bool no_statx;

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (no_openat2 && number == SYS_openat2)
		return errno = no_openat2, -1;
	if (no_statx && number == SYS_statx)
		return errno = ENOSYS, -1;
	return __real_syscall(number, a, b, c, d, e);
}

/* --- the stage ------------------------------------------------------------------------ */

static int start(void **state UNUSED)
{
	strcpy(stage + strlen(stage) - 6, "XXXXXX");
	return mkdtemp(stage) && chdir(stage) == 0 && system("mkdir -p a/b/c other; echo x >a/b/c/entry; echo y >file") == 0 ? 0 : -1;
}

static int finish(void **state UNUSED)
{
	char command[64];

	unsetenv("RUNNER_TRUST");
	while (umount2("a/b", MNT_DETACH) == 0)
		;
	snprintf(command, sizeof(command), "rm -rf %s", stage);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static const char *in_stage(const char *path)
{
	static char text[PATH_MAX];

	snprintf(text, sizeof(text), "%s/%s", stage, path);
	return text;
}

/* It leads to the folder that is at `folder` now. */
static void leads_to(const char *folder, const char *path)
{
	struct way w = WAY_INIT;
	struct stat found, wanted;

	assert_int_equal(way_open(&w, path, 0), 0);
	assert_int_equal(fstat(w.dir, &found), 0);
	assert_int_equal(stat(folder, &wanted), 0);
	assert_int_equal(found.st_ino, wanted.st_ino);
	assert_int_equal(found.st_dev, wanted.st_dev);
	xclose(&w.dir);
}

static void fails(int number, const char *path)
{
	struct way w = WAY_INIT;

	assert_int_equal(way_open(&w, path, 0), -1);
	assert_int_equal(errno, number);
	assert_int_equal(w.dir, -1);
	assert_string_equal(w.refused, "");
}

static void refuses_one(const char *path, const char *why)
{
	struct way w = WAY_INIT;

	assert_int_equal(way_open(&w, path, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(w.dir, -1);
	if (!strstr(w.refused, why))
		fail_msg("'%s' isn't in '%s'", why, w.refused);
}

/* Whatever the kernel has. */
static void refuses(const char *path, const char *why)
{
	static const int without[] = { 0, ENOSYS, EPERM };

	for (size_t i = 0; i < 2 * ARRAY_LEN(without); i++) {
		no_openat2 = without[i / 2];
		no_statx = i % 2 == 1;
		refuses_one(path, why);
	}
	no_openat2 = 0;
	no_statx = false;
}

static bool is_root(void)
{
	return geteuid() == 0;
}

static void belongs_to_another(const char *path)
{
	assert_int_equal(lchown(path, OTHER, OTHER), 0);
}

/* --- where it leads --------------------------------------------------------------------- */

static void a_path_is_followed_whatever_it_looks_like(void **state UNUSED)
{
	leads_to("a/b/c", "a/b/c/entry");
	leads_to("a/b/c", "./a//b/./c/nothing");
	leads_to("a/b", "a/b/c/../c");
	leads_to("a/b/c", in_stage("a/b/c/entry"));
	leads_to(".", "entry");
	leads_to("/", "/entry");
	leads_to("/", "/");
	assert_int_equal(chdir("/"), 0);
	char *folder = strdup(in_stage("a/b/c"));
	leads_to(folder, in_stage("a/b/c/entry"));
	free(folder);
	assert_int_equal(chdir(stage), 0);
	fails(ENOENT, "a/none/entry");
	fails(ENOTDIR, "file/entry");
}

static void our_links_and_roots_are_followed_but_not_the_last_part(void **state UNUSED)
{
	assert_int_equal(symlink("a/b", "relative"), 0);
	assert_int_equal(symlink(in_stage("relative/c"), "absolute"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(symlink("../../relative", "a/b/up"), 0);
	leads_to("a/b", "relative/entry");
	leads_to("a/b/c", "absolute/entry");
	leads_to("a/b", "a/b/up/entry");
	leads_to(".", "absolute");
	leads_to("/proc", "/proc/self");
	fails(ELOOP, "loop/entry");
}

static void a_mount_on_the_way_is_passed(void **state UNUSED)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0)
		NEEDS("a namespace to mount in");
	assert_int_equal(mkdir("other/c", 0700), 0);
	assert_int_equal(mount("other", "a/b", "none", MS_BIND, NULL), 0);
	leads_to("other/c", "a/b/c/entry");
	assert_int_equal(chmod("a", 01777), 0);
	refuses("a/b/c/entry", "/a/b: it is a mount in a folder that others may write to");
}

static void missing_folders_are_made(void **state UNUSED)
{
	struct way w = WAY_INIT;
	struct stat st;

	assert_int_equal(way_open(&w, "new/deep/entry", 0700), 0);
	assert_int_equal(stat("new/deep", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(w.name, "entry");
	xclose(&w.dir);
}

/* --- what another user could change ----------------------------------------------------- */

static void a_folder_for_all_is_refused_unless_it_is_sticky(void **state UNUSED)
{
	assert_int_equal(chmod("a/b", 0777), 0);
	refuses("a/b/c/entry", "/a/b: it is world-writable; others could put something else in the way: chmod o-w or +t");
	refuses(in_stage("a/b/c"), "world-writable");
	assert_int_equal(chmod("a/b", 01777), 0);
	leads_to("a/b/c", "a/b/c/entry");
	no_openat2 = ENOSYS;
	leads_to("a/b/c", "a/b/c/entry");
	no_statx = true;
	leads_to("a/b/c", "a/b/c/entry"); /* as Linux 5.5 has it */
	no_openat2 = 0;
	assert_int_equal(chmod(".", 0777), 0);
	refuses("entry", "world-writable");
}

static void in_a_sticky_folder_no_link_is_followed(void **state UNUSED)
{
	assert_int_equal(chmod("a", 01777), 0);
	assert_int_equal(symlink("b", "a/ours"), 0);
	refuses("a/ours/c/entry", "/a/ours: it is a link in a folder that others may write to; name what it leads to");
}

static void another_users_folder_link_and_entry_are_refused(void **state UNUSED)
{
	if (!is_root())
		NEEDS("root");
	assert_int_equal(symlink("b", "a/theirs"), 0);
	belongs_to_another("a/theirs");
	refuses("a/theirs/c/entry", "/a/theirs: it is another user's link");
	belongs_to_another("a/b/c/entry");
	leads_to("a/b/c", "a/b/c/entry"); /* where only we can have put it */
	assert_int_equal(chmod("a/b/c", 01777), 0);
	refuses("a/b/c/entry", "/a/b/c/entry: it is owned by neither you nor root, but by user 65533");
	belongs_to_another("a/b");
	refuses("a/b/c/entry", "/a/b: it is owned by neither you nor root, but by user 65533");
}

static void whom_runner_trust_names_is_as_good_as_the_caller(void **state UNUSED)
{
	if (!is_root())
		NEEDS("root");
	belongs_to_another("a");
	belongs_to_another("a/b");
	assert_int_equal(setenv("RUNNER_TRUST", in_stage("a"), 1), 0);
	leads_to("a/b/c", "a/b/c/entry");
	belongs_to_another("other");
	refuses("other/entry", "neither you nor root");
	refuses("a/../other/entry", "neither you nor root");
}

static void nothing_is_made_where_others_could_change_it(void **state UNUSED)
{
	struct way w = WAY_INIT;

	assert_int_equal(chmod("a", 0777), 0);
	assert_int_equal(way_open(&w, "a/new/entry", 0700), -1);
	assert_int_equal(access("a/new", F_OK), -1); /* nothing is made there either */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, finish)
	const struct CMUnitTest tests[] = {
		TEST(a_path_is_followed_whatever_it_looks_like),
		TEST(our_links_and_roots_are_followed_but_not_the_last_part),
		TEST(a_mount_on_the_way_is_passed),
		TEST(missing_folders_are_made),
		TEST(a_folder_for_all_is_refused_unless_it_is_sticky),
		TEST(in_a_sticky_folder_no_link_is_followed),
		TEST(another_users_folder_link_and_entry_are_refused),
		TEST(whom_runner_trust_names_is_as_good_as_the_caller),
		TEST(nothing_is_made_where_others_could_change_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
