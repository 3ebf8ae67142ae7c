/*
 * test_remover.c: a tree is removed whatever it looks like, and nothing else is:
 * not through a mount, not through a link. The mounts are made in a mount namespace
 * of the test's own.
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/common/remover.h"
#include "../../src/common/xio.h"
#include "needs.h"

static char stage[] = "/tmp/remover-XXXXXX";

/* --- what may go wrong below ------------------------------------------------------ */

static bool hide_openat2, hide_statx;
static int refill; /* that many times, somebody adds to a directory that is to go */
static const int *move_errors; /* why the next moves fail; ends with 0 */
static int moves;              /* how often one was tried */

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __real_renameat(int from, const char *name, int to, const char *new_name);
int __wrap_renameat(int from, const char *name, int to, const char *new_name);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if ((hide_openat2 && number == SYS_openat2) || (hide_statx && number == SYS_statx))
		return errno = ENOSYS, -1;
	return __real_syscall(number, a, b, c, d, e);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
	char added[300];
	int fd;

	if ((flags & AT_REMOVEDIR) && refill > 0) {
		refill--;
		snprintf(added, sizeof(added), "%.255s/added", name);
		fd = openat(dir, added, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		xclose(&fd);
	}
	return __real_unlinkat(dir, name, flags);
}

int __wrap_renameat(int from, const char *name, int to, const char *new_name)
{
	moves++;
	if (move_errors && *move_errors)
		return errno = *move_errors++, -1;
	return __real_renameat(from, name, to, new_name);
}

/* --- the stage ---------------------------------------------------------------------- */

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	xclose(&fd);
}

static void make_dir(const char *path)
{
	assert_int_equal(mkdir(path, 0700), 0);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void become_root_again(void)
{
	if (getuid() == 65534)
		assert_int_equal(setresuid(0, 0, 0), 0);
}

static int start(void **state UNUSED)
{
	hide_openat2 = hide_statx = false;
	refill = 0;
	move_errors = NULL;
	strcpy(stage + strlen(stage) - 6, "XXXXXX");
	return mkdtemp(stage) && chdir(stage) == 0 ? 0 : -1;
}

static int finish(void **state UNUSED)
{
	struct removal r = REMOVAL_INIT;
	int status;

	become_root_again();
	(void)!chown(stage, geteuid(), getegid()); /* root leaves what is another user's in /tmp */
	while (umount2("t/m", MNT_DETACH) == 0)
		;
	hide_openat2 = hide_statx = false;
	refill = 0;
	move_errors = NULL;
	status = chdir("/") == 0 ? remover_remove(&r, stage) : -1;
	buf_release(&r.left);
	return status;
}

static void removes(const char *path)
{
	struct removal r = REMOVAL_INIT;

	assert_int_equal(remover_remove(&r, path), 0);
	assert_int_equal(r.left_count, 0);
	assert_int_equal(r.left.len, 0);
	assert_false(is_there(path));
	buf_release(&r.left);
}

static void leaves(const char *path, const char *first, int reason, int64_t count)
{
	struct removal r = REMOVAL_INIT;

	assert_int_equal(remover_remove(&r, path), -1);
	assert_int_equal(errno, reason);
	assert_int_equal(r.reason, reason);
	assert_string_equal(buf_cstr(&r.left), first);
	assert_int_equal(r.left_count, count);
	buf_release(&r.left);
}

/* A victim outside of the tree, for links and mounts. */
static void make_victim(void)
{
	make_dir("victim");
	make_file("victim/precious");
	assert_int_equal(chmod("victim", 0500), 0);
}

static void victim_is_whole(void)
{
	struct stat st;

	assert_true(is_there("victim/precious"));
	assert_int_equal(stat("victim", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0500);
	assert_int_equal(chmod("victim", 0700), 0);
}

static bool has_mounts(void)
{
	static int can = -1;

	if (can < 0)
		can = unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
	return can;
}

/* As an ordinary user: root may write everywhere. */
static void become_user(void)
{
	if (geteuid() == 0) {
		assert_int_equal(chown(stage, 65534, 65534), 0);
		assert_int_equal(setresuid(65534, 65534, 0), 0);
	}
}

/* --- whatever it looks like --------------------------------------------------------- */

static void what_is_there_goes(void **state UNUSED)
{
	make_file("f");
	removes("f");
	make_dir("t");
	make_dir("t/a");
	make_file("t/a/f");
	assert_int_equal(mkfifo("t/p", 0600), 0);
	assert_int_equal(symlink("/nonexistent", "t/l"), 0);
	removes("t//");
	removes("nothing");
	removes("nothing/below/nothing");
}

static void what_must_never_go_is_refused(void **state UNUSED)
{
	static const char *const refused[] = { "/", "//", ".", "..", "t/.", "t/..", "t/../", "" };

	make_dir("t");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct removal r = REMOVAL_INIT;

		assert_int_equal(remover_remove(&r, refused[i]), -1);
		assert_int_equal(errno, EINVAL);
		buf_release(&r.left);
	}
	assert_true(is_there("t"));
}

static void links_are_removed_not_followed(void **state UNUSED)
{
	make_victim();
	make_dir("t");
	assert_int_equal(symlink("../victim", "t/l"), 0);
	assert_int_equal(symlink("victim", "top"), 0);
	removes("t");
	removes("top/");
	victim_is_whole();
}

static void directories_that_may_not_be_written_go_as_well(void **state UNUSED)
{
	become_user();
	make_dir("t");
	make_dir("t/closed");
	make_dir("t/closed/inner");
	make_file("t/closed/inner/f");
	assert_int_equal(chmod("t/closed/inner", 0000), 0);
	assert_int_equal(chmod("t/closed", 0500), 0);
	assert_int_equal(chmod("t", 0400), 0);
	removes("t");
}

static void the_directory_around_the_tree_keeps_its_mode(void **state UNUSED)
{
	struct stat st;

	become_user();
	make_dir("around");
	make_dir("around/t");
	make_file("around/t/f");
	assert_int_equal(chmod("around", 0500), 0);
	leaves("around/t", "around/t", EACCES, 1);
	assert_int_equal(stat("around", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0500);
	assert_int_equal(chmod("around", 0700), 0);
}

static void make_chain(int depth)
{
	make_dir("t");
	assert_int_equal(chdir("t"), 0);
	for (int i = 0; i < depth; i++) {
		make_dir("d");
		if (i % 500 == 0)
			make_file("f");
		assert_int_equal(chdir("d"), 0);
	}
	assert_int_equal(chdir(stage), 0);
}

static void depth_has_no_limit(void **state UNUSED)
{
	make_chain(20000);
	removes("t");
}

/* File systems say it differently: XFS EEXIST, ext4 ENOTEMPTY. */
static void a_deep_directory_is_moved_to_a_name_that_is_free(void **state UNUSED)
{
	static const int taken[] = { EEXIST, ENOTEMPTY, ENOTDIR, 0 };

	make_chain(80);
	move_errors = taken;
	removes("t");
	assert_int_equal(*move_errors, 0);
}

static void a_deep_directory_that_cannot_be_moved_is_named_and_not_tried_again(void **state UNUSED)
{
	static const int broken[] = { EIO, 0 };
	struct removal r = REMOVAL_INIT;

	make_chain(40);
	move_errors = broken;
	moves = 0;
	assert_int_equal(remover_remove(&r, "t"), -1);
	assert_int_equal(r.reason, EIO);
	assert_int_equal(moves, 1);
	buf_release(&r.left);
}

static void a_deep_tree_that_may_not_be_written_goes(void **state UNUSED)
{
	become_user();
	make_chain(80);
	assert_int_equal(system("find t -depth -type d -exec chmod 500 {} +"), 0);
	removes("t");
}

static void a_few_descriptors_are_enough(void **state UNUSED)
{
	struct rlimit before, few = { 8, 8 };
	int fd = dup(0);

	assert_true(fd >= 0);
	few.rlim_cur = (rlim_t)fd + 4;
	close(fd);
	make_chain(200);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	removes("t");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* --- somebody else is at work --------------------------------------------------------- */

static void a_directory_that_is_filled_meanwhile_goes(void **state UNUSED)
{
	make_dir("t");
	make_dir("t/a");
	refill = 10;
	removes("t");
	assert_int_equal(refill, 0);
}

static void a_directory_that_never_stays_empty_is_named(void **state UNUSED)
{
	make_dir("t");
	make_dir("t/a");
	refill = 1 << 20;
	leaves("t", "t/a", ENOTEMPTY, 1);
	assert_true(refill > (1 << 20) - 100);
}

static void the_deadline_ends_it(void **state UNUSED)
{
	struct removal r = REMOVAL_INIT;

	make_dir("t");
	make_file("t/f");
	r.deadline = mono_now() - 1;
	assert_int_equal(remover_remove(&r, "t"), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(r.left_count, 1);
	assert_true(is_there("t/f"));
	buf_release(&r.left);
}

static int asked;

static bool stop_at_the_third(void)
{
	return ++asked >= 3;
}

static void a_cancelled_removal_stops(void **state UNUSED)
{
	struct removal r = REMOVAL_INIT;

	make_dir("t");
	make_dir("t/a");
	make_file("t/a/f");
	r.stop = stop_at_the_third;
	asked = 0;
	assert_int_equal(remover_remove(&r, "t"), -1);
	assert_int_equal(errno, ECANCELED);
	assert_string_equal(buf_cstr(&r.left), "t/a/f");
	assert_int_equal(asked, 3);
	buf_release(&r.left);
}

/* --- mounts ------------------------------------------------------------------------------- */

/* Everything but the mount goes, and what it shows stays. */
static void check_mount_in_tree(void)
{
	make_dir("t");
	make_dir("t/m");
	make_file("t/before");
	make_file("t/z");
	assert_int_equal(mount("victim", "t/m", "none", MS_BIND, NULL), 0);
	leaves("t", "t/m", EBUSY, 1);
	assert_false(is_there("t/before"));
	assert_false(is_there("t/z"));
	assert_int_equal(umount2("t/m", MNT_DETACH), 0);
	removes("t");
}

static void a_bind_mount_is_not_entered(void **state UNUSED)
{
	if (!has_mounts())
		NEEDS("a namespace to mount in");
	make_victim();
	check_mount_in_tree();
	victim_is_whole();
}

static void a_bind_mount_is_not_entered_without_openat2(void **state UNUSED)
{
	if (!has_mounts())
		NEEDS("a namespace to mount in");
	hide_openat2 = true;
	make_victim();
	check_mount_in_tree();
	victim_is_whole();
}

static void a_bind_mount_is_not_entered_on_an_old_kernel(void **state UNUSED)
{
	if (!has_mounts())
		NEEDS("a namespace to mount in");
	hide_openat2 = hide_statx = true;
	make_victim();
	check_mount_in_tree();
	victim_is_whole();
}

static void a_mount_of_another_file_system_is_not_entered(void **state UNUSED)
{
	if (!has_mounts())
		NEEDS("a namespace to mount in");
	make_dir("t");
	make_dir("t/m");
	assert_int_equal(mount("none", "t/m", "tmpfs", 0, NULL), 0);
	make_file("t/m/precious");
	leaves("t", "t/m", EBUSY, 1);
	assert_true(is_there("t/m/precious"));
}

static void a_file_that_is_mounted_stays(void **state UNUSED)
{
	if (!has_mounts())
		NEEDS("a namespace to mount in");
	make_file("victim");
	make_dir("t");
	make_file("t/m");
	assert_int_equal(mount("victim", "t/m", "none", MS_BIND, NULL), 0);
	leaves("t", "t/m", EBUSY, 1);
	assert_true(is_there("victim"));
}

static void a_tree_that_is_itself_a_mount_stays_whole(void **state UNUSED)
{
	if (!has_mounts())
		NEEDS("a namespace to mount in");
	make_victim();
	make_dir("t");
	make_dir("t/m");
	assert_int_equal(mount("victim", "t/m", "none", MS_BIND, NULL), 0);
	leaves("t/m", "t/m", EBUSY, 1);
	victim_is_whole();
}

static void a_deep_mount_is_not_entered_either(void **state UNUSED)
{
	char path[400] = "t";

	if (!has_mounts())
		NEEDS("a namespace to mount in");
	make_victim();
	make_chain(100);
	for (int i = 0; i < 100; i++)
		strcat(path, "/d");
	assert_int_equal(mount("victim", path, "none", MS_BIND, NULL), 0);
	struct removal r = REMOVAL_INIT;
	assert_int_equal(remover_remove(&r, "t"), -1);
	assert_int_equal(r.reason, EBUSY);
	assert_int_equal(umount2(buf_cstr(&r.left), MNT_DETACH), 0); /* it names where it is now */
	buf_release(&r.left);
	removes("t");
	victim_is_whole();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, finish)
	const struct CMUnitTest tests[] = {
		TEST(what_is_there_goes),
		TEST(what_must_never_go_is_refused),
		TEST(links_are_removed_not_followed),
		TEST(directories_that_may_not_be_written_go_as_well),
		TEST(the_directory_around_the_tree_keeps_its_mode),
		TEST(depth_has_no_limit),
		TEST(a_deep_directory_is_moved_to_a_name_that_is_free),
		TEST(a_deep_directory_that_cannot_be_moved_is_named_and_not_tried_again),
		TEST(a_deep_tree_that_may_not_be_written_goes),
		TEST(a_few_descriptors_are_enough),
		TEST(a_directory_that_is_filled_meanwhile_goes),
		TEST(a_directory_that_never_stays_empty_is_named),
		TEST(the_deadline_ends_it),
		TEST(a_cancelled_removal_stops),
		TEST(a_bind_mount_is_not_entered),
		TEST(a_bind_mount_is_not_entered_without_openat2),
		TEST(a_bind_mount_is_not_entered_on_an_old_kernel),
		TEST(a_mount_of_another_file_system_is_not_entered),
		TEST(a_file_that_is_mounted_stays),
		TEST(a_tree_that_is_itself_a_mount_stays_whole),
		TEST(a_deep_mount_is_not_entered_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
