/*
 * os.h: functions that only some systems have. os_linux.c has them all; os_posix.c keeps
 * the rest working elsewhere with weaker guarantees (docs/design.md#portability).
 * Functions marked [signal] are async-signal-safe.
 */
#ifndef RUNNER_OS_H
#define RUNNER_OS_H

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../common/base.h"

/* Orphaned descendants become our children. 0, or -1 where unsupported. */
int os_become_subreaper(void);
/* The kernel sends `sig` to this process when its parent dies. 0 or -1. */
int os_parent_death_signal(int sig);
/* Close every descriptor ≥ lowest except `keep` (sorted ascending). [signal] */
void os_close_from(int lowest, const int *keep, size_t keep_count);
/* The name of this process in lists of processes: what is behind the last slash. */
void os_name_process(const char *name);
/* From now on this process leaves no core file, however it dies. [signal] */
void os_refuse_core(void);
/* List the direct children of process `pid`. Returns how many were stored (≤ cap),
 * or -1 if the system has no such list. [signal] */
int os_children(pid_t pid, pid_t *out, int cap);
/* The same, but of more than `cap` the oldest half and the newest half, the newest at the end.
 * It reads the whole list, in a time that grows with its square. [signal] */
int os_children_ends(pid_t pid, pid_t *out, int cap);
/* Run before everybody else, where that is allowed. [signal] */
void os_hurry(void);
/* … and like everybody else again. */
void os_rest(void);
/* The parent of pid and its start time in clock ticks since boot. 0 or -1. */
int os_process_info(pid_t pid, pid_t *parent, uint64_t *start_time);
/* Call f for each process of the system, soon after it was listed, and never twice for one that
 * lives on. 0, or -1 if the system has no such list. [signal] */
int os_each_process(void (*f)(pid_t pid, void *data), void *data);
/* Is it alive, and not just waiting to be reaped? [signal] */
bool os_process_lives(pid_t pid);
/* What process `pid` has as its stdin. 0; 1: the process or its stdin is not there; -1: it can't be seen. */
int os_process_stdin(pid_t pid, struct stat *st);
/* A close-on-exec descriptor that is readable while one of these blocked signals is pending;
 * -1 when the system has none. */
int os_watch_signals(const sigset_t *set);
/* Take one from it: its number, or 0 when none is pending. */
int os_take_signal(int fd);
/* Who has made the socket pair that `fd` is an end of, and for which user: 0, or -1. */
int os_peer(int fd, pid_t *pid, uid_t *user);
/* From now on the kernel says of all that this end of a socket pair receives which process sent it. 0, or -1
 * with errno. */
int os_name_senders(int fd);
/* read(2) from such an end, of one sender at a time: 0 is one that this PID namespace doesn't have; -1: this
 * system names none. EINTR is handled; descriptors that come with the bytes are closed. */
ssize_t os_receive(int fd, void *bytes, size_t n, pid_t *sender);
/* A close-on-exec descriptor that is readable once process `pid` is dead; -1
 * when the system has none. */
int os_watch_process(pid_t pid);
/* fork(2), but the child runs child(data), which must not return, in our memory on
 * a stack of its own, and we stand still until it runs a program or ends (as with
 * vfork(2)). It must change nothing that we use. The pid or -1. */
pid_t os_fork_borrowing(int (*child)(void *data), void *data);
/* fork(2), but the parent's wait(2) never sees the child, and no fork handlers
 * run. -1 where unsupported. */
pid_t os_fork_unnoticed(void);
/* Wait until such a child is dead. */
void os_reap_unnoticed(pid_t pid);
/* fork(2), but the child is our parent's, as we are: with the signal at its end that we have
 * at ours. No fork handlers run. -1 where unsupported. */
pid_t os_fork_sibling(void);
/* Give the pages of the heap (brk(2)) back; they read as zeros from now on. For a process that
 * never uses malloc again: a fork has so much less to copy. Best effort. [signal] */
void os_drop_heap(void);
/* Put a mark on this process that all its descendants inherit, whatever they do to their
 * session, group, environment and descriptors. 0 or -1. [signal] */
int os_mark(uint64_t mark);
/* The mark of process `pid`; some other number if it has none. [signal] */
uint64_t os_mark_of(pid_t pid);
/* Has something with a mark, whatever it was, started it? True where we can't look. */
bool os_is_marked(pid_t pid);
/* Now, in the unit of start times: who lives now started at this or earlier. */
int os_ticks_now(uint64_t *ticks);
/* Does this process have children (dead or alive) already? [signal] */
bool os_has_children(void);
/* Reopen descriptor fd as a new, non-blocking description, so that the flags
 * of the inherited one stay untouched. For pipes and terminals; -1 when that
 * is impossible or would lose the offset (regular files, sockets). */
int os_reopen_nonblocking(int fd, int flags);
/* write(2) that does not block this once, whatever the flags of the shared
 * description: bytes written, or -1 with EAGAIN, or with EOPNOTSUPP where the
 * kernel can't do that for such a descriptor. */
ssize_t os_write_nowait(int fd, const void *bytes, size_t n);
/* A close-on-exec file in memory that has no name; -1 when the system has none. */
int os_memory_file(void);
/* Map a page of memory that has this name in /proc/PID/maps: made by this program since it was executed, for a mapping
 * isn't inherited over that. NULL when the system has none. os_unmap_page() takes it away. */
void *os_named_page(const char *name);
void os_unmap_page(void *page);
/* The same, of a size that no process can change any more; and is `fd` one, of that size? */
int os_sealed_memory(size_t size);
bool os_is_sealed_memory(int fd, size_t size);
/* A timer of this process that sends it `sig`, by the clock that never steps; -1 if there can be none.
 * The C library's timer_create can start a thread, so Linux is asked itself. */
int os_timer(int sig);
/* From now on every `ns` nanoseconds; 0: no more. Takes no lock. [signal] */
void os_timer_every(int timer, long ns);
/* Fill with random bytes from the system; 0 or -1. */
int os_random(void *out, size_t n);

#endif
