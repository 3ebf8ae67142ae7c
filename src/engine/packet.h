/*
 * packet.h: a request to a process that forks for another one (forker.h, zygote.h): what is to
 * start, and its descriptors, as one packet of a SOCK_SEQPACKET socket. Both ends run the same
 * program. Uses no malloc, no stdio and no lock.
 */
#ifndef RUNNER_PACKET_H
#define RUNNER_PACKET_H

#include "child.h"

struct packet {
	struct child_spec spec; /* its argv, envp (NULL: ours), cwd, fd and mark are sent */
	int64_t grace_ms;
	int held, report;       /* descriptors for shepherd.h; -1: none */
	int directory;          /* where spec.cwd begins; -1: where the other process is */
};

/* Send it; no SIGPIPE. False with errno: E2BIG when it is too large, EPIPE or ECONNRESET when
 * nobody is there. */
bool packet_send(int channel, const struct packet *p);

/* Wait for one: false at the end, or after any failure. Its strings are valid until the next
 * call, its descriptors are close-on-exec. */
bool packet_receive(int channel, struct packet *p);

/* Close the descriptors of a received one. */
void packet_close(struct packet *p);

#endif
