/*
 * profile.h: where the time of one attempt goes, for `runner flame`. A file that flame made room for
 * holds the page, mapped and shared: what is in it survives any end of this process. Off, it costs one
 * look at a flag.
 *
 * A timer asks for a sample each millisecond by setting a Lua hook; the time since the last sample goes
 * to the stack that runs. No timer runs while the worker waits: a wait goes whole to the stack that began it.
 */
#ifndef RUNNER_PROFILE_H
#define RUNNER_PROFILE_H

#include <lua.h>

#include "../common/base.h"

#define PROFILE_PAGES 256        /* processes that are noted for one flame; more are not */
#define PROFILE_SLOTS 2048       /* different stacks of one process; the time of more goes to none */
#define PROFILE_TEXT (456 << 10) /* bytes of their names */
#define PROFILE_COMMAND 256

enum profile_phase { PROFILE_LOAD, PROFILE_RUN, PROFILE_OUTPUT, PROFILE_CLEANUP };

/* Times are ns of the monotonic clock; 0: it has not come to that. lua/profile/flame_graph.lua reads it. */
struct profile_page {
	char magic[16];
	int64_t launched;               /* the supervisor began */
	int64_t born, run_from, run_to, cleanup_from, over;
	int64_t last;                   /* so far the time is in slots */
	int64_t children_ns, waits_ns;  /* in waits during `run`: for programs, for anything else */
	int64_t lost_ns;                /* of stacks that had no room */
	int64_t wait_since;             /* 0: it is not waiting */
	int32_t wait_slot, wait_for_children;
	int32_t supervisor, attempt;
	uint32_t samples, text_used;
	char command[PROFILE_COMMAND];
	struct profile_slot {
		int64_t ns;
		uint32_t samples, hash, at, length; /* of its frames in text: outermost first, "a;b;c" */
	} slots[PROFILE_SLOTS];
	char text[PROFILE_TEXT];
};

/* Make a page in the folder that RUNNER_FLAME names, and begin. Without one, or without room, nothing
 * is noted. Call it once, when signals can be handled (cancel_init). */
void profile_init(void);
bool profile_on(void);

/* A frame of the kind `kind` (common/frame.h) has been sent; its fields are the table at index 2. */
void profile_sent(lua_State *L, int kind);
/* Around the protected call of `run`: is this the one? Then say so when it is over. */
bool profile_enters_run(void);
void profile_leave_run(void);
/* Around everything that blocks. */
void profile_wait_begin(void);
void profile_wait_end(void);
/* The process ends. */
void profile_over(void);

#endif
