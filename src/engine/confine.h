/*
 * confine.h: what a process and everything that it starts may reach of files, network and other
 * processes, held by the kernel (Landlock). It only ever narrows, and can't be undone. Needs no
 * privilege, and takes the one of set-user-ID programs away (PR_SET_NO_NEW_PRIVS). landlock(7).
 */
#ifndef RUNNER_CONFINE_H
#define RUNNER_CONFINE_H

#include <stdint.h>

#include "../common/base.h"

/* What is to be confined. */
struct confine {
	bool write, read, network;
};

/* What an ABI can do for that: the rights that are taken from everything, and those that a
 * rule gives back. Each is 0 where there is nothing to do. */
struct confine_masks {
	uint64_t handled_fs, handled_net, scoped;
	uint64_t give_write, give_read; /* for a path that may be written to, or read */
	uint64_t give_lock;             /* for a folder of locks: files are made there and never removed */
	uint64_t give_root;             /* for "/": rights that are handled without being confined */
};

/* Since which ABI the kernel has what a caller of ours can ask for. */
#define CONFINE_ABI_FILES 1
#define CONFINE_ABI_TRUNCATE 3
#define CONFINE_ABI_TCP 4
#define CONFINE_ABI_SCOPES 6 /* signals, and sockets with an abstract name */

/* The kernel's ABI; 0: it has no Landlock, or was started without. */
int confine_abi(void);

/* Pure. An ABI above those that we know gives what the last of them gives. */
void confine_masks(int abi, const struct confine *what, struct confine_masks *masks);

/* A new ruleset, which the caller closes; -1: errno says why (ENOMSG: there is no Landlock). */
int confine_open(int abi, const struct confine_masks *masks);

/* Give rights below a directory, or to a file. -1: errno says why. */
int confine_give(int ruleset, const char *path, uint64_t rights);

/* Let TCP connect to a port of any host, where the network is confined. -1: errno says why. */
int confine_give_port(int ruleset, uint16_t port);

/* Confine this thread and what it starts from now on, which gain no privileges any more, and keep
 * the memory and the descriptors of this process from the programs that it starts. With the ruleset
 * -1 that is all. -1: errno says why. */
int confine_enter(int ruleset);

#endif
