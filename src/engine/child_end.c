/*
 * child_end.c: how a tree of processes ends, and the proof that it is gone: the one
 * place that finds, signals and reaps what descends from us. Runs in every process of
 * ours, also in signal handlers: it uses system calls and its own memory only. It
 * waits for nothing; when to signal and for how long is the caller's.
 */
#include "child.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os.h"

#define REAP_TIME_MS 10 /* for one call: processes forked as fast as we reap must not keep us here */
#define WALK_TIME_MS 50 /* for walking a tree that may grow meanwhile */
#define TIME_BATCH 64   /* processes between two readings of the clock */

/* Not on the stack, which may be as small as ulimit -s makes it. One use at a time:
 * see child.h. */
static pid_t listed[CHILD_MAX_FOUND], found[CHILD_MAX_FOUND];

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
	pid_t session = getsid(pid);

	if (session == pid && os_mark_of(pid) == CHILD_JOB_MARK)
		return true;
	if (s == NULL || s->count == 0)
		return false;
	return (session > 0 && has_session(s, session)) || (s->mark != 0 && os_mark_of(pid) == s->mark);
}

/* --- finding --------------------------------------------------------------------- */

/* Is it a dead child of ours? A dead one has no children any more. */
static bool is_dead_child(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* List our living children in listed[]. How many, or -1 if they can't be listed. */
static int list_living(void)
{
	int count = os_children(getpid(), listed, CHILD_MAX_FOUND), living = 0;

	for (int i = 0; i < count; i++)
		if (!is_dead_child(listed[i]))
			listed[living++] = listed[i];
	return count < 0 ? -1 : living;
}

/* List those in listed[] and all their descendants in out[]. When the time is up, those
 * found by then, but never fewer than TIME_BATCH: who got no processor must not lose a
 * small tree. */
static int walk(int left, pid_t *out, const struct spared *spare, mono_t until)
{
	int count = 0;
	bool late = false;

	while (left > 0 && count < CHILD_MAX_FOUND) {
		pid_t pid = listed[--left];
		int more;

		if (spared_has(spare, pid))
			continue;
		out[count++] = pid;
		if (count % TIME_BATCH == 0)
			late = mono_now() >= until;
		if (late)
			continue;
		more = os_children(pid, listed + left, CHILD_MAX_FOUND - left);
		left += MAX_OF(more, 0);
	}
	return count;
}

/* Includes the root itself, unless it is us. -1 if its children can't be listed. */
static int find_tree(pid_t root, pid_t *out, const struct spared *spare, mono_t until)
{
	int left = root == getpid() ? list_living() : os_children(root, listed, 0);

	if (left >= 0 && root != getpid())
		listed[left++] = root;
	return left < 0 ? -1 : walk(left, out, spare, until);
}

int child_find_tree(pid_t root, pid_t *out, const struct spared *spare)
{
	return find_tree(root, out, spare, mono_add_ms(mono_now(), WALK_TIME_MS));
}

/* --- signalling ------------------------------------------------------------------ */

/* Those not reached when the time is up get no signal. */
static int signal_each(const pid_t *pids, int count, int sig, const struct spared *spare, mono_t until)
{
	int signalled = 0;
	pid_t self = getpid();

	for (int i = 0; i < count && (i % TIME_BATCH != TIME_BATCH - 1 || mono_now() < until); i++) {
		if (pids[i] == self || spared_has(spare, pids[i]) || kill(pids[i], sig) < 0)
			continue;
		signalled++;
		if (sig == SIGTERM)
			kill(pids[i], SIGCONT);
	}
	return signalled;
}

int child_signal_direct(int sig, const struct spared *spare)
{
	int count = os_children(getpid(), listed, CHILD_MAX_FOUND);

	return count < 0 ? -1 : signal_each(listed, count, sig, spare, MONO_NEVER);
}

int child_signal_tree(pid_t root, int sig, const struct spared *spare)
{
	mono_t until = mono_add_ms(mono_now(), WALK_TIME_MS);
	int count;

	if (root <= 1) /* kill(2) would take 0 and -1 for whole groups */
		return 0;
	count = find_tree(root, found, spare, until);
	return count < 0 ? -1 : signal_each(found, count, sig, spare, mono_add_ms(until, WALK_TIME_MS));
}

/* --- KILL ------------------------------------------------------------------------------ */

#define MAX_NEPHEWS 1024
#define GROUPS 512 /* a collision only costs a second kill */

/*
 * KILL to the group of a child of ours, dead or alive. Nobody else reaps it, so the
 * number of its group can't be given away meanwhile. To the kernel it is one step,
 * which who forks all the time can't slip through, and an heir is in its dead parent's
 * group until it makes its own. A session other than ours was made by somebody below
 * us, and only who descends from its maker is in it: its groups are ours whole.
 * False: it is not for us to kill, or in our own session.
 */
static bool kill_group(pid_t pid, pid_t own_session, pid_t *done, const struct spared *spare)
{
	pid_t group = getpgid(pid);

	if (group <= 1 || getsid(pid) == own_session || spared_has(spare, pid))
		return false;
	if (done[group % GROUPS] != group)
		kill(-group, SIGKILL);
	done[group % GROUPS] = group;
	return true;
}

/* The groups of its children, the newest first. It is stopped, so it reaps nobody. */
static void kill_groups_below(pid_t parent, pid_t own_session, pid_t *done, const struct spared *spare)
{
	int count = os_children_ends(parent, found, MAX_NEPHEWS);

	while (count-- > 0)
		(void)kill_group(found[count], own_session, done, spare);
}

/* Kill our children by their groups, the newest first: the dead of who forks all the
 * time may be thousands, and its heirs are the last in the list. The front of listed[]
 * gets the living ones that are in no such group. How many were alive, or -1. */
static int kill_children(const struct spared *spare, int *rest)
{
	pid_t session = getsid(0), done[GROUPS] = { 0 };
	int count = os_children_ends(getpid(), listed, CHILD_MAX_FOUND), living = 0, last = count;

	for (int i = count - 1; i >= 0; i--) {
		pid_t pid = listed[i];
		bool alive = !is_dead_child(pid);

		if (alive && !spared_has(spare, pid)) {
			kill(pid, SIGSTOP);
			kill_groups_below(pid, session, done, spare);
		}
		if (kill_group(pid, session, done, spare))
			living += alive;
		else if (alive)
			listed[--last] = pid;
	}
	*rest = count - last;
	for (int i = 0; i < *rest; i++)
		listed[i] = listed[last + i];
	return count < 0 ? -1 : living;
}

/* Whoever loses its parent becomes our child: it is in the next list. */
int child_kill_all(const struct spared *spare)
{
	mono_t until = mono_add_ms(mono_now(), WALK_TIME_MS);
	int rest, killed;

	os_hurry(); /* hundreds of forking processes would leave us too little of the processor */
	killed = kill_children(spare, &rest);

	if (killed < 0)
		return -1;
	rest = walk(rest, found, spare, until);
	return killed + signal_each(found, rest, SIGKILL, spare, MONO_NEVER);
}

/* --- the proof ------------------------------------------------------------------- */

static bool only_spared_left(const struct spared *spare)
{
	int count = os_children(getpid(), listed, CHILD_MAX_FOUND);

	if (count <= 0 || count == CHILD_MAX_FOUND)
		return false;
	for (int i = 0; i < count; i++)
		if (!spared_has(spare, listed[i]))
			return false;
	return true;
}

static bool reap(const struct spared *spare, child_exit_fn *on_exit, void *data)
{
	mono_t until = mono_add_ms(mono_now(), REAP_TIME_MS);

	for (int i = 1; i % TIME_BATCH != 0 || mono_now() < until; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return true;
		if (pid == 0)
			return only_spared_left(spare);
		if (pid > 0 && on_exit != NULL)
			on_exit(pid, status, data);
	}
	kill(getpid(), SIGCHLD); /* there may be more to reap; raise(3) of musl takes a sibling's parent for us (os.h) */
	return false;
}

bool child_reap(const struct spared *spare, child_exit_fn *on_exit, void *data)
{
	bool over = reap(spare, on_exit, data);

	if (over)
		os_rest();
	return over;
}
