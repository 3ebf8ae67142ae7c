/*
 * test_resource_usage.c: how the kernel's counters explain an attempt's end: MEMORY_LIMIT
 * or CPU_LIMIT if they do, a warning if they don't. The group is a
 * directory with the files that the kernel would keep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "../../src/supervisor/resource_usage.h"
#include "run_fixture.h"

static struct run run;
static struct resource_usage usage;
static struct report report;

static void put(const char *name, const char *text)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", usage.group.path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int open_scenario(void **state)
{
	(void)state;
	run_open(&run);
	run.plan.limits = (struct limits){ .of = { [RESOURCE_MEMORY] = 64000000, [RESOURCE_CPU] = 1000,
	                                           [RESOURCE_PROCESSES] = 32 } };
	usage = (struct resource_usage)RESOURCE_USAGE_INIT;
	usage.entered = true;
	strcpy(usage.group.path, "/tmp/test_quota.XXXXXX");
	assert_non_null(mkdtemp(usage.group.path));
	report_init(&report);
	return 0;
}

static int close_scenario(void **state)
{
	char command[600];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", usage.group.path);
	report_release(&report);
	run_close(&run);
	return usage.group.path[0] ? system(command) : 0;
}

static void end_by(enum verdict_kind verdict, int sig, const char *code)
{
	report.verdict = verdict;
	report.worker = (struct outcome){ .signalled = sig > 0, .status = sig };
	if (code)
		report_fail(&report, code, "as reported");
	else
		report.ok = true;
	run.spared.count = 1; /* or it would wait for the files to go */
	resource_usage_end(&usage, &run, &report);
}

static void the_kernel_killed_the_worker_for_memory(void **state)
{
	(void)state;
	put("memory.events", "oom 1\noom_kill 1\n");
	end_by(VERDICT_GONE, SIGKILL, "COMMAND_CRASHED");
	assert_string_equal(report.code, "MEMORY_LIMIT");
	assert_string_equal(buf_cstr(&report.context),
	                    "{\"limit_bytes\":64000000,\"by\":\"kernel\",\"mechanism\":\"cgroup\"}");
	assert_int_equal(run.warnings.count, 0);
}

static void the_kernel_killed_a_child_for_memory_and_the_script_failed_by_it(void **state)
{
	(void)state;
	put("memory.events", "oom_kill 2\n");
	end_by(VERDICT_RESULT, 0, "SUBPROCESS_FAILED");
	assert_string_equal(report.code, "MEMORY_LIMIT");
	assert_string_equal(buf_cstr(&report.detail), "SUBPROCESS_FAILED: as reported");
}

static void a_script_that_copes_with_a_killed_child_is_warned(void **state)
{
	(void)state;
	put("memory.events", "oom_kill 2\n");
	end_by(VERDICT_RESULT, 0, NULL);
	assert_true(report.ok);
	assert_contains(buf_cstr(&run.warnings.rows), "\"code\":\"MEMORY_LIMIT\"");
	assert_contains(buf_cstr(&run.warnings.rows), "\"killed\":2");
}

static void an_error_of_the_scripts_own_stands(void **state)
{
	(void)state;
	put("memory.events", "oom_kill 1\n");
	end_by(VERDICT_RESULT, 0, "LOCKED");
	assert_string_equal(report.code, "LOCKED");
	assert_contains(buf_cstr(&run.warnings.rows), "\"code\":\"MEMORY_LIMIT\"");
}

static void another_crash_stays_a_crash(void **state)
{
	(void)state;
	put("memory.events", "oom_kill 0\n");
	put("cpu.stat", "usage_usec 500000\n");
	end_by(VERDICT_GONE, SIGKILL, "COMMAND_CRASHED");
	assert_string_equal(report.code, "COMMAND_CRASHED");
	assert_int_equal(run.warnings.count, 0);
}

static void lua_s_own_limit_says_so(void **state)
{
	(void)state;
	end_by(VERDICT_RESULT, 0, "MEMORY_LIMIT");
	assert_string_equal(buf_cstr(&report.context), "{\"limit_bytes\":64000000,\"by\":\"lua\"}");
}

static void what_has_nothing_to_do_with_memory_is_told_nothing_of_it(void **state)
{
	(void)state;
	end_by(VERDICT_RESULT, 0, "CONFLICT");
	assert_int_equal(report.context.len, 0);
}

static void a_memory_limit_that_the_script_reports_keeps_its_own_context(void **state)
{
	(void)state;
	buf_add_str(&report.context, "{\"by\":\"the script\"}");
	end_by(VERDICT_RESULT, 0, "MEMORY_LIMIT");
	assert_string_equal(buf_cstr(&report.context), "{\"by\":\"the script\"}");
}

static void without_a_limit_no_limit_is_named(void **state)
{
	(void)state;
	run.plan.limits.of[RESOURCE_MEMORY] = 0;
	end_by(VERDICT_RESULT, 0, "MEMORY_LIMIT");
	assert_int_equal(report.context.len, 0);
}

static void death_by_sigxcpu_is_the_cpu_limit(void **state)
{
	(void)state;
	put("cpu.stat", "usage_usec 1003000\n");
	end_by(VERDICT_GONE, SIGXCPU, "COMMAND_CRASHED");
	assert_string_equal(report.code, "CPU_LIMIT");
	assert_string_equal(buf_cstr(&report.context),
	                    "{\"limit_ms\":1000,\"used_ms\":1003,\"mechanism\":\"cgroup\"}");
}

static void death_by_sigkill_is_the_cpu_limit_only_beyond_the_hard_limit(void **state)
{
	(void)state;
	put("cpu.stat", "usage_usec 2001000\n");
	end_by(VERDICT_GONE, SIGKILL, "COMMAND_CRASHED");
	assert_string_equal(report.code, "CPU_LIMIT");
}

static void sigxcpu_without_a_declared_limit_is_a_crash(void **state)
{
	(void)state;
	run.plan.limits.of[RESOURCE_CPU] = 0;
	end_by(VERDICT_GONE, SIGXCPU, "COMMAND_CRASHED");
	assert_string_equal(report.code, "COMMAND_CRASHED");
}

static void refused_processes_are_counted(void **state)
{
	(void)state;
	put("pids.events", "max 7\n");
	end_by(VERDICT_RESULT, 0, NULL);
	assert_contains(buf_cstr(&run.warnings.rows), "\"code\":\"PROCESS_LIMIT\"");
	assert_contains(buf_cstr(&run.warnings.rows), "\"refused\":7");
}

static void cpu_time_is_checked_when_it_can_be_used_up_and_not_before(void **state)
{
	(void)state;
	put("cpu.stat", "usage_usec 999000\n");
	assert_false(resource_usage_is_spent(&usage, &run)); /* MONO_NEVER */
	usage.check_at = mono_add_ms(mono_now(), 60000);
	put("cpu.stat", "usage_usec 5000000\n");
	assert_false(resource_usage_is_spent(&usage, &run));
	mono_t before = usage.check_at = mono_now();
	put("cpu.stat", "usage_usec 400000\n");
	assert_false(resource_usage_is_spent(&usage, &run));
	assert_true(usage.check_at > before && usage.check_at <= mono_add_ms(mono_now(), 600));
	usage.check_at = mono_now();
	put("cpu.stat", "usage_usec 1000000\n");
	assert_true(resource_usage_is_spent(&usage, &run));
	assert_true(usage.check_at == MONO_NEVER);
}

static void without_limits_nothing_is_entered(void **state)
{
	struct resource_usage none = RESOURCE_USAGE_INIT;

	(void)state;
	run.plan.limits = (struct limits){ { 0 } };
	resource_usage_enter(&none, &run);
	assert_false(none.entered);
	assert_false(resource_usage_is_spent(&none, &run));
	resource_usage_end(&none, &run, &report);
	assert_int_equal(run.warnings.count, 0);
}

#define in_scenario(test) cmocka_unit_test_setup_teardown(test, open_scenario, close_scenario)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_scenario(the_kernel_killed_the_worker_for_memory),
		in_scenario(the_kernel_killed_a_child_for_memory_and_the_script_failed_by_it),
		in_scenario(a_script_that_copes_with_a_killed_child_is_warned),
		in_scenario(an_error_of_the_scripts_own_stands),
		in_scenario(another_crash_stays_a_crash),
		in_scenario(lua_s_own_limit_says_so),
		in_scenario(what_has_nothing_to_do_with_memory_is_told_nothing_of_it),
		in_scenario(a_memory_limit_that_the_script_reports_keeps_its_own_context),
		in_scenario(without_a_limit_no_limit_is_named),
		in_scenario(death_by_sigxcpu_is_the_cpu_limit),
		in_scenario(death_by_sigkill_is_the_cpu_limit_only_beyond_the_hard_limit),
		in_scenario(sigxcpu_without_a_declared_limit_is_a_crash),
		in_scenario(refused_processes_are_counted),
		in_scenario(cpu_time_is_checked_when_it_can_be_used_up_and_not_before),
		in_scenario(without_limits_nothing_is_entered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
