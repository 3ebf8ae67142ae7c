/*
 * test_zygote.c: calls of a zygote are our children, have all that the request says and nothing of
 * each other; what would not be as after exec is refused. Every scenario runs in a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>

#include "zygote_fixture.h"

#ifdef FULL_SYSTEM

static void scenario_whole(void)
{
	char number[32];

	for (int status = 0; status < 256; status++) {
		snprintf(number, sizeof(number), "%d", status);
		CHECK(end_of_call(ask(CALL(number))) == status);
	}
	snprintf(number, sizeof(number), "%d", (int)getpid());
	CHECK(strcmp(said(CALL("parent")), number) == 0);
	CHECK(strcmp(said(CALL("arguments", "", "b c")), "4 b c") == 0);
	CHECK(setenv("NAME", "now", 1) == 0);
	CHECK(strcmp(said(CALL("name")), "now") == 0);
	CHECK(strcmp(said((struct child_spec){ .argv = ARGV("call", "name"), .envp = ARGV("NAME=own") }), "own") == 0);
	CHECK(strcmp(said((struct child_spec){ .argv = ARGV("call", "name"), .envp = ARGV("A=b") }), "none") == 0);
	no_child_is_left();
}

static void a_call_is_our_child_and_has_the_whole_request(void **state UNUSED)
{
	run_forked(scenario_whole);
}

static void scenario_facts(void)
{
	char expected[256], again[256];

	umask(027);
	CHECK(chdir("/usr") == 0);
	strcpy(expected, said(CALL("facts")));
	CHECK(strcmp(expected, "0 0 27 /usr 1 default 1 1 1") == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(end_of_call(ask(CALL("dirty"))) == 0);
		strcpy(again, said(CALL("facts")));
		CHECK(strcmp(again, expected) == 0);
	}
	CHECK(chdir("/usr/bin") == 0);
	CHECK(strstr(said(CALL("facts")), " /usr/bin ") != NULL);
	CHECK(strstr(said((struct child_spec){ .argv = ARGV("call", "facts"), .cwd = "/usr" }), " /usr ") != NULL);
	CHECK(strstr(said((struct child_spec){ .argv = ARGV("call", "facts"), .cwd = ".." }), " /usr ") != NULL);
	no_child_is_left();
}

static void a_call_has_nothing_of_the_one_before(void **state UNUSED)
{
	run_forked(scenario_facts);
}

/* The report is its only other descriptor. */
static void scenario_fds(void)
{
	char first[256];
	int more[20];

	strcpy(first, said(CALL("fds")));
	CHECK(strncmp(first, "0 1 2 ", 6) == 0 && strchr(first, 'c') == strrchr(first, 'c') && first[strlen(first) - 2] == 'c');
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		more[i] = dup(2);
	for (int i = 0; i < 50; i++)
		CHECK(strcmp(said(CALL("fds")), first) == 0);
	no_child_is_left();
}

static void a_call_has_three_descriptors_and_its_report(void **state UNUSED)
{
	run_forked(scenario_fds);
}

/* --- the end of a call ----------------------------------------------------------------- */

static void scenario_leavings(void)
{
	pid_t left;
	pid_t call = ask(CALL("leave"));

	CHECK(call > 0 && (left = heard_pid()) > 0);
	CHECK(WEXITSTATUS(wait_for(call)) == 7 && gone(left));
	CHECK(shepherd_account(report).complete);
	no_child_is_left();
}

static void what_a_call_leaves_ends_with_it(void **state UNUSED)
{
	run_forked(scenario_leavings);
}

static void scenario_killed_call(void)
{
	pid_t call = ask(CALL("hang"));

	CHECK(call > 0 && strcmp(heard(), "here") == 0 && getpgid(call) == call);
	kill(call, SIGKILL);
	CHECK(WTERMSIG(wait_for(call)) == SIGKILL && !shepherd_account(report).complete);
	CHECK(end_of_call(ask(CALL("5"))) == 5);
	no_child_is_left();
}

static void the_account_of_a_killed_call_is_incomplete(void **state UNUSED)
{
	run_forked(scenario_killed_call);
}

/* --- refused ----------------------------------------------------------------------------- */

static void scenario_large(void)
{
	static char large[100 << 10];

	memset(large, 'x', sizeof(large) - 1);
	CHECK(ask(CALL("3")) > 0);
	CHECK(ask(CALL(large)) == 0);
	CHECK(end_of_call(ask(CALL("3"))) == 3);
}

static void scenario_loader(void)
{
	CHECK(end_of_call(ask(CALL("3"))) == 3);
	for (size_t i = 0; i < 5; i++) {
		static const char *const names[] = { "LD_PRELOAD", "GLIBC_TUNABLES", "LUA_PATH_5_4", "MALLOC_PERTURB_", "RUNNER_LUA" };

		setenv(names[i], "", 1);
		CHECK(ask(CALL("3")) == 0);
		unsetenv(names[i]);
	}
	setenv("RUNNER_TRUST", "/tmp", 1);
	CHECK(end_of_call(ask(CALL("3"))) == 3);
	CHECK(ask((struct child_spec){ .argv = ARGV("call", "3"), .cwd = "/proc/no/such" }) == 0);
	CHECK(end_of_call(ask(CALL("3"))) == 3);
}

static void scenario_session(void)
{
	pid_t ours = fork();

	if (ours == 0) {
		CHECK(end_of_call(ask(CALL("3"))) == 3);
		CHECK(setsid() > 0);
		CHECK(ask(CALL("3")) == 0);
		_exit(0);
	}
	CHECK(wait_for(ours) == 0);
}

static void what_would_not_be_as_after_exec_is_refused(void **state UNUSED)
{
	run_forked(scenario_large);
	run_forked(scenario_loader);
	run_forked(scenario_session);
}

/* --- whom we believe --------------------------------------------------------------------- */

static bool is_called(int fd, char **argv, int argc)
{
	if (fd >= 0)
		CHECK(dup2(fd, 3) == 3);
	else
		close(3);
	return zygote_is_called(argc, argv);
}

static void scenario_called(void)
{
	static char block[14 + 1024] = "runner-zygote", elsewhere[1024];
	char *argv[] = { block, memset(block + 14, ' ', 1023), NULL }, *other[] = { (char *)"runner", block + 14, NULL };
	char *parted[] = { block, memset(elsewhere, ' ', 1023), NULL };
	int packets[2], stream[2], p[2];
	pid_t ours;

	for (int fd = 0; fd < 4; fd++)
		(void)!dup2(2, fd); /* no pair has number 3 */
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, stream) == 0 && pipe(p) == 0);
	if ((ours = fork()) == 0) {
		int own[2];

		CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, own) == 0);
		CHECK(!is_called(-1, argv, 2) && !is_called(p[0], argv, 2) && !is_called(stream[0], argv, 2));
		CHECK(!is_called(own[0], argv, 2)); /* not our parent's */
		CHECK(is_called(packets[0], argv, 2) && !is_called(packets[0], other, 2) && !is_called(packets[0], argv, 1));
		CHECK(!is_called(packets[0], parted, 2));
		_exit(0);
	}
	CHECK(wait_for(ours) == 0);
}

static void only_a_socket_of_our_parent_makes_a_zygote_of_us(void **state UNUSED)
{
	run_forked(scenario_called);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_our_child_and_has_the_whole_request),
		cmocka_unit_test(a_call_has_nothing_of_the_one_before),
		cmocka_unit_test(a_call_has_three_descriptors_and_its_report),
		cmocka_unit_test(what_a_call_leaves_ends_with_it),
		cmocka_unit_test(the_account_of_a_killed_call_is_incomplete),
		cmocka_unit_test(what_would_not_be_as_after_exec_is_refused),
		cmocka_unit_test(only_a_socket_of_our_parent_makes_a_zygote_of_us),
	};

	if (zygote_is_called(argc, argv))
		zygote_serve(refuse_to_fork, do_as_told);
	if (under_valgrind())
		return skip_all("valgrind knows no CLONE_PARENT");
	return cmocka_run_group_tests_name("zygotes", tests, NULL, NULL);
}

#else

int main(void)
{
	return skip_all("without CLONE_PARENT");
}

#endif
