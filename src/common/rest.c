/*
 * rest.c: waits that can't spin (rest.h). A process waits in one place at a time, so one count is enough for it.
 */
#include "rest.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "buf.h"
#include "json.h"

#define AT_ONCE_NS 500000 /* a shorter wait was none */
#define FREE 64           /* of these in a row: a crowd of events looks like this */
#define LONGEST 4         /* 2^4 ms */
#define TELL 32           /* rests: by then it is no accident */

static volatile unsigned changes;
static unsigned seen;
static int in_vain;
static bool told;
static struct rest_cause woken_by = { .fd = -1 };

void rest_changed(void)
{
	changes++;
}

mono_t rest_before(const sigset_t *mask)
{
	struct timespec pause = { 0 };

	if (changes != seen)
		in_vain = 0;
	seen = changes;
	if (in_vain >= FREE) {
		pause.tv_nsec = 1000000L << MIN_OF(in_vain - FREE, LONGEST);
		(void)ppoll(NULL, 0, &pause, mask);
	}
	return mono_now();
}

void rest_after(mono_t began)
{
	int saved = errno;

	in_vain = mono_now() - began >= AT_ONCE_NS ? 0 : MIN_OF(in_vain + 1, FREE + TELL);
	errno = saved;
}

static void note_cause(const struct pollfd *fds, int n, int ready)
{
	woken_by = (struct rest_cause){ .fd = -1 };
	for (int i = 0; i < n && ready > 0; i++)
		if (fds[i].revents && fds[i].fd >= 0)
			woken_by = (struct rest_cause){ fds[i].fd, fds[i].revents };
}

int rest_poll(struct pollfd *fds, int n, mono_t until, const sigset_t *mask)
{
	mono_t began = rest_before(mask);
	struct timespec ts;
	int ready = ppoll(fds, (nfds_t)n, mono_left(until, began, &ts), mask);

	rest_after(began);
	if (in_vain >= FREE)
		note_cause(fds, n, ready);
	return ready;
}

/* How long the call had waited is unknown: the time between two failures stands for it. */
bool rest_again(void)
{
	static mono_t last;
	mono_t now;

	if (errno != EINTR)
		return false;
	now = rest_before(NULL);
	in_vain = now - last >= AT_ONCE_NS ? 0 : MIN_OF(in_vain + 1, FREE);
	last = now;
	return true;
}

bool rest_tell(struct rest_cause *cause)
{
	if (told || in_vain < FREE + TELL)
		return false;
	*cause = woken_by;
	return told = true;
}

static void add_events(struct buf *out, short events)
{
	static const struct {
		short bit;
		const char *name;
	} names[] = { { POLLIN, "POLLIN" }, { POLLOUT, "POLLOUT" }, { POLLERR, "POLLERR" }, { POLLHUP, "POLLHUP" }, { POLLNVAL, "POLLNVAL" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (events & names[i].bit) {
			buf_add_str(out, out->len ? " " : "");
			buf_add_str(out, names[i].name);
		}
}

/* What the descriptor leads to, as far as the system says. */
static size_t target_of(int fd, char *out, size_t n)
{
	char link[32];
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, out, n);
	return (size_t)MAX_OF(got, 0);
}

void rest_describe(const struct rest_cause *cause, const char *process, struct buf *out)
{
	struct json_writer w = JSON_WRITER_INIT(out);
	struct buf events = BUF_INIT;
	char target[256];

	json_begin_object(&w);
	json_key(&w, "process"), json_cstr(&w, process);
	if (cause->fd >= 0) {
		add_events(&events, cause->events);
		json_key(&w, "fd"), json_int(&w, cause->fd);
		json_key(&w, "target"), json_str(&w, target, target_of(cause->fd, target, sizeof(target)));
		json_key(&w, "events"), json_str(&w, buf_cstr(&events), events.len);
	}
	json_end_object(&w);
	buf_release(&events);
}
