/*
 * attached.h: the files that an attempt has attached to its answer (ctx:attach). They are in memory until it is known that the
 * answer is a success: then each becomes a file that is kept for a day (engine/keep.h), and meta.attachments names it.
 */
#ifndef RUNNER_ATTACHED_H
#define RUNNER_ATTACHED_H

#include "../common/frame.h"

#define ATTACHED_MAX 16
#define ATTACHED_BYTES ((size_t)16 << 20) /* of all of an attempt */

struct run;
struct attached; /* NULL: there are none */

/* ATTACH: one file. Of two with the same name the later counts; what has no room is said to be lost (Lua looks before). */
void attached_take(struct attached **all, const struct frame *f);
void attached_release(struct attached **all);
/* The answer is known: keep those of a success, and write the value of meta.attachments into the report. */
void attached_keep(struct run *run);

#endif
