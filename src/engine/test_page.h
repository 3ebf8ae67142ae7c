/*
 * test_page.h: memory that a test run (`runner test`) shares with a call that it tests: a clock
 * that waits move on, and the lines of Lua that ran. Used by the supervisor and the worker of
 * the call, and by the worker of the test run. Knows no Lua.
 *
 * It is handed over as an open descriptor, and nothing else can switch it on: no variable, no
 * flag, and no descriptor that another process has made (docs/design.md#virtual-time).
 */
#ifndef RUNNER_TEST_PAGE_H
#define RUNNER_TEST_PAGE_H

#include "../common/mono.h"

#define TEST_PAGE_FD 3          /* child_spec.held_fd */
#define TEST_PAGE_FILES 64      /* whose lines are noted; of more than these, nothing is */
#define TEST_PAGE_PATH 1024     /* bytes, NUL included */
#define TEST_PAGE_LINES 8192    /* of a file; what is behind them is not noted */

struct test_file {
	char path[TEST_PAGE_PATH]; /* "": free */
	uint8_t ran[TEST_PAGE_LINES / 8];
};

struct test_page {
	char magic[16];
	int32_t maker, maker_fd;      /* the worker of the test run, and its descriptor of this page */
	volatile int64_t later;       /* ns that the clocks are moved on */
	char root[TEST_PAGE_PATH];    /* the lines of files below it are noted; "": of none */
	struct test_file files[TEST_PAGE_FILES];
};

/* --- in the test run ------------------------------------------------------------------ */

/* A page: its close-on-exec descriptor, and *page, which test_page_release() unmaps; -1 with errno. */
int test_page_make(const char *root, struct test_page **page);
void test_page_release(int *fd, struct test_page **page);

/* --- in a call ------------------------------------------------------------------------ */

/*
 * At entry, before anything else is opened: has a test run handed us a page? Then the clocks
 * of mono.h follow it. The proof is that one of our ancestors is a process of our own program that has
 * this very memory open under the number that the memory names, and was not started with it.
 */
bool test_page_take(void);
/* The one that was taken; NULL: none, as in every call that no test makes. */
struct test_page *test_page(void);
/* How far its clock has been moved on, in ns; 0: there is none. */
mono_t test_page_later(void);
/* We are about to wait until then, and nothing else can happen meanwhile: move the clock there.
 * False: it is not ours to move. */
bool test_page_skip(mono_t until);

#endif
