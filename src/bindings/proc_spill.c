/*
 * proc_spill.c: a child's whole stdout in a private file, once it is more than its tap
 * keeps. Runs in the worker; a failure costs the file and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../common/xio.h"
#include "proc.h"

static void spill_failed(struct proc *p, int err)
{
	p->spill_error = err;
	p->spilled = false;
	if (p->spill_fd < 0)
		return;
	xclose(&p->spill_fd);
	unlink(p->spill);
}

/* All that came so far is in the tap. */
static int spill_open(struct proc *p)
{
	struct tap *tap = &p->out[0].tap;
	struct buf kept = BUF_INIT;
	int rc = -1;

	p->spill_fd = xopen(p->spill, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (p->spill_fd < 0)
		return -1;
	tap_text(tap, &kept);
	if (kept.failed || tap_dropped(tap) > 0)
		errno = ENOMEM;
	else
		rc = xwrite_all(p->spill_fd, buf_cstr(&kept), kept.len);
	buf_release(&kept);
	p->spilled = rc == 0;
	return rc;
}

void proc_spill(struct proc *p, const char *bytes, size_t n)
{
	struct tap *tap = &p->out[0].tap;

	if (!p->spill || p->spill_error || tap->total + n <= tap->head_cap + tap->tail_cap)
		return;
	if (tap->total + n > p->spill_max)
		spill_failed(p, EFBIG);
	else if ((p->spill_fd < 0 && spill_open(p) < 0) || xwrite_all(p->spill_fd, bytes, n) < 0)
		spill_failed(p, errno);
}
