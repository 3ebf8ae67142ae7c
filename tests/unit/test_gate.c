/*
 * test_gate.c: what a gate connects to, and what it refuses, whoever asks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/common/xio.h"
#include "../../src/engine/bounds.h"
#include "../../src/engine/confine.h"
#include "../../src/engine/gate.h"
#include "needs.h"

static void names_and_ports_are_compared_as_they_are(void **state)
{
	static const struct gate_host hosts[] = { { "api.example.org", 0 }, { "b.example.org", 8443 }, { "[::1]", 0 } };
	static const uint16_t ports[] = { 443, 8443 };
	static const struct {
		const char *name;
		uint16_t port;
		bool any_port, some_ports;
	} rows[] = {
		{ "api.example.org", 443, true, true },   { "api.example.org", 80, true, false },
		{ "b.example.org", 8443, true, true },    { "b.example.org", 443, false, false },
		{ "[::1]", 443, true, true },             { "api.example.org", 0, true, false },
		{ "api.example.orgx", 443, false, false }, { "xapi.example.org", 443, false, false },
		{ "example.org", 443, false, false },     { "", 443, false, false },
		{ "API.example.org", 443, false, false }, { "192.0.2.1", 443, false, false },
	};
	const struct gate_rules open = { hosts, NULL, ARRAY_LEN(hosts), 0 }, narrow = { hosts, ports, ARRAY_LEN(hosts), 2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(gate_allows(&open, rows[i].name, rows[i].port), rows[i].any_port);
		assert_int_equal(gate_allows(&narrow, rows[i].name, rows[i].port), rows[i].some_ports);
	}
}

static int listener(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static int ask(const char *name, uint16_t port, struct gate_failure *failure)
{
	int answer = gate_ask(name, port, 20000);
	struct pollfd fd = { .fd = answer, .events = POLLIN };

	assert_true(answer >= 0);
	assert_int_equal(poll(&fd, 1, 60000), 1);
	return gate_take(&answer, failure);
}

static void it_hands_over_what_is_connected_and_says_what_is_refused(void **state)
{
	struct gate_failure failure;
	uint16_t port, closed;
	int server = listener(&port), other = listener(&closed), fd, end;
	const struct gate_host hosts[] = { { "127.0.0.1", port }, { "127.0.0.1", closed }, { "no such name", 0 }, { "[::ffff:127.0.0.1]", 0 } };
	const struct gate_rules rules = { hosts, NULL, ARRAY_LEN(hosts), 0 };
	pid_t pid;

	(void)state;
	close(other);
	assert_false(gate_is_there());
	pid = gate_start(&rules);
	assert_true(pid > 0 && gate_is_there());
	assert_int_equal(gate_start(&rules), -1);
	for (int i = 0; i < 3; i++) {
		fd = ask("127.0.0.1", port, &failure);
		assert_true(fd >= 0);
		end = accept(server, NULL, NULL);
		assert_int_equal(write(end, "x", 1), 1);
		assert_int_equal(close(end), 0);
		assert_int_equal(close(fd), 0);
	}
	fd = ask("[::ffff:127.0.0.1]", port, &failure);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(ask("localhost", port, &failure), -1);
	assert_int_equal(failure.kind, GATE_REFUSED);
	assert_int_equal(ask("127.0.0.1", 1, &failure), -1);
	assert_int_equal(failure.kind, GATE_REFUSED);
	assert_int_equal(ask("127.0.0.1", closed, &failure), -1);
	assert_int_equal(failure.kind, GATE_UNCONNECTED);
	assert_int_equal(ask("no such name", 80, &failure), -1);
	assert_int_equal(failure.kind, GATE_UNRESOLVED);
	assert_int_equal(kill(pid, SIGTERM), 0); /* it goes on while its worker cleans up */
	fd = ask("127.0.0.1", port, &failure);
	assert_true(fd >= 0);
	close(fd);
	close(server);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(gate_ask("127.0.0.1", port, 0) < 0);
}

/* What a hostile worker sends that is no question. Nothing of the one before counts. */
static void send_a_part(int to, size_t size, struct gate_failure *failure)
{
	char part[4096];
	int ends[2];

	memset(part, 'x', sizeof(part));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_true(xsend_fds(to, part, size, &ends[1], 1));
	close(ends[1]);
	assert_int_equal(poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, 60000), 1);
	assert_int_equal(gate_take(&ends[0], failure), -1);
	assert_int_equal(failure->kind, GATE_GONE);
}

/* It is not left alone with a processor. */
static void it_answers_no_part_of_a_question_and_ends_when_its_worker_has_closed_the_channel(void **state)
{
	uint16_t port;
	int server = listener(&port);
	const struct gate_host host = { "127.0.0.1", port };
	const struct gate_rules rules = { &host, NULL, 1, 0 };
	struct gate_failure failure;
	int next = dup(0), fd, status = -1;
	pid_t pid, ended = 0;

	(void)state;
	close(next);
	pid = gate_start(&rules);
	assert_true(pid > 0);
	fd = ask("127.0.0.1", port, &failure);
	assert_true(fd >= 0);
	close(fd);
	send_a_part(next, 1, &failure);
	send_a_part(next, 4096, &failure);
	close(server);
	close(next);
	for (int i = 0; i < 30000 && ended == 0; i++)
		ended = poll(NULL, 0, 1) + waitpid(pid, &status, WNOHANG);
	assert_int_equal(ended, pid);
	assert_true(WIFEXITED(status));
	gate_dismiss();
	assert_false(gate_is_there());
}

static int tried(int result)
{
	return result < 0 ? errno : 0;
}

/* What a worker that is confined to hosts can make of a connection: its exit status says where it came to. */
static int take_apart(uint16_t port, uint16_t other)
{
	const struct gate_host host = { "127.0.0.1", port };
	const struct gate_rules rules = { &host, NULL, 1, 0 };
	const struct confine network = { .network = true };
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(other) };
	struct bounds bounds = { .sockets = SOCKETS_GIVEN, .filters = true };
	struct confine_masks masks;
	struct gate_failure failure;
	int fd;

	confine_masks(confine_abi(), &network, &masks);
	bounds.ruleset = confine_open(confine_abi(), &masks);
	if (gate_start(&rules) < 0 || confine_give(bounds.ruleset, "/", masks.give_root) < 0 || bounds_enter_files(&bounds) < 0 ||
	    bounds_enter_calls(&bounds) < 0)
		return 10;
	if (tried(socket(AF_INET, SOCK_STREAM, 0)) != EACCES)
		return 11;
	fd = ask("127.0.0.1", port, &failure);
	if (fd < 0 || tried((int)write(fd, "x", 1)) != 0)
		return 12;
	(void)connect(fd, &none, sizeof(none));
	if (tried(connect(fd, (struct sockaddr *)&at, sizeof(at))) != EACCES)
		return 13;
	if (tried((int)sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&at, sizeof(at))) != EACCES)
		return 14;
	at.sin_port = 0;
	if (tried(bind(fd, (struct sockaddr *)&at, sizeof(at))) != EACCES || tried(listen(fd, 1)) != EACCES)
		return 15;
	return 0;
}

static void a_connection_that_was_handed_over_leads_nowhere_else(void **state)
{
	uint16_t port, other;
	int server = listener(&port), victim = listener(&other), status;
	struct pollfd asked = { .fd = victim, .events = POLLIN };
	pid_t pid;

	(void)state;
	if (confine_abi() < CONFINE_ABI_TCP || !system_calls_can_be_held())
		NEEDS("a kernel with Landlock 4 and seccomp filters");
	pid = fork();
	if (pid == 0)
		_exit(take_apart(port, other));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(poll(&asked, 1, 0), 0);
	close(server);
	close(victim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_that_was_handed_over_leads_nowhere_else),
		cmocka_unit_test(names_and_ports_are_compared_as_they_are),
		cmocka_unit_test(it_answers_no_part_of_a_question_and_ends_when_its_worker_has_closed_the_channel),
		cmocka_unit_test(it_hands_over_what_is_connected_and_says_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
