/*
 * test_zygote_end.c: whatever happens to a zygote, a request is either a call or refused, and nothing
 * is left. Every scenario runs in a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "zygote_fixture.h"

#ifdef FULL_SYSTEM

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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_zygote_is_replaced_at_the_next_call),
		cmocka_unit_test(a_zygote_that_says_nothing_is_ended),
		cmocka_unit_test(a_zygote_that_is_of_no_use_is_not_started_again),
		cmocka_unit_test(a_zygote_ends_with_its_parent),
	};

	if (zygote_is_called(argc, argv))
		zygote_serve(refuse_to_fork, do_as_told);
	if (under_valgrind())
		return skip_all("valgrind knows no CLONE_PARENT");
	return cmocka_run_group_tests_name("the ends of zygotes", tests, NULL, NULL);
}

#else

int main(void)
{
	return skip_all("without CLONE_PARENT");
}

#endif
