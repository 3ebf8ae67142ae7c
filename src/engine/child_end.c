/*
 * child_end.c: how a tree of processes ends, and the proof that it is gone.
 * Runs in both processes, also in signal handlers: all but child_signal_tree()
 * use system calls and their own stack only. It waits for nothing; when to
 * signal and for how long is the caller's.
 */
#include "child.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os.h"

#define MAX_PIDS CHILD_MAX_FOUND /* 16 KiB of stack each: a handler can bear it */
#define MAX_REAPED 65536     /* in one call: a fork bomb must not keep us here */

/* --- spared ---------------------------------------------------------------------- */

static bool has_session(const struct spared *s, pid_t session)
{
	for (int i = 0; i < s->count; i++)
		if (s->session[i] == session)
			return true;
	return false;
}

int spared_add(struct spared *s, pid_t session)
{
	if (has_session(s, session))
		return 0;
	if (s->count == CHILD_MAX_SPARED)
		return -1;
	s->session[s->count++] = session;
	return 0;
}

bool spared_has(const struct spared *s, pid_t pid)
{
	pid_t session;

	if (s == NULL || s->count == 0)
		return false;
	session = getsid(pid);
	return session > 0 && has_session(s, session);
}

/* --- signalling ------------------------------------------------------------------ */

static int signal_all(const pid_t *pids, int count, int sig, const struct spared *spare)
{
	int signalled = 0;
	pid_t self = getpid();

	for (int i = 0; i < count; i++)
		if (pids[i] != self && !spared_has(spare, pids[i]) && kill(pids[i], sig) == 0)
			signalled++;
	return signalled;
}

int child_signal_direct(int sig, const struct spared *spare)
{
	pid_t pids[MAX_PIDS];
	int count = os_children(getpid(), pids, MAX_PIDS);

	return count < 0 ? -1 : signal_all(pids, count, sig, spare);
}

int child_find_tree(pid_t root, pid_t *found, const struct spared *spare)
{
	pid_t todo[MAX_PIDS];
	int left = 0, count = 0;

	todo[left++] = root;
	while (left > 0 && count < MAX_PIDS) {
		pid_t pid = todo[--left];
		int more;

		if (spared_has(spare, pid))
			continue;
		found[count++] = pid;
		more = os_children(pid, todo + left, MAX_PIDS - left);
		left += MAX_OF(more, 0);
	}
	return count;
}

int child_signal_tree(pid_t root, int sig, const struct spared *spare)
{
	pid_t found[MAX_PIDS];

	if (root <= 1) /* kill(2) would take 0 and -1 for whole groups */
		return 0;
	return signal_all(found, child_find_tree(root, found, spare), sig, spare);
}

/* --- the proof ------------------------------------------------------------------- */

static bool only_spared_left(const struct spared *spare)
{
	pid_t pids[MAX_PIDS];
	int count;

	if (spare == NULL || spare->count == 0)
		return false;
	count = os_children(getpid(), pids, MAX_PIDS);
	if (count <= 0 || count == MAX_PIDS)
		return false;
	for (int i = 0; i < count; i++)
		if (!spared_has(spare, pids[i]))
			return false;
	return true;
}

bool child_reap(const struct spared *spare, child_exit_fn *on_exit, void *data)
{
	for (int i = 0; i < MAX_REAPED; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return true;
		if (pid == 0)
			return only_spared_left(spare);
		if (pid > 0 && on_exit != NULL)
			on_exit(pid, status, data);
	}
	return false;
}
