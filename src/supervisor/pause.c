/*
 * pause.c: job control and the terminal's settings. Runs in the supervisor, which
 * never takes the terminal's foreground (no tcsetpgrp): it could not give it back
 * when killed (docs/design.md#terminal).
 */
#include "pause.h"

#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../common/json.h"
#include "../engine/os.h"
#include "signals.h"

static struct termios saved;
static int terminal = -1;
static bool has_saved;

/* From the background, tcsetattr() would stop us, and tcgetattr() would report the
 * settings of another program: the shell's line editor. */
static bool in_foreground(void)
{
	return terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
}

void pause_save_terminal(void)
{
	for (int fd = 0; fd <= 2 && terminal < 0; fd++)
		if (isatty(fd))
			terminal = fd;
	has_saved = in_foreground() && tcgetattr(terminal, &saved) == 0;
}

static bool same_settings(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
	       a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0 &&
	       cfgetispeed(a) == cfgetispeed(b) && cfgetospeed(a) == cfgetospeed(b);
}

/* Do the current settings, *theirs, differ from the saved ones? */
static bool has_changed(struct termios *theirs)
{
	return has_saved && in_foreground() && tcgetattr(terminal, theirs) == 0 &&
	       !same_settings(theirs, &saved);
}

void pause_restore_terminal(void)
{
	struct termios theirs;

	/* NOW: a terminal stopped by Ctrl+S never drains */
	if (has_changed(&theirs))
		tcsetattr(terminal, TCSANOW, &saved);
}

bool pause_in_foreground(void)
{
	pid_t group = terminal >= 0 ? tcgetpgrp(terminal) : -1;

	return group <= 0 || group == getpgrp();
}

/* Where the system can't list processes, the worker and its group are what we know. A stopped guard
 * continues when we die. */
static void signal_run(const struct run *run, int sig)
{
	if (run->guard > 0)
		kill(run->guard, sig);
	if (child_signal_tree(getpid(), sig, &run->spared) >= 0 || run->worker_pid <= 0)
		return;
	kill(run->worker_pid, sig);
	kill(-run->worker_pid, sig);
}

/* Stop with the terminal's settings as the shell left them; when continued, restore
 * those of the command. */
static void stop_until_continued(void)
{
	struct termios theirs;
	bool changed = has_changed(&theirs);

	pause_restore_terminal();
	signals_stop_self();
	if (changed && in_foreground())
		tcsetattr(terminal, TCSANOW, &theirs);
	else if (!changed)
		pause_save_terminal();
}

void pause_run(struct run *run, mono_t *last_sign)
{
	mono_t before = mono_now(), away;

	if (run->pauses)
		run->pauses->since = before;
	signal_run(run, SIGSTOP);
	signal_run(run, SIGSTOP); /* what was being forked meanwhile */
	block_hide(run);
	stop_until_continued();
	block_renew(run);
	away = mono_now() - before;
	run->paused += away;
	*last_sign += away;
	if (run->pauses) {
		run->pauses->total = run->paused;
		run->pauses->since = 0;
	}
	signal_run(run, SIGCONT);
}

void pause_describe_children(const struct spared *spare, struct buf *out)
{
	struct json_writer w = JSON_WRITER_INIT(out);
	static pid_t found[CHILD_MAX_FOUND];
	int n = MIN_OF(child_find_tree(getpid(), found, spare), 64);

	json_begin_object(&w);
	json_key(&w, "pids");
	json_begin_array(&w);
	for (int i = 0; i < n; i++)
		json_int(&w, found[i]);
	json_end_array(&w);
	json_end_object(&w);
}
