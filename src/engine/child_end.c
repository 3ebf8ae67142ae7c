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

#include "../common/rest.h"
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
	if (s == NULL)
		return false;
	if (s->guard > 0 && pid == s->guard)
		return true;
	return s->count > 0 && ((session > 0 && has_session(s, session)) || (s->mark != 0 && os_mark_of(pid) == s->mark));
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

void child_term(pid_t pid, int cause)
{
	if (sigqueue(pid, SIGTERM, (union sigval){ .sival_int = cause }) < 0)
		kill(pid, SIGTERM);
	kill(pid, SIGCONT);
}

void child_ask_to_end(pid_t pid, int sig, const struct spared *spare)
{
	pid_t group = getpgid(pid);
	int count = group == pid ? 0 : child_find_tree(pid, found, spare);

	if (count < 0 && group == getpid()) { /* no process can be listed: all of our group, with us who have heard it */
		kill(0, SIGTERM);
		kill(0, SIGCONT);
	} else if (count <= 0) { /* it leads the group */
		kill(group == pid ? -pid : pid, sig);
		kill(group == pid ? -pid : pid, SIGCONT);
	}
	for (int i = 0; i < count; i++)
		if (getpgid(found[i]) == group) {
			kill(found[i], sig);
			kill(found[i], SIGCONT);
		}
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
	os_hurry(); /* hundreds of forking processes would leave us too little of the processor */
	count = find_tree(root, found, spare, until);
	if (count >= 0)
		count = signal_each(found, count, sig, spare, mono_add_ms(until, WALK_TIME_MS));
	os_rest();
	return count;
}

/* --- KILL ------------------------------------------------------------------------------ */

#define MAX_NEPHEWS 1024
#define GROUPS 512 /* a collision only costs a second kill */

/*
 * KILL to the group of a child of ours, dead or alive. No other process reaps it, so the
 * number of its group can't be given away meanwhile. To the kernel it is one step,
 * which who forks all the time can't slip through, and an heir is in its dead parent's
 * group until it makes its own. A session other than ours was made by a process below
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

/* The groups of its children, the newest first. It is stopped, so it reaps no child. */
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

#define KILL_AGAIN_MS 2  /* a process was alive */
#define LOOK_AGAIN_MS 20 /* all are dead: reap, for longer than the look at them took: they may be tens of thousands */

mono_t child_kill_again(mono_t began, int alive)
{
	int64_t took = mono_elapsed_ms(began, mono_now());

	return mono_add_ms(mono_now(), alive != 0 ? KILL_AGAIN_MS : MAX_OF(LOOK_AGAIN_MS, 4 * took));
}

/* A process that loses its parent becomes our child: it is in the next list. */
int child_kill_all(const struct spared *spare)
{
	mono_t until = mono_add_ms(mono_now(), WALK_TIME_MS);
	int rest, killed;

	os_hurry(); /* until all are reaped */
	killed = kill_children(spare, &rest);

	if (killed < 0)
		return -1;
	rest = walk(rest, found, spare, until);
	(void)signal_each(found, rest, SIGKILL, spare, MONO_NEVER); /* another user's can't be: it lives */
	return killed + rest;
}

/* --- by mark --------------------------------------------------------------------- */

#define RUN_MARK (UINT64_C(1) << 62) /* no time since the boot, and less than no limit */
#define TIME_BITS 40                 /* the rest is the number of the process */
#define MAX_PID (1 << 22)            /* proc_sys_kernel(5): of pid_max */

_Static_assert(!(CHILD_JOB_MARK & RUN_MARK), "no run has the mark of a job");

uint64_t child_run_mark(mono_t started)
{
	return RUN_MARK | (uint64_t)getpid() << TIME_BITS | ((uint64_t)started & ((UINT64_C(1) << TIME_BITS) - 1));
}

struct hunt {
	uint64_t mark;
	int sig;
	pid_t session;
	bool is_listed;
	bool alive; /* one of them was, at least */
	pid_t done[GROUPS];
};

/* At once, and only then is it asked whether it was alive: it may fork meanwhile. The dead that no process
 * has reaped may be thousands. */
static void hunt_one(pid_t pid, void *data)
{
	struct hunt *h = data;

	if (pid == getpid() || os_mark_of(pid) != h->mark)
		return;
	if (h->sig == SIGKILL)
		(void)kill_group(pid, h->session, h->done, NULL);
	if (kill(pid, h->sig) == 0 && !h->alive)
		h->alive = !h->is_listed || os_process_lives(pid);
	if (h->sig != SIGKILL && h->sig != 0)
		kill(pid, SIGCONT);
}

/* The number that was given away last; -1 if we can't fork. */
static pid_t newest_number(void)
{
	pid_t pid = os_fork_unnoticed();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		os_reap_unnoticed(pid);
	return pid;
}

/* Numbers are given away in order, and all since that of the supervisor may be those of its run. */
static void hunt_by_number(struct hunt *h)
{
	pid_t first = (pid_t)((h->mark & ~RUN_MARK) >> TIME_BITS), last = newest_number();

	for (pid_t pid = first; pid != last;) {
		pid = pid < MAX_PID ? pid + 1 : 2;
		hunt_one(pid, h);
		if (pid == first)
			break;
	}
}

bool child_signal_marked(uint64_t mark, int sig, pid_t session)
{
	struct hunt h = { .mark = mark, .sig = sig, .session = session, .is_listed = true };

	if (!(mark & RUN_MARK) || mark >= RUN_MARK << 1)
		return false;
	if (os_each_process(hunt_one, &h) < 0) {
		h.is_listed = false;
		hunt_by_number(&h);
	}
	return h.alive;
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
		if (pid < 0 && !rest_again())
			return false;
		if (pid > 0)
			rest_changed();
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
