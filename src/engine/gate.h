/*
 * gate.h: a process beside a worker that may make no socket. It connects to the hosts that were named when
 * it began, and to no other, and hands over what is connected: a process that gets hold of its channel gets
 * no more than that. Knows no Lua. One worker has one gate.
 */
#ifndef RUNNER_GATE_H
#define RUNNER_GATE_H

#include <sys/types.h>

#include "../common/mono.h"

#define GATE_HOST_MAX 300 /* bytes */
#define GATE_TEXT_MAX 128

/* What may be connected to. Names are as libcurl spells them in a URL; port 0: any of `ports`, or of all where
 * there are none. */
struct gate_host {
	const char *name;
	uint16_t port;
};

struct gate_rules {
	const struct gate_host *hosts;
	const uint16_t *ports;
	size_t host_count, port_count;
};

/* Pure. */
bool gate_allows(const struct gate_rules *rules, const char *name, uint16_t port);

/* Start it, once in a process: its pid, which no other code waits for, or -1 with errno. It ends when
 * the caller does. Call it while sockets can still be made. */
pid_t gate_start(const struct gate_rules *rules);
bool gate_is_there(void);
/* End it, and wait for its end. Async-signal-safe. */
void gate_dismiss(void);

/* Ask for a connection: a descriptor that gets readable with the answer, or -1 with errno. To close it is to
 * give up. timeout_ms 0: as long as the system tries. */
int gate_ask(const char *name, uint16_t port, int64_t timeout_ms);

struct gate_failure {
	enum { GATE_REFUSED = 1, GATE_UNRESOLVED, GATE_UNCONNECTED, GATE_TIMEOUT, GATE_GONE } kind;
	char text[GATE_TEXT_MAX];
};

/* The answer: a connected, non-blocking, close-on-exec socket; -1 with *failure. Closes *answer. */
int gate_take(int *answer, struct gate_failure *failure);

#endif
