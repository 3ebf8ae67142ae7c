/*
 * profile.c: samples of the Lua stack, added up by stack (profile.h). Runs in the worker of a call that
 * `runner flame` makes. Everything is added up where it is kept: no memory is allocated, nothing grows.
 */
#include "profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../common/frame.h"
#include "../common/mono.h"
#include "../common/xio.h"
#include "../engine/os.h"
#include "adopted.h"
#include "cancel.h"
#include "profile_stack.h"
#include "worker_launch.h"

#define PROFILE_MAGIC "runner flame 1"
#define PERIOD_NS 1000000

static struct profile_page *page;
static enum profile_phase phase;
static bool run_is_next;
static pid_t self;
static int timer = -1;

static const char *const phase_names[] = { "load", "run", "output", "cleanup" };

/* What a C module forks has our page, but it is none of our time. */
static bool is_ours(void)
{
	return page && getpid() == self;
}

static void describe(struct text *out, const char *leaf, int skipped)
{
	out->used = 0;
	profile_add_name(out, phase_names[phase]);
	profile_add_stack(out, phase == PROFILE_RUN, skipped);
	if (leaf)
		profile_add_name(out, leaf);
}

/* --- the page ------------------------------------------------------------------------------ */

static uint32_t hash_of(const struct text *t)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < t->used; i++)
		h = (h ^ (unsigned char)t->bytes[i]) * 16777619u;
	return h;
}

/* The slot of this stack; -1: there is no room. */
static int slot_of(const struct text *t)
{
	uint32_t h = hash_of(t);

	for (uint32_t i = 0; i < PROFILE_SLOTS; i++) {
		struct profile_slot *slot = &page->slots[(h + i) % PROFILE_SLOTS];

		if (slot->length == t->used && slot->hash == h && memcmp(page->text + slot->at, t->bytes, t->used) == 0)
			return (int)((h + i) % PROFILE_SLOTS);
		if (slot->length > 0)
			continue;
		if (t->used > sizeof(page->text) - page->text_used)
			return -1;
		memcpy(page->text + page->text_used, t->bytes, t->used);
		*slot = (struct profile_slot){ .hash = h, .at = page->text_used, .length = (uint32_t)t->used };
		page->text_used += (uint32_t)t->used;
		return (int)((h + i) % PROFILE_SLOTS);
	}
	return -1;
}

/* The time since the last sample goes to this slot. Returns it. */
static int64_t put(int slot)
{
	mono_t now = mono_now();
	int64_t ns = now - page->last;

	if (slot < 0) {
		page->lost_ns += ns;
	} else {
		page->slots[slot].ns += ns;
		page->slots[slot].samples++;
	}
	page->last = now;
	page->samples++;
	return ns;
}

static void sample(int skipped)
{
	struct text text;

	describe(&text, NULL, skipped);
	put(slot_of(&text));
}

/* What is left of a phase that ends, outside any function of its own. */
static void end_phase(enum profile_phase next)
{
	struct text text = { .used = 0 };

	profile_add_name(&text, phase_names[phase]);
	put(slot_of(&text));
	phase = next;
}

/* --- the timer --------------------------------------------------------------------------------- */

static const void *volatile ticked; /* the function that ran at the tick */

/* A function that has been called since then, or that returns from a call made since then, didn't run. */
static void on_sample(lua_State *L, lua_Debug *ar)
{
	bool is_of_call = ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL || ar->event == LUA_HOOKRET;

	lua_sethook(L, NULL, 0, 0);
	if (is_ours())
		sample(is_of_call && ar->i_ci != ticked ? 1 : 0);
}

/* A hook runs at the next instruction, or when the C function that runs returns. One that another library
 * has set stays: that of a script, of a file's limit while it loads, of a cancellation. Not for lines: those
 * would be counted once more, by whatever hook is there by then. */
static void on_tick(int sig)
{
	lua_State *L = NULL;
	lua_Debug ar;

	(void)sig;
	if (!page || cancel_pending() || cancel_coroutines(&L, 1) == 0 || lua_gethook(L))
		return;
	ticked = lua_getstack(L, 0, &ar) ? ar.i_ci : NULL;
	lua_sethook(L, on_sample, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

static void tick_every(long ns)
{
	if (timer >= 0)
		os_timer_every(timer, ns);
}

static void start_timer(void)
{
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	sigset_t set;

	sigfillset(&act.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	if (sigaction(SIGPROF, &act, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
		return;
	timer = os_timer(SIGPROF);
	tick_every(PERIOD_NS);
}

/* --- what happens in the worker --------------------------------------------------------------------- */

bool profile_on(void)
{
	return page != NULL;
}

static void take_command(lua_State *L)
{
	const char *name;

	lua_getfield(L, 2, "command");
	name = lua_tostring(L, -1);
	if (name)
		snprintf(page->command, sizeof(page->command), "%s", name);
	lua_pop(L, 1);
}

void profile_sent(lua_State *L, int kind)
{
	if (kind == FRAME_PLAN)
		take_command(L);
	if (kind == FRAME_RUN)
		run_is_next = true;
	if (kind != FRAME_RESULT || page->cleanup_from)
		return;
	end_phase(PROFILE_CLEANUP);
	page->cleanup_from = page->last;
}

bool profile_enters_run(void)
{
	if (!run_is_next)
		return false;
	run_is_next = false;
	end_phase(PROFILE_RUN);
	page->run_from = page->last;
	return true;
}

void profile_leave_run(void)
{
	end_phase(PROFILE_OUTPUT);
	page->run_to = page->last;
}

/* The stack that waits has its slot before it waits: whatever kills us, the page says where. */
void profile_wait_begin(void)
{
	bool for_children;
	struct text text;

	if (!is_ours())
		return;
	tick_every(0);
	sample(0);
	for_children = adopted_programs_run();
	describe(&text, for_children ? "(programs)" : "(waiting)", 0);
	page->wait_slot = slot_of(&text);
	page->wait_for_children = for_children;
	page->wait_since = page->last;
}

void profile_wait_end(void)
{
	int64_t ns;

	if (!is_ours() || page->wait_since == 0)
		return;
	ns = put(page->wait_slot);
	page->wait_since = 0;
	if (phase == PROFILE_RUN && page->wait_for_children)
		page->children_ns += ns;
	else if (phase == PROFILE_RUN)
		page->waits_ns += ns;
	tick_every(PERIOD_NS);
}

void profile_over(void)
{
	if (!is_ours())
		return;
	tick_every(0);
	end_phase(phase);
	page->over = page->last;
}

/* --- at the start -------------------------------------------------------------------------------------- */

/* Room for the page is taken at once: a disk that is full later can't hurt. */
static struct profile_page *map(const char *path)
{
	int fd = xopen(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	void *at = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (posix_fallocate(fd, 0, sizeof(struct profile_page)) == 0)
		at = mmap(NULL, sizeof(struct profile_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	xclose(&fd);
	return at == MAP_FAILED ? NULL : at;
}

/* Any free number will do; a folder that has them all is full. */
static struct profile_page *make_page(const char *folder)
{
	struct profile_page *made = NULL;
	char path[4096];

	for (int i = 0; i < PROFILE_PAGES && !made; i++) {
		int n = snprintf(path, sizeof(path), "%s/%d", folder, (int)((self + i) % PROFILE_PAGES));

		if (n < 0 || (size_t)n >= sizeof(path))
			return NULL;
		errno = 0;
		made = map(path);
		if (!made && errno != EEXIST)
			return NULL;
	}
	return made;
}

void profile_init(void)
{
	const struct launch *launch = worker_launch();
	const char *folder = getenv("RUNNER_FLAME");

	if (!folder || folder[0] != '/')
		return;
	self = getpid();
	page = make_page(folder);
	if (!page)
		return;
	page->launched = launch->started;
	page->born = page->last = mono_now();
	page->supervisor = launch->supervisor;
	page->attempt = launch->attempt;
	memcpy(page->magic, PROFILE_MAGIC, sizeof(PROFILE_MAGIC));
	start_timer();
}
