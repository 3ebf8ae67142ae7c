/*
 * channels.c: opens the channels, forks the worker and reads from it. Runs in the
 * supervisor; the worker leaves this room when it calls its entry point.
 */
#include "channels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/xio.h"
#include "../engine/os.h"
#include "../engine/test_page.h"
#include "signals.h"

#define READ_MAX (64 << 10)
#define READ_LONG_MAX (256 << 10) /* of a long frame */
#define REST_READS 32 /* × READ_MAX: more than a pipe can hold */

int channels_open(struct channels *ch)
{
	memset(ch, -1, sizeof(*ch));
	if (xsocketpair(ch->frames) < 0 || os_name_senders(ch->frames[0]) < 0 || xpipe(ch->out) < 0 || xpipe(ch->err) < 0 ||
	    xnonblock(ch->frames[0]) < 0 || xnonblock(ch->out[0]) < 0 || xnonblock(ch->err[0]) < 0) {
		int saved = errno;

		channels_close(ch);
		errno = saved;
		return -1;
	}
	return 0;
}

void channels_close(struct channels *ch)
{
	for (int i = 0; i < 2; i++) {
		xclose(&ch->frames[i]);
		xclose(&ch->out[i]);
		xclose(&ch->err[i]);
	}
}

/* --- the fork ------------------------------------------------------------------- */

static void onto(int from, int to)
{
	if (dup2(from, to) < 0)
		_exit(127);
}

/* os_close_from() wants them in ascending order. */
static int keep_also(int *keep, int kept, int fd)
{
	int i = kept;

	if (fd < 3)
		return kept;
	for (; i > 0 && keep[i - 1] > fd; i--)
		keep[i] = keep[i - 1];
	keep[i] = fd;
	return kept + 1;
}

NO_RETURN static void become_worker(struct channels *ch, struct run *run, mono_t now)
{
	struct launch launch = run->launch;
	int keep[6], kept = 0, null;

	child_reset_signals();
	os_become_subreaper();
	onto(ch->out[1], 1);
	launch.above_fd = launch.stderr_is_tty ? ch->err[1] : -1;
	if (launch.above_fd < 0)
		onto(ch->err[1], 2);
	if (launch.job_lock > 0) {
		kept = keep_also(keep, kept, launch.job_lock);
		os_mark(launch.mark); /* its own tree is not spared */
	}
	if (test_page())
		kept = keep_also(keep, kept, TEST_PAGE_FD); /* for calls below this one */
	kept = keep_also(keep, kept, launch.stdin_fd);
	kept = keep_also(keep, kept, launch.stdout_fd);
	kept = keep_also(keep, kept, ch->frames[1]);
	kept = keep_also(keep, kept, launch.above_fd);
	os_close_from(3, keep, (size_t)kept);
	null = xopen_null(); /* now that there is room */
	onto(null, 0);
	xclose(&null);
	launch.frame_fd = ch->frames[1];
	launch.attempt_started = now;
	_exit(run->worker(&launch));
}

pid_t channels_fork(struct channels *ch, struct run *run, mono_t now)
{
	sigset_t all, before;
	pid_t pid;
	int saved;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	saved = errno;
	if (pid == 0)
		become_worker(ch, run, now);
	sigprocmask(SIG_SETMASK, &before, NULL);
	ch->worker = pid;
	run->worker_fd = ch->frames[0];
	xclose(&ch->frames[1]);
	xclose(&ch->out[1]);
	xclose(&ch->err[1]);
	errno = saved;
	return pid;
}

/* --- reading ---------------------------------------------------------------------- */

void channels_wait(struct channels *ch, struct outlet *err, bool hold_frames, mono_t deadline)
{
	bool crowded = outlet_crowded(err);

	ch->ready[0] = (struct pollfd){ .fd = hold_frames ? -1 : ch->frames[0], .events = POLLIN };
	ch->ready[1] = (struct pollfd){ .fd = crowded ? -1 : ch->out[0], .events = POLLIN };
	ch->ready[2] = (struct pollfd){ .fd = crowded ? -1 : ch->err[0], .events = POLLIN };
	outlet_poll(err, ch->ready, (int)ARRAY_LEN(ch->ready), deadline);
}

bool channels_has_frames(const struct channels *ch)
{
	return ch->ready[0].revents != 0;
}

/* The number of bytes read. At the end of the stream, or on an error other than
 * EAGAIN, the descriptor is closed: poll() must not report it forever. */
static ssize_t read_some(int *fd, char *bytes, size_t n)
{
	ssize_t got = *fd < 0 ? 0 : xread(*fd, bytes, n);

	if (*fd >= 0 && (got == 0 || (got < 0 && errno != EAGAIN)))
		xclose(fd);
	return got;
}

/* As read_some(), with who has sent it; 0: it isn't known. */
static ssize_t read_from(int *fd, char *bytes, size_t n, pid_t *sender)
{
	ssize_t got = *fd < 0 ? 0 : os_receive(*fd, bytes, n, sender);

	if (*fd >= 0 && (got == 0 || (got < 0 && errno != EAGAIN)))
		xclose(fd);
	return got;
}

bool channels_read_frames(struct channels *ch, struct frame_decoder *d, pid_t *intruder)
{
	static char bytes[READ_MAX];
	size_t max = sizeof(bytes);
	char *room = frame_room(d, &max);
	pid_t sender = 0;
	ssize_t n = read_from(&ch->frames[0], room ? room : bytes, MIN_OF(max, (size_t)READ_LONG_MAX), &sender);

	if (n > 0 && sender != ch->worker && sender >= 0)
		*intruder = sender ? sender : -1;
	else if (n > 0 && room)
		frame_fed(d, (size_t)n);
	else if (n > 0)
		(void)frame_feed(d, bytes, (size_t)n); /* the decoder remembers a failure */
	return n > 0;
}

static bool read_tap(int *fd, struct run *run, enum secrets_source source)
{
	static char bytes[READ_MAX];
	ssize_t n = read_some(fd, bytes, sizeof(bytes));

	if (n <= 0)
		return false;
	secrets_pass(run, source, bytes, (size_t)n);
	return true;
}

bool channels_read_taps(struct channels *ch, struct run *run)
{
	bool came = false;

	if (ch->ready[1].revents)
		came |= read_tap(&ch->out[0], run, SECRETS_STDOUT);
	if (ch->ready[2].revents)
		came |= read_tap(&ch->err[0], run, SECRETS_STDERR);
	secrets_rest(run, false);
	return came;
}

void channels_read_rest(struct channels *ch, struct run *run)
{
	for (int i = 0; i < REST_READS && read_tap(&ch->out[0], run, SECRETS_STDOUT); i++)
		;
	for (int i = 0; i < REST_READS && read_tap(&ch->err[0], run, SECRETS_STDERR); i++)
		;
	secrets_end(run);
}
