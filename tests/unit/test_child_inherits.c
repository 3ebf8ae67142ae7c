/*
 * test_child_inherits.c: what a child inherits from us and what it must not:
 * PATH, environment, directory, signals, session.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

#include "child_fixture.h"

/* --- PATH and cwd ---------------------------------------------------------------- */

static const char *with_path(const char *program, const char *fmt, const char *a, const char *b)
{
	static char path[256];
	const char *env[] = { "OTHER=1", path, NULL };

	snprintf(path, sizeof(path), "PATH=%s%s%s", a, fmt, b);
	return output_of((struct child_spec){ .argv = ARGV(program), .envp = env });
}

static void scenario_path(void)
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
	run_forked(scenario_path);
}

static void scenario_long_path(void)
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
	run_forked(scenario_long_path);
}

static void scenario_environment(void)
{
	const char *env[] = { "PATH=/bin:/usr/bin", "ONLY=this", NULL };

	CHECK(setenv("RUNNER_TEST_OURS", "ours", 1) == 0);
	CHECK(strcmp(output_of((struct child_spec){ .argv = ARGV("env"), .envp = env }),
	             "PATH=/bin:/usr/bin\nONLY=this\n") == 0);
	CHECK(strstr(output_of((struct child_spec){ .argv = ARGV("env") }), "RUNNER_TEST_OURS=ours\n"));
}

static void the_environment_is_the_one_given_or_ours(void **state UNUSED)
{
	run_forked(scenario_environment);
}

static void scenario_cwd(void)
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
	run_forked(scenario_cwd);
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

/* The C library's own signals, which a program started by posix_spawn(3) (make's,
 * say) may find ignored and can't change: as they are, so they stay. */
static unsigned long ignored_for_good(void)
{
	char line[128];
	unsigned long mask = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "SigIgn:", 7) == 0)
			mask = strtoul(line + 7, NULL, 16);
	if (f)
		fclose(f);
	return mask & (bit(32) | bit(33));
}

static void check_signals(unsigned long ignored)
{
	const char *got = output_of((struct child_spec){ .argv = SHOW_SIGNALS });

	ignored |= ignored_for_good();
	if (strcmp(got, signal_lines(ignored)) != 0)
		dprintf(test_stderr, "%s", got);
	CHECK(strcmp(got, signal_lines(ignored)) == 0);
}

static void handler(int sig UNUSED)
{
}

static void scenario_signals(void)
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
	run_forked(scenario_signals);
}

static void scenario_sessions(void)
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
	run_forked(scenario_sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_found_in_the_childs_path_and_not_in_ours),
		cmocka_unit_test(a_path_element_that_is_too_long_is_passed_over),
		cmocka_unit_test(the_environment_is_the_one_given_or_ours),
		cmocka_unit_test(a_relative_program_is_relative_to_the_childs_directory),
		cmocka_unit_test(a_child_starts_with_default_signals_but_for_those_ignored_at_entry),
		cmocka_unit_test(sessions_and_groups_are_there_when_spawn_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
