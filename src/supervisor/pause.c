/*
 * pause.c: job control and the terminal's settings. Runs in the supervisor,
 * which never takes the terminal's foreground (never tcsetpgrp, design §6).
 */
#include "pause.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "../common/json.h"
#include "../engine/os.h"

static struct termios saved;
static int terminal = -1;

void pause_save_terminal(void)
{
	for (int fd = 0; fd <= 2 && terminal < 0; fd++)
		if (tcgetattr(fd, &saved) == 0)
			terminal = fd;
}

void pause_restore_terminal(void)
{
	/* from the background this would stop us: then leave it alone */
	if (terminal >= 0 && tcgetpgrp(terminal) == getpgrp())
		tcsetattr(terminal, TCSADRAIN, &saved);
}

void pause_run(struct run *run, mono_t *last_sign)
{
	mono_t before = mono_now(), away;
	pid_t children[256];
	int n = os_children(getpid(), children, (int)ARRAY_LEN(children));

	for (int i = 0; i < n; i++)
		child_signal_tree(children[i], SIGSTOP, &run->spared);
	kill(getpid(), SIGSTOP);
	for (int i = 0; i < n; i++)
		child_signal_tree(children[i], SIGCONT, &run->spared);
	away = mono_now() - before;
	run->paused += away;
	*last_sign += away;
}

void pause_describe_children(const struct spared *spare, struct buf *out)
{
	struct json_writer w = JSON_WRITER_INIT(out);
	pid_t children[64];
	int n = os_children(getpid(), children, (int)ARRAY_LEN(children));

	json_begin_object(&w);
	json_key(&w, "pids");
	json_begin_array(&w);
	for (int i = 0; i < n; i++)
		if (!spared_has(spare, children[i]))
			json_int(&w, children[i]);
	json_end_array(&w);
	json_end_object(&w);
}
