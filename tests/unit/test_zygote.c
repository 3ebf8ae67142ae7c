/*
 * test_zygote.c: calls of a zygote are our children, have all that the request says and nothing of
 * each other; whatever happens to the zygote, a request is either a call or refused. This program is
 * its own zygote; what a call does is its first argument. Every scenario runs in a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>

#include "../../src/engine/zygote.h"
#include "shepherd_fixture.h"

#ifdef FULL_SYSTEM

extern char **environ;

/* --- in the zygote ------------------------------------------------------------------- */

static int sibling_error; /* not 0: it can't fork */

pid_t __real_os_fork_sibling(void);
pid_t __wrap_os_fork_sibling(void);
pid_t __wrap_os_fork_sibling(void)
{
	if (sibling_error == 0)
		return __real_os_fork_sibling();
	errno = sibling_error;
	return -1;
}

static int dirt; /* what a call changes of its memory */

static int refuse_to_fork(void)
{
	const char *error = getenv("SIBLING_ERROR");

	sibling_error = error ? atoi(error) : 0;
	return getenv("UNPREPARED") ? -1 : 0;
}

static int say_fds(void)
{
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d%s ", fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? "c" : "");
	return 0;
}

/* Whatever one call can change of itself. */
static int get_dirty(void)
{
	struct rlimit files = { 50, 50 };

	dirt = 1;
	umask(0);
	signal(SIGUSR1, SIG_IGN);
	return chdir("/proc") < 0 || setenv("DIRT", "1", 1) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0 || setsid() >= 0 ||
	       dup2(0, 40) < 0;
}

static int say_facts(void)
{
	struct rlimit files;
	char cwd[256] = "";
	mode_t mask = umask(0);
	sigset_t blocked;

	getrlimit(RLIMIT_NOFILE, &files);
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	printf("%d %d %o %s %d %s %d %d %d", dirt, getenv("DIRT") != NULL, mask, getcwd(cwd, sizeof(cwd)), files.rlim_cur > 50,
	       signal(SIGUSR1, SIG_DFL) == SIG_DFL ? "default" : "other", getpgrp() == getpid(), getsid(0) == getsid(getppid()),
	       sigismember(&blocked, SIGTERM));
	return 0;
}

static int leave_a_process(void)
{
	pid_t pid;

	os_become_subreaper();
	pid = fork();
	if (pid == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		poll(NULL, 0, 3 * WAIT_LIMIT_MS);
		_exit(0);
	}
	printf("%d", (int)pid);
	return 7;
}

static int hang(void)
{
	printf("here\n");
	fflush(stdout);
	poll(NULL, 0, 3 * WAIT_LIMIT_MS);
	return 0;
}

static int do_as_told(int argc, char **argv, pid_t parent)
{
	int status = argc < 2                            ? 99
	             : strcmp(argv[1], "fds") == 0       ? say_fds()
	             : strcmp(argv[1], "dirty") == 0     ? get_dirty()
	             : strcmp(argv[1], "facts") == 0     ? say_facts()
	             : strcmp(argv[1], "leave") == 0     ? leave_a_process()
	             : strcmp(argv[1], "hang") == 0      ? hang()
	             : strcmp(argv[1], "parent") == 0    ? printf("%d", (int)parent) < 0
	             : strcmp(argv[1], "name") == 0      ? printf("%s", getenv("NAME") ? getenv("NAME") : "none") < 0
	             : strcmp(argv[1], "arguments") == 0 ? printf("%d %s", argc, argv[argc - 1]) < 0 || argv[argc] != NULL
	                                                 : atoi(argv[1]);

	fflush(stdout);
	return status;
}

/* --- asking -------------------------------------------------------------------------- */

/* A call whose stdout is the pipe `output`; 0: it was refused. */
static pid_t ask(struct child_spec spec)
{
	pid_t pid;

	xclose(&report);
	CHECK(xpipe(output) == 0);
	spec.fd[0] = -1;
	spec.fd[1] = output[1];
	spec.fd[2] = test_stderr;
	zygote_start();
	pid = zygote_spawn(&spec, 100, &report);
	xclose(&output[1]);
	return pid;
}

#define CALL(...) ((struct child_spec){ .argv = ARGV("call", __VA_ARGS__) })

static int end_of_call(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	status = wait_for(pid);
	CHECK(shepherd_account(report).complete);
	xclose(&output[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What it says, without the end of the line. */
static const char *said(struct child_spec spec)
{
	pid_t pid = ask(spec);
	const char *text;

	CHECK(pid > 0);
	text = heard();
	CHECK(end_of_call(pid) == 0);
	return text;
}

static void no_child_is_left(void)
{
	zygote_dismiss();
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

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

/* --- the end of the zygote ---------------------------------------------------------------- */

static void scenario_killed(void)
{
	pid_t first = zygote_start(), other, call;

	CHECK(first > 0 && zygote_start() == first);
	CHECK(end_of_call(ask(CALL("3"))) == 3);
	CHECK((call = ask(CALL("hang"))) > 0 && strcmp(heard(), "here") == 0);
	xclose(&output[0]);
	kill(first, SIGKILL);
	CHECK(waitid(P_PID, (id_t)first, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK(ask(CALL("3")) == 0); /* not this one … */
	CHECK((other = zygote_start()) > 0 && other != first);
	CHECK(end_of_call(ask(CALL("4"))) == 4);
	CHECK(kill(call, 0) == 0); /* what it has started goes on */
	kill(call, SIGKILL);
	wait_for(call);
	no_child_is_left();
}

static void a_killed_zygote_is_replaced_at_the_next_call(void **state UNUSED)
{
	run_forked(scenario_killed);
}

/* A stopped one has the request, but forks nobody any more. */
static void scenario_killed_meanwhile(void)
{
	pid_t other, first = zygote_start();

	CHECK(end_of_call(ask(CALL("3"))) == 3);
	kill(first, SIGSTOP);
	if ((other = fork()) == 0) {
		poll(NULL, 0, 100);
		kill(first, SIGKILL);
		_exit(0);
	}
	CHECK(ask(CALL("3")) == 0);
	wait_for(other);
	CHECK(EVENTUALLY(zygote_start() != first));
	CHECK(end_of_call(ask(CALL("3"))) == 3);
	kill(zygote_pid(), SIGSTOP);
	CHECK(ask(CALL("3")) == 0); /* nobody kills it but we */
	CHECK(end_of_call(ask(CALL("3"))) == 3);
	no_child_is_left();
}

static void a_zygote_that_says_nothing_is_ended(void **state UNUSED)
{
	run_forked(scenario_killed_meanwhile);
}

static bool refused(void)
{
	pid_t pid = ask(CALL("3"));

	xclose(&output[0]);
	return pid == 0;
}

static void scenario_useless(void)
{
	setenv("SIBLING_ERROR", "1", 1); /* EPERM, of a sandbox */
	CHECK(EVENTUALLY(refused() && zygote_start() == 0));
	unsetenv("SIBLING_ERROR");
	CHECK(zygote_start() == 0 && refused()); /* not tried again and again */
	no_child_is_left();
}

static void scenario_no_room(void)
{
	char again[16];

	snprintf(again, sizeof(again), "%d", EAGAIN);
	setenv("SIBLING_ERROR", again, 1);
	CHECK(ask(CALL("3")) == 0);
	CHECK(zygote_start() > 0 && kill(zygote_pid(), 0) == 0); /* there may be room later */
	no_child_is_left();
}

static void scenario_unprepared(void)
{
	setenv("UNPREPARED", "1", 1);
	CHECK(EVENTUALLY(refused() && zygote_start() == 0));
	no_child_is_left();
}

static void a_zygote_that_is_of_no_use_is_not_started_again(void **state UNUSED)
{
	run_forked(scenario_useless);
	run_forked(scenario_no_room);
	run_forked(scenario_unprepared);
}

static void scenario_orphan(void)
{
	pid_t ours = fork();
	int status;

	if (ours == 0) {
		CHECK(end_of_call(ask(CALL("3"))) == 3);
		kill(getpid(), SIGKILL);
	}
	CHECK(os_become_subreaper() == 0);
	CHECK(waitpid(ours, &status, 0) == ours && WIFSIGNALED(status));
	while (waitpid(-1, &status, 0) > 0)
		;
	CHECK(errno == ECHILD);
}

static void a_zygote_ends_with_its_parent(void **state UNUSED)
{
	run_forked(scenario_orphan);
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
		cmocka_unit_test(a_killed_zygote_is_replaced_at_the_next_call),
		cmocka_unit_test(a_zygote_that_says_nothing_is_ended),
		cmocka_unit_test(a_zygote_that_is_of_no_use_is_not_started_again),
		cmocka_unit_test(a_zygote_ends_with_its_parent),
		cmocka_unit_test(what_would_not_be_as_after_exec_is_refused),
		cmocka_unit_test(only_a_socket_of_our_parent_makes_a_zygote_of_us),
	};

	if (zygote_is_called(argc, argv))
		zygote_serve(refuse_to_fork, do_as_told);
	if (under_valgrind())
		return 0; /* which knows no CLONE_PARENT */
	return cmocka_run_group_tests_name("zygotes", tests, NULL, NULL);
}

#else

int main(void)
{
	return 0; /* without CLONE_PARENT */
}

#endif
