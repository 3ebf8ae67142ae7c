/*
 * system_calls.h: the system calls that a confined process and everything that it starts may make
 * (seccomp). It refuses what Landlock doesn't know: sockets, what is typed into a terminal, what
 * belongs to other processes of the same user. It only ever narrows, and can't be undone. seccomp(2).
 */
#ifndef RUNNER_SYSTEM_CALLS_H
#define RUNNER_SYSTEM_CALLS_H

#include "../common/base.h"

/* The sockets that can still be made: all; TCP ones, of which none listens, while Landlock says which ports they
 * connect to; with UDP; only those of this machine, beside connected ones that are given (gate.h); or without. */
enum sockets { SOCKETS_ALL, SOCKETS_TCP, SOCKETS_TCP_UDP, SOCKETS_GIVEN, SOCKETS_LOCAL };

struct sock_filter;

/* Can this kernel hold it? */
bool system_calls_can_be_held(void);

/* The program for the kernel: how many instructions, of at most SYSTEM_CALLS_MAX. Pure. */
#define SYSTEM_CALLS_MAX 1024
int system_calls_filter(enum sockets sockets, struct sock_filter *out);

/* Confine this thread, which can't gain privileges any more (PR_SET_NO_NEW_PRIVS), and what it
 * starts from now on. -1: errno says why. */
int system_calls_confine(enum sockets sockets);

#endif
