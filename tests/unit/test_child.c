/*
 * test_child.c: children start clean and trees end whole, with real processes.
 * Every scene plays in a process of its own (stage.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../src/engine/child.h"
#include "../../src/engine/os.h"
#include "stage.h"

#if defined(__linux__) && !defined(RUNNER_POSIX_ONLY)
#define FULL_SYSTEM
#endif

/* --- starting -------------------------------------------------------------------- */

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int wait_for(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* Run to the end with stdin /dev/null and stderr ours: its wait status. */
static int run(const char *const *argv, int out)
{
	struct child_spec spec = { .argv = argv, .fd = { -1, out, stage_stderr } };
	struct child_error error;
	pid_t pid = child_spawn(&spec, &error);

	CHECK(pid > 0);
	CHECK(error.step == CHILD_OK);
	return wait_for(pid);
}

/* What a command writes to stdout; static. */
static const char *output_of(struct child_spec spec)
{
	static char text[8192];
	struct child_error error;
	size_t n = 0;
	ssize_t got;
	int p[2];
	pid_t pid;

	CHECK(pipe(p) == 0);
	spec.fd[0] = -1;
	spec.fd[1] = p[1];
	spec.fd[2] = stage_stderr;
	CHECK((pid = child_spawn(&spec, &error)) > 0);
	close(p[1]);
	while ((got = read(p[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(p[0]);
	wait_for(pid);
	text[n] = '\0';
	return text;
}

static void scene_runs(void)
{
	CHECK(run(ARGV("sh", "-c", "exit 7"), -1) == 7 << 8);
	CHECK(run(ARGV("/bin/sh", "-c", "test \"$1\" = 'a b  $c'", "sh", "a b  $c"), -1) == 0);
	CHECK(WTERMSIG(run(ARGV("sh", "-c", "kill -9 $$"), -1)) == SIGKILL);
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("echo", "hello") }), "hello\n") == 0);
	CHECK(child_reap(NULL, NULL, NULL));
}

static void a_program_runs_with_its_arguments_as_they_are(void **state UNUSED)
{
	play(scene_runs);
}

/* The shell finds the file that stands behind each descriptor, and no more. */
#define WHO_IS_WHO \
	"for i in 0 1 2; do [ /proc/self/fd/$i -ef \"$1\" ] || exit 1$i; shift; done;" \
	"i=3; while [ $i -lt 60 ]; do [ ! -e /proc/self/fd/$i ] || exit $i; i=$((i+1)); done"

#define FILES 5
static char file_path[FILES][32];

static void make_files(void)
{
	for (int i = 0; i < FILES; i++) {
		int fd;

		strcpy(file_path[i], "/tmp/test_child.XXXXXX");
		CHECK((fd = mkstemp(file_path[i])) >= 0);
		close(fd);
	}
}

static void remove_files(void)
{
	for (int i = 0; i < FILES; i++)
		unlink(file_path[i]);
}

/* Descriptors 0, 1, 2, 10, 11 are the five files; those in `closed` are not open. */
static void open_files(unsigned closed)
{
	static const int at[FILES] = { 0, 1, 2, 10, 11 };

	for (int i = 0; i < FILES; i++) {
		int fd = open(file_path[i], O_RDWR);

		CHECK(fd >= 0);
		if (fd != at[i]) {
			CHECK(dup2(fd, at[i]) == at[i]);
			close(fd);
		}
	}
	for (int i = 0; i < 3; i++)
		if (closed & (1U << i))
			close(i);
}

static const char *path_behind(int fd)
{
	return fd < 0 ? "/dev/null" : file_path[fd < 10 ? fd : fd - 7];
}

static void check_permutation(int a, int b, int c)
{
	struct child_spec spec = {
		.argv = ARGV("/bin/sh", "-c", WHO_IS_WHO, "sh", path_behind(a), path_behind(b),
		             path_behind(c)),
		.fd = { a, b, c },
	};
	struct child_error error;
	pid_t pid = child_spawn(&spec, &error);

	if (pid <= 0 || wait_for(pid) != 0) {
		dprintf(stage_stderr, "fds %d %d %d: not what they should be\n", a, b, c);
		_exit(1);
	}
}

static bool usable(int fd, unsigned closed)
{
	return fd < 0 || fd > 2 || !(closed & (1U << fd));
}

static void each_permutation(unsigned closed)
{
	static const int source[] = { -1, 0, 1, 2, 10, 11 };
	const int n = (int)ARRAY_LEN(source);

	open_files(closed);
	for (int k = 0; k < n * n * n; k++) {
		int a = source[k % n], b = source[k / n % n], c = source[k / n / n];

		if (usable(a, closed) && usable(b, closed) && usable(c, closed))
			check_permutation(a, b, c);
	}
}

static void scene_permutations(void)
{
	CHECK((stage_stderr = fcntl(2, F_DUPFD_CLOEXEC, 100)) >= 100);
	make_files();
	for (unsigned closed = 0; closed < 8; closed++)
		each_permutation(closed);
	remove_files();
}

static void standard_fds_are_right_in_every_permutation_of_sources(void **state UNUSED)
{
	play(scene_permutations);
}

static void scene_exec_error_with_closed(void)
{
	struct child_spec spec = { .argv = ARGV("/no/such/program"), .fd = { -1, -1, -1 } };
	struct child_error error;

	CHECK((stage_stderr = fcntl(2, F_DUPFD_CLOEXEC, 100)) >= 100);
	make_files();
	for (unsigned closed = 0; closed < 8; closed++) {
		open_files(closed);
		CHECK(child_spawn(&spec, &error) == -1);
		CHECK(error.step == CHILD_EXEC && error.err == ENOENT);
	}
	remove_files();
}

static void a_failure_is_reported_even_where_standard_fds_are_closed(void **state UNUSED)
{
	play(scene_exec_error_with_closed);
}

static void scene_no_leak(void)
{
	/* inheritable on purpose: what a library forgot to mark */
	for (int fd = 3; fd < 60; fd++)
		CHECK(dup2(0, fd) == fd);
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("ls", "/proc/self/fd") }),
	             "0\n1\n2\n3\n") == 0); /* 3 is ls reading the directory */
}

static void no_descriptor_above_2_reaches_a_child(void **state UNUSED)
{
	play(scene_no_leak);
}

/* --- errors ---------------------------------------------------------------------- */

static char *make_dir(char *dir)
{
	strcpy(dir, "/tmp/test_child.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	return dir;
}

static void make_program(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CHECK((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600)) >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(fchmod(fd, mode) == 0);
	close(fd);
}

static void remove_dir(const char *dir)
{
	CHECK(run(ARGV("rm", "-rf", dir), -1) == 0);
}

static void check_error(struct child_spec spec, enum child_step step, int err)
{
	struct child_error error;

	spec.fd[0] = spec.fd[1] = spec.fd[2] = -1;
	errno = 0;
	CHECK(child_spawn(&spec, &error) == -1);
	if (error.step != step || error.err != err)
		dprintf(stage_stderr, "%s: %s\n", child_step_name(error.step), strerror(error.err));
	CHECK(error.step == step);
	CHECK(error.err == err);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); /* it was reaped */
}

static void scene_errors(void)
{
	char dir[64], path[128];
	int lowest = dup(2);

	make_dir(dir);
	make_program(dir, "plain", "text\n", 0644);
	make_program(dir, "binary", "\1\2\3\4", 0755);
	snprintf(path, sizeof(path), "%s/plain", dir);
	check_error((struct child_spec){ .argv = ARGV("/no/such/program") }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = ARGV("no-such-program-anywhere") }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = ARGV("") }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = (const char *const[]){ NULL } }, CHILD_EXEC, ENOENT);
	check_error((struct child_spec){ .argv = ARGV(path) }, CHILD_EXEC, EACCES);
	check_error((struct child_spec){ .argv = ARGV(dir) }, CHILD_EXEC, EACCES);
	check_error((struct child_spec){ .argv = ARGV("./binary"), .cwd = dir }, CHILD_EXEC, ENOEXEC);
	check_error((struct child_spec){ .argv = ARGV("sh"), .cwd = "/no/such/dir" }, CHILD_CHDIR, ENOENT);
	check_error((struct child_spec){ .argv = ARGV("sh"), .cwd = path }, CHILD_CHDIR, ENOTDIR);
	close(lowest);
	CHECK(dup(2) == lowest); /* no descriptor was left open */
	remove_dir(dir);
}

static void a_child_that_cannot_start_says_which_step_and_why(void **state UNUSED)
{
	play(scene_errors);
}

static void scene_bad_fd(void)
{
	struct child_spec spec = { .argv = ARGV("true"), .fd = { -1, 77, -1 } };
	struct child_error error;

	limit_descriptors(64);
	CHECK(child_spawn(&spec, &error) == -1);
	CHECK(error.step == CHILD_DUP && error.err == EBADF);
	spec.fd[1] = -1;
	for (int fd = 0; fd >= 0; fd = dup(2))
		; /* the limit ends it */
	CHECK(child_spawn(&spec, &error) == -1);
	CHECK(error.step == CHILD_PIPE && error.err == EMFILE);
}

static void bad_descriptors_and_none_left_are_told_apart(void **state UNUSED)
{
	play(scene_bad_fd);
}

static void steps_have_names_for_messages(void **state UNUSED)
{
	assert_string_equal(child_step_name(CHILD_FORK), "fork");
	assert_string_equal(child_step_name(CHILD_EXEC), "exec");
	for (int s = CHILD_OK; s <= CHILD_EXEC; s++)
		assert_true(strlen(child_step_name((enum child_step)s)) > 1);
}

/* --- PATH and cwd ---------------------------------------------------------------- */

static const char *with_path(const char *program, const char *fmt, const char *a, const char *b)
{
	static char path[256];
	const char *env[] = { "OTHER=1", path, NULL };

	snprintf(path, sizeof(path), "PATH=%s%s%s", a, fmt, b);
	return output_of((struct child_spec){ .argv = ARGV(program), .envp = env });
}

static void scene_path(void)
{
	char a[64], b[64], path[256];
	const char *env[] = { path, NULL };

	make_dir(a);
	make_dir(b);
	make_program(a, "tool", "#!/bin/sh\necho a\n", 0755);
	make_program(b, "tool", "#!/bin/sh\necho b\n", 0755);
	make_program(a, "only-b", "", 0644);
	make_program(b, "only-b", "#!/bin/sh\necho only b\n", 0755);
	CHECK(strcmp(with_path("tool", ":", a, b), "a\n") == 0);
	CHECK(strcmp(with_path("tool", ":", b, a), "b\n") == 0);
	CHECK(strcmp(with_path("tool", "/missing:", a, b), "b\n") == 0);
	CHECK(strcmp(with_path("only-b", ":", a, b), "only b\n") == 0);
	snprintf(path, sizeof(path), "PATH=%s", a);
	check_error((struct child_spec){ .argv = ARGV("only-b"), .envp = env }, CHILD_EXEC, EACCES);
	check_error((struct child_spec){ .argv = ARGV("sh"), .envp = env }, CHILD_EXEC, ENOENT);
	env[0] = "PATH="; /* an empty element is the working directory */
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("tool"), .envp = env, .cwd = b }),
	             "b\n") == 0);
	env[0] = NULL;
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("echo", "x"), .envp = env }), "x\n") == 0);
	remove_dir(a);
	remove_dir(b);
}

static void programs_are_found_in_the_childs_path_and_not_in_ours(void **state UNUSED)
{
	play(scene_path);
}

static void scene_long_path(void)
{
	static char path[3 * PATH_MAX];
	const char *env[] = { path, NULL };

	strcpy(path, "PATH=/");
	memset(path + 6, 'x', 2 * PATH_MAX);
	check_error((struct child_spec){ .argv = ARGV("echo"), .envp = env }, CHILD_EXEC, ENOENT);
	strcat(path, ":/bin:/usr/bin");
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("echo", "x"), .envp = env }), "x\n") == 0);
}

static void a_path_element_that_is_too_long_is_passed_over(void **state UNUSED)
{
	play(scene_long_path);
}

static void scene_environment(void)
{
	const char *env[] = { "PATH=/bin:/usr/bin", "ONLY=this", NULL };

	CHECK(setenv("RUNNER_TEST_OURS", "ours", 1) == 0);
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("env"), .envp = env }),
	             "PATH=/bin:/usr/bin\nONLY=this\n") == 0);
	CHECK(strstr(output_of((struct child_spec){ .argv = ARGV("env") }), "RUNNER_TEST_OURS=ours\n"));
}

static void the_environment_is_the_one_given_or_ours(void **state UNUSED)
{
	play(scene_environment);
}

static void scene_cwd(void)
{
	char dir[64];

	make_dir(dir);
	make_program(dir, "here", "#!/bin/sh\npwd\n", 0755);
	CHECK(strncmp(output_of((struct child_spec){ .argv = ARGV("./here"), .cwd = dir }), dir,
	              strlen(dir)) == 0);
	remove_dir(dir);
}

static void a_relative_program_is_relative_to_the_childs_directory(void **state UNUSED)
{
	play(scene_cwd);
}

/* --- signals, sessions ----------------------------------------------------------- */

#define SHOW_SIGNALS ARGV("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")

static const char *signal_lines(unsigned long ignored)
{
	static char text[256];

	snprintf(text, sizeof(text), "SigBlk:\t%016lx\nSigIgn:\t%016lx\n", 0UL, ignored);
	return text;
}

static unsigned long bit(int sig)
{
	return 1UL << (sig - 1);
}

static void check_signals(unsigned long ignored)
{
	const char *got = output_of((struct child_spec){ .argv = SHOW_SIGNALS });

	if (strcmp(got, signal_lines(ignored)) != 0)
		dprintf(stage_stderr, "%s", got);
	CHECK(strcmp(got, signal_lines(ignored)) == 0);
}

static void handler(int sig UNUSED)
{
}

static void scene_signals(void)
{
	sigset_t mask, now;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sig == SIGCHLD ? SIG_DFL : SIG_IGN);
	signal(SIGUSR1, handler);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGRTMIN + 4);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	check_signals(0); /* not remembered: default */
	CHECK(!child_was_ignored(SIGINT));
	child_remember_ignored();
	check_signals(bit(SIGINT) | bit(SIGHUP) | bit(SIGQUIT));
	CHECK(child_was_ignored(SIGINT) && child_was_ignored(SIGHUP));
	CHECK(!child_was_ignored(SIGPIPE));
	signal(SIGINT, handler);
	check_signals(bit(SIGINT) | bit(SIGHUP) | bit(SIGQUIT)); /* our handler changes nothing */
	signal(SIGHUP, SIG_DFL);
	signal(SIGQUIT, handler);
	child_remember_ignored();
	check_signals(0);
	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int sig = 1; sig < NSIG; sig++)
		CHECK(sigismember(&now, sig) == sigismember(&mask, sig));
}

static void a_child_starts_with_default_signals_but_for_those_ignored_at_entry(void **state UNUSED)
{
	play(scene_signals);
}

static void scene_sessions(void)
{
	struct child_spec spec = { .argv = ARGV("sleep", "60"), .fd = { -1, -1, -1 } };
	struct child_error error;
	pid_t pid;

	CHECK((pid = child_spawn(&spec, &error)) > 0);
	CHECK(getsid(pid) == getsid(0) && getpgid(pid) == getpgid(0));
	end_child(pid);
	spec.new_group = true;
	CHECK((pid = child_spawn(&spec, &error)) > 0);
	CHECK(getsid(pid) == getsid(0) && getpgid(pid) == pid);
	end_child(pid);
	spec.new_session = true; /* with new_group: a session has its own group */
	CHECK((pid = child_spawn(&spec, &error)) > 0);
	CHECK(getsid(pid) == pid && getpgid(pid) == pid);
	end_child(pid);
}

static void sessions_and_groups_are_there_when_spawn_returns(void **state UNUSED)
{
	play(scene_sessions);
}

/* --- ending ---------------------------------------------------------------------- */

struct exits {
	int count;
	int by_signal[NSIG];
};

static void note_exit(pid_t pid, int status, void *data)
{
	struct exits *e = data;

	CHECK(pid > 0);
	e->count++;
	if (WIFSIGNALED(status))
		e->by_signal[WTERMSIG(status)]++;
}

static void scene_reap(void)
{
	struct exits e = { 0 };
	pid_t pid;

	CHECK(child_reap(NULL, note_exit, &e));
	pid = fork_idle();
	CHECK(!child_reap(NULL, note_exit, &e));
	CHECK(e.count == 0);
	kill(pid, SIGTERM);
	CHECK(EVENTUALLY(child_reap(NULL, note_exit, &e)));
	CHECK(e.count == 1 && e.by_signal[SIGTERM] == 1);
}

static void reaping_reports_each_child_once_and_proves_when_none_is_left(void **state UNUSED)
{
	play(scene_reap);
}

static void the_spared_list_takes_each_session_once_and_is_bounded(void **state UNUSED)
{
	struct spared s = { .count = 0 };

	for (int i = 1; i <= CHILD_MAX_SPARED; i++)
		assert_int_equal(spared_add(&s, 1000000 + i), 0);
	assert_int_equal(spared_add(&s, 1000001), 0);
	assert_int_equal(s.count, CHILD_MAX_SPARED);
	assert_int_equal(spared_add(&s, 99), -1);
	assert_false(spared_has(&s, getpid()));
	assert_false(spared_has(NULL, getpid()));
	s.session[7] = getsid(0);
	assert_true(spared_has(&s, getpid()));
}

#ifdef FULL_SYSTEM

/* Signal and reap in turn, as the supervisor does, until nothing is left. */
static bool end_all(int sig, const struct spared *spare, struct exits *e)
{
	mono_t end = mono_add_ms(mono_now(), STAGE_LIMIT_MS);

	while (mono_now() < end) {
		CHECK(child_signal_direct(sig, spare) >= 0);
		if (child_reap(spare, note_exit, e))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* In a child: tell the stage our pid, be idle, and never outlive it by much. */
static NO_RETURN void report_and_idle(int fd)
{
	pid_t self = getpid();

	CHECK(write(fd, &self, sizeof(self)) == sizeof(self));
	poll(NULL, 0, 3 * STAGE_LIMIT_MS);
	_exit(99);
}

static pid_t read_pid(int fd)
{
	pid_t pid = -1;

	CHECK(read(fd, &pid, sizeof(pid)) == sizeof(pid));
	return pid;
}

/* A daemon as they are made: forked twice, in a session of its own. */
static pid_t start_daemon(void)
{
	int said[2];
	pid_t middle, daemon_pid;

	CHECK(pipe(said) == 0);
	if ((middle = fork()) == 0) {
		setsid();
		if (fork() == 0) {
			setsid();
			report_and_idle(said[1]);
		}
		_exit(0);
	}
	daemon_pid = read_pid(said[0]);
	wait_for(middle);
	close(said[0]);
	close(said[1]);
	return daemon_pid;
}

static void scene_daemon(void)
{
	struct exits e = { 0 };
	pid_t daemon_pid;

	CHECK(os_become_subreaper() == 0);
	daemon_pid = start_daemon();
	CHECK(getsid(daemon_pid) == daemon_pid);
	CHECK(!child_reap(NULL, note_exit, &e)); /* it is ours now */
	CHECK(end_all(SIGTERM, NULL, &e));
	CHECK(e.count == 1 && e.by_signal[SIGTERM] == 1);
	CHECK(kill(daemon_pid, 0) == -1 && errno == ESRCH);
}

static void a_daemon_comes_back_to_us_and_ends_with_the_rest(void **state UNUSED)
{
	play(scene_daemon);
}

static void scene_deaf(void)
{
	struct exits e = { 0 };
	int said[2];
	pid_t pid;

	CHECK(pipe(said) == 0);
	if ((pid = fork()) == 0) {
		signal(SIGTERM, SIG_IGN);
		report_and_idle(said[1]);
	}
	CHECK(read_pid(said[0]) == pid);
	for (int i = 0; i < 50; i++) {
		CHECK(child_signal_direct(SIGTERM, NULL) == 1);
		CHECK(!child_reap(NULL, note_exit, &e));
		poll(NULL, 0, 2);
	}
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 1 && e.by_signal[SIGKILL] == 1);
}

static void a_child_deaf_to_term_is_not_gone_until_killed(void **state UNUSED)
{
	play(scene_deaf);
}

#define HEADS 25

/* On TERM it leaves a daemon behind that does the same, HEADS times over. */
static int heads_left = HEADS;

static void grow_another(int sig UNUSED)
{
	if (heads_left-- == 0)
		_exit(0);
	if (fork() == 0) {
		setsid();
		return;
	}
	_exit(0);
}

static void scene_hydra(void)
{
	struct exits e = { 0 };
	int said[2];

	CHECK(os_become_subreaper() == 0);
	CHECK(pipe(said) == 0);
	if (fork() == 0) {
		signal(SIGTERM, grow_another);
		CHECK(write(said[1], "", 1) == 1);
		for (int i = 0; i < 3 * STAGE_LIMIT_MS / 10; i++)
			poll(NULL, 0, 10);
		_exit(99);
	}
	CHECK(read(said[0], &(char){ 0 }, 1) == 1);
	CHECK(end_all(SIGTERM, NULL, &e));
	CHECK(e.count == HEADS + 1);
}

static void a_tree_that_grows_while_it_ends_ends_all_the_same(void **state UNUSED)
{
	play(scene_hydra);
}

static void scene_spared(void)
{
	struct spared s = { .count = 0 };
	struct exits e = { 0 };
	pid_t kept, other;

	CHECK(os_become_subreaper() == 0);
	kept = start_daemon();
	other = start_daemon();
	fork_idle();
	CHECK(spared_add(&s, kept) == 0);
	CHECK(!child_reap(&s, note_exit, &e)); /* the others are no spared ones */
	CHECK(end_all(SIGKILL, &s, &e));
	CHECK(e.count == 2 && e.by_signal[SIGKILL] == 2);
	CHECK(kill(kept, 0) == 0);
	CHECK(kill(other, 0) == -1 && errno == ESRCH);
	CHECK(child_signal_direct(SIGKILL, &s) == 0);
	CHECK(child_reap(&s, note_exit, &e));
	CHECK(child_signal_tree(kept, SIGKILL, &s) == 0);
	CHECK(!child_reap(NULL, note_exit, &e)); /* without the list it counts */
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 3);
}

static void a_spared_session_survives_and_does_not_spoil_the_proof(void **state UNUSED)
{
	play(scene_spared);
}

/* root → middle → leaf, the leaf in a session of its own. Returns root. */
static pid_t start_tree(pid_t *leaf)
{
	int said[2];
	pid_t root;

	CHECK(pipe(said) == 0);
	if ((root = fork()) == 0) {
		if (fork() == 0) {
			if (fork() == 0) {
				setsid();
				report_and_idle(said[1]);
			}
			poll(NULL, 0, 3 * STAGE_LIMIT_MS);
		}
		poll(NULL, 0, 3 * STAGE_LIMIT_MS);
		_exit(99);
	}
	*leaf = read_pid(said[0]);
	close(said[0]);
	close(said[1]);
	return root;
}

static void scene_tree(void)
{
	struct spared s = { .count = 0 };
	struct exits e = { 0 };
	pid_t root, leaf, bystander;

	CHECK(os_become_subreaper() == 0);
	bystander = fork_idle();
	root = start_tree(&leaf);
	CHECK(child_signal_tree(root, SIGUSR1, NULL) == 3);
	CHECK(EVENTUALLY((child_reap(NULL, note_exit, &e), e.count == 3)));
	CHECK(e.by_signal[SIGUSR1] == 3);
	CHECK(kill(bystander, 0) == 0);
	root = start_tree(&leaf);
	CHECK(spared_add(&s, leaf) == 0);
	CHECK(child_signal_tree(root, SIGUSR1, &s) == 2);
	CHECK(EVENTUALLY((child_reap(NULL, note_exit, &e), e.count == 5)));
	CHECK(kill(leaf, 0) == 0);
	CHECK(end_all(SIGKILL, NULL, &e));
	CHECK(e.count == 7);
}

static void a_whole_tree_is_signalled_and_nobody_beside_it(void **state UNUSED)
{
	play(scene_tree);
}

static void scene_no_root(void)
{
	/* kill(2) reads these as "everybody": none may reach it */
	CHECK(child_signal_tree(0, SIGKILL, NULL) == 0);
	CHECK(child_signal_tree(-1, SIGKILL, NULL) == 0);
	CHECK(child_signal_tree(1, 0, NULL) == 0);
	CHECK(child_signal_direct(SIGKILL, NULL) == 0);
}

static void a_root_that_is_no_process_signals_nobody(void **state UNUSED)
{
	play(scene_no_root);
}

#else

static void scene_no_list(void)
{
	struct spared s = { .count = 0 };
	pid_t pid = fork_idle();

	CHECK(child_signal_direct(SIGTERM, NULL) == -1);
	CHECK(spared_add(&s, getsid(0)) == 0);
	CHECK(!child_reap(&s, NULL, NULL)); /* it can't be proven */
	CHECK(child_signal_tree(pid, SIGKILL, NULL) == 1);
	CHECK(EVENTUALLY(child_reap(&s, NULL, NULL)));
}

static void without_a_list_of_children_nothing_is_claimed(void **state UNUSED)
{
	play(scene_no_list);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_runs_with_its_arguments_as_they_are),
		cmocka_unit_test(standard_fds_are_right_in_every_permutation_of_sources),
		cmocka_unit_test(a_failure_is_reported_even_where_standard_fds_are_closed),
		cmocka_unit_test(no_descriptor_above_2_reaches_a_child),
		cmocka_unit_test(a_child_that_cannot_start_says_which_step_and_why),
		cmocka_unit_test(bad_descriptors_and_none_left_are_told_apart),
		cmocka_unit_test(steps_have_names_for_messages),
		cmocka_unit_test(programs_are_found_in_the_childs_path_and_not_in_ours),
		cmocka_unit_test(a_path_element_that_is_too_long_is_passed_over),
		cmocka_unit_test(the_environment_is_the_one_given_or_ours),
		cmocka_unit_test(a_relative_program_is_relative_to_the_childs_directory),
		cmocka_unit_test(a_child_starts_with_default_signals_but_for_those_ignored_at_entry),
		cmocka_unit_test(sessions_and_groups_are_there_when_spawn_returns),
		cmocka_unit_test(reaping_reports_each_child_once_and_proves_when_none_is_left),
		cmocka_unit_test(the_spared_list_takes_each_session_once_and_is_bounded),
#ifdef FULL_SYSTEM
		cmocka_unit_test(a_daemon_comes_back_to_us_and_ends_with_the_rest),
		cmocka_unit_test(a_child_deaf_to_term_is_not_gone_until_killed),
		cmocka_unit_test(a_tree_that_grows_while_it_ends_ends_all_the_same),
		cmocka_unit_test(a_spared_session_survives_and_does_not_spoil_the_proof),
		cmocka_unit_test(a_whole_tree_is_signalled_and_nobody_beside_it),
		cmocka_unit_test(a_root_that_is_no_process_signals_nobody),
#else
		cmocka_unit_test(without_a_list_of_children_nothing_is_claimed),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
