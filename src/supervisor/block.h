/*
 * block.h: the lines at the bottom of a terminal that show what goes on: the progress of a
 * command, or a line for each step of a workflow. They are erased, and drawn again, below
 * whatever else is written. At most ten frames a second, each one write of what has changed.
 * While the terminal is lent (a question, a program that has it) nothing is drawn.
 */
#ifndef RUNNER_BLOCK_H
#define RUNNER_BLOCK_H

#include "../common/frame.h"
#include "../common/mono.h"
#include "picture.h"

struct run;

#define BLOCK_MAX 64 /* lines; what is more is not shown */

/* All zero: nothing is shown. */
struct block {
	bool is;           /* there are lines */
	bool has_steps;    /* … those of a workflow */
	bool composes;     /* … to be composed of the picture */
	struct picture picture;
	int lent;          /* to how many: they are off the screen meanwhile */
	struct buf given;  /* lines as the worker sent them, each ended by NUL */
	mono_t given_at;   /* their clocks count from here … */
	mono_t paused;     /* … without what was spent stopped since: run->paused at that time */
	struct buf above;  /* text that goes above the lines with the next frame */
	struct buf shown;  /* the lines as they are drawn, each ended by NUL */
	size_t width[BLOCK_MAX]; /* of each, in columns */
	int rows;          /* lines on the screen; the cursor is behind the last one */
	size_t columns;    /* of the terminal at that time */
	mono_t drawn_at;
	mono_t open_until; /* a line above that has no end yet is waited for until then */
	mono_t due;        /* the next frame; 0: none */
};

/* Does a person see such lines: a terminal with colours, without --quiet? */
bool block_is_wanted(const struct run *run);
/* The picture (picture.h) has changed: it is composed anew with the next frame. */
void block_change(struct run *run);
/* Leave these lines behind, as block_text_take() left them; what was shown ends. */
void block_stay(struct run *run, const struct buf *given);
/* PROGRESS.steps: the lines from now on, as far as a terminal shows them; an empty list ends
 * them, and with the state "over" they stay behind, as they are. A line is MARK US NAME US CLOCK US TEXT, where US is \x1f:
 * MARK   begins with the letter of its colour: green, red, yellow, cyan, dim, or a blank
 * NAME   is padded to the longest
 * CLOCK  "+MS" counts up from there, "-MS" down, "=MS" stands, "" is none
 * TEXT   is cut where the terminal ends */
void block_steps(struct run *run, const struct frame *f);
/* Write whole lines above those of the block. */
void block_emit(struct run *run, const void *bytes, size_t n);
/* The same for what the command's processes write: a line may come in pieces. */
void block_pass(struct run *run, const void *bytes, size_t n);
/* The terminal is another process's (+1) or ours again (-1); calls nest. */
void block_lend(struct run *run, int change);
/* When the next frame is due, MONO_NEVER: none is. Draw it if it is time, and write what can be
 * written now. */
mono_t block_next(const struct run *run);
void block_draw(struct run *run);
/* Take the lines off the screen for now: they come back with the next frame. */
void block_hide(struct run *run);
/* … as soon as may be: the terminal has another size, or belongs to us again. */
void block_renew(struct run *run);
/* The attempt is over: nothing is lent, and there are no lines. */
void block_close(struct run *run);
/* They are over. */
void block_end(struct run *run);
void block_release(struct run *run);

#endif
