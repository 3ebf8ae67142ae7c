/*
 * test_page.c: the memory that a test run shares with a call (test_page.h).
 */
#include "test_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/xio.h"
#include "os.h"

#define MAGIC "runner test 1"
#define MAX_ANCESTORS 64
#define INFO_MAX 512 /* bytes of what the kernel says of a descriptor: its flags come first */

static struct test_page *taken;

/* --- in the test run ------------------------------------------------------------------ */

static struct test_page *map(int fd)
{
	void *at = mmap(NULL, sizeof(struct test_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

int test_page_make(const char *root, struct test_page **page)
{
	int fd = os_sealed_memory(sizeof(struct test_page));

	*page = fd < 0 ? NULL : map(fd);
	if (!*page || strlen(root) >= sizeof((*page)->root)) {
		xclose(&fd);
		return -1;
	}
	strcpy((*page)->magic, MAGIC);
	strcpy((*page)->root, root);
	(*page)->maker = getpid();
	(*page)->maker_fd = fd;
	return fd;
}

void test_page_release(int *fd, struct test_page **page)
{
	if (*page)
		munmap(*page, sizeof(**page));
	*page = NULL;
	xclose(fd);
}

/* --- in a call ------------------------------------------------------------------------ */

static bool same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static bool is_ancestor(pid_t pid)
{
	pid_t at = getpid(), parent;
	uint64_t started;

	for (int i = 0; i < MAX_ANCESTORS && at > 1; i++, at = parent) {
		if (os_process_info(at, &parent, &started) < 0)
			return false;
		if (parent == pid)
			return true;
	}
	return false;
}

/* Did the process open it itself? What it was given at its start would not close on exec (proc(5), fdinfo). */
static bool is_own(pid_t pid, int fd)
{
	char path[64], info[INFO_MAX];
	const char *flags;
	ssize_t got;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	file = xopen(path, O_RDONLY, 0);
	if (file < 0)
		return false;
	got = xread(file, info, sizeof(info) - 1);
	xclose(&file);
	info[MAX_OF(got, 0)] = '\0';
	flags = strstr(info, "flags:");
	return flags && (strtoul(flags + strlen("flags:"), NULL, 8) & O_CLOEXEC);
}

/* The maker is what it says: an ancestor, our own program, and this is memory of its own making. */
static bool is_vouched(const struct test_page *page)
{
	char program[64], memory[64], ours[64];

	snprintf(program, sizeof(program), "/proc/%d/exe", (int)page->maker);
	snprintf(memory, sizeof(memory), "/proc/%d/fd/%d", (int)page->maker, (int)page->maker_fd);
	snprintf(ours, sizeof(ours), "/proc/self/fd/%d", TEST_PAGE_FD);
	return page->maker > 1 && is_ancestor(page->maker) && same_file(program, "/proc/self/exe") && same_file(memory, ours) &&
	       is_own(page->maker, page->maker_fd);
}

bool test_page_take(void)
{
	struct test_page *page;

	if (!os_is_sealed_memory(TEST_PAGE_FD, sizeof(*page)))
		return false;
	page = map(TEST_PAGE_FD);
	if (!page)
		return false;
	if (memcmp(page->magic, MAGIC, sizeof(MAGIC)) != 0 || !is_vouched(page)) {
		munmap(page, sizeof(*page));
		return false;
	}
	fcntl(TEST_PAGE_FD, F_SETFD, FD_CLOEXEC);
	taken = page;
	mono_follow(&page->later);
	return true;
}

struct test_page *test_page(void)
{
	return taken;
}

mono_t test_page_later(void)
{
	return taken ? taken->later : 0;
}

/* Several processes may move it: it never goes back. */
bool test_page_skip(mono_t until)
{
	mono_t left;

	if (!taken || until == MONO_NEVER)
		return false;
	left = until - mono_now();
	if (left > 0)
		__atomic_fetch_add(&taken->later, left, __ATOMIC_SEQ_CST);
	return true;
}
