/*
 * entry.c: the supervisor's first millisecond, up to the first attempt.
 */
#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/ulid.h"
#include "../common/xio.h"
#include "../engine/launch.h"
#include "../engine/os.h"
#include "../engine/test_page.h"
#include "job.h"
#include "pause.h"
#include "signals.h"

/* Who calls: a person at a terminal, a CI system, an agent. Read once, at the
 * entry, from the descriptors and the environment; both processes take it from the launch
 * record. Nothing else reads these variables. */

#define TRACE_ID_MAX 128

#define VARIABLES(ROW) \
	ROW(CI) ROW(DISPLAY) ROW(GITHUB_ACTIONS) ROW(JENKINS_URL) ROW(NO_COLOR) ROW(RUNNER_EXIT_TABLE) ROW(RUNNER_LOG_KEPT) \
	ROW(RUNNER_PLAIN) ROW(RUNNER_TERMINAL) ROW(RUNNER_TRACE_ID) ROW(SSH_TTY) ROW(TERM) ROW(TOOL_TRACE_ID) ROW(WAYLAND_DISPLAY)

#define INDEX(name) AT_##name,
enum { VARIABLES(INDEX) COUNT };

#define NAME(name) #name "=",
static const char *const names[] = { VARIABLES(NAME) };

/* What the environment has for each, NULL: nothing. */
struct variables {
	const char *values[COUNT];
};

static unsigned letter(const char *entry)
{
	return 1U << ((unsigned char)entry[0] & 31);
}

static void take(struct variables *v, const char *entry)
{
	for (int i = 0; i < COUNT; i++)
		if (entry[0] == names[i][0] && !v->values[i] && strncmp(entry, names[i], strlen(names[i])) == 0)
			v->values[i] = entry + strlen(names[i]);
}

/* All of them in one walk over the environment, however large it is. */
static void read_variables(struct variables *v)
{
	unsigned letters = 0;

	*v = (struct variables){ { NULL } };
	for (int i = 0; i < COUNT; i++)
		letters |= letter(names[i]);
	for (char **entry = environ; entry && *entry; entry++)
		if (letters & letter(*entry))
			take(v, *entry);
}

static bool is_set(const struct variables *v, int at)
{
	return v->values[at] && *v->values[at];
}

/* RUNNER_TERMINAL: a call that another one needs has the terminal as that has it ("own"), though stdout is a pipe; or its
 * stderr is one only for colours and width ("lines"). */
static bool is_called(const struct variables *v, const char *how)
{
	return v->values[AT_RUNNER_TERMINAL] && strcmp(v->values[AT_RUNNER_TERMINAL], how) == 0;
}

/* RUNNER_PLAIN, as lua/core/requirements.lua reads it. */
static bool wants_plain(const char *text)
{
	return text && *text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

static bool is_dumb(const char *term)
{
	return term && strcmp(term, "dumb") == 0;
}

/* An identifier of another program's, repeated in our answers: plain text only. */
static const char *trace_id(const struct variables *v)
{
	const char *id = v->values[is_set(v, AT_TOOL_TRACE_ID) ? AT_TOOL_TRACE_ID : AT_RUNNER_TRACE_ID];

	if (!id || !*id || strlen(id) > TRACE_ID_MAX)
		return NULL;
	for (const char *c = id; *c; c++)
		if (*c < ' ' || *c > '~')
			return NULL;
	return id;
}

/* Fill in what follows from `stdin_is_tty` and its two sisters, which must be set. */
static void caller_read(struct launch *launch)
{
	struct variables v;

	read_variables(&v);
	launch->ci = is_set(&v, AT_CI) || is_set(&v, AT_GITHUB_ACTIONS) || is_set(&v, AT_JENKINS_URL);
	launch->no_color = v.values[AT_NO_COLOR] || launch->ci || is_dumb(v.values[AT_TERM]) || wants_plain(v.values[AT_RUNNER_PLAIN]);
	launch->in_lines = launch->stderr_is_tty && is_called(&v, "lines");
	launch->seen = launch->stdout_is_tty || (launch->stderr_is_tty && is_called(&v, "own"));
	launch->person = launch->stdin_is_tty && launch->seen && !launch->ci;
	launch->headless = !launch->seen || launch->ci || is_set(&v, AT_SSH_TTY) ||
	                   !(is_set(&v, AT_DISPLAY) || is_set(&v, AT_WAYLAND_DISPLAY));
	launch->log_kept = is_set(&v, AT_RUNNER_LOG_KEPT);
	launch->trace_id = trace_id(&v);
	launch->format = launch->stdout_is_tty && !launch->ci ? FORMAT_TEXT : FORMAT_JSON;
	launch->exit_table = name_parse(NAMES_EXIT_TABLE, v.values[AT_RUNNER_EXIT_TABLE]);
}

#define STDOUT_TAP_BYTES (8 << 10)

/* --- the front process ------------------------------------------------------------
 *
 * waitpid(-1) and subreaping are safe only where all children are our own.
 */

static volatile pid_t behind;

static void forward(int sig)
{
	int saved = errno;

	if (behind > 0)
		kill(behind, sig);
	errno = saved;
}

NO_RETURN static void stand_in_front(void)
{
	int status;

	while (waitpid(behind, &status, 0) < 0)
		if (!rest_again())
			_exit(1);
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	_exit(128 + WTERMSIG(status));
}

/* 0 in the process that goes on, -1 with errno. */
static int supervise_from_child(void)
{
	sigset_t none;
	pid_t pid, front = getpid();

	pid = fork();
	if (pid < 0)
		return -1;
	if (pid > 0) {
		behind = pid;
		signals_catch_fatal(forward);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		stand_in_front();
	}
	signals_expect_parent(front);
	os_parent_death_signal(SIGTERM);
	if (getppid() != front)
		_exit(143);
	return 0;
}

/* --- facts -------------------------------------------------------------------------- */

static int take_descriptors(struct run *run)
{
	int closed = xopen_standard();

	if (closed < 0)
		return -1;
	run->stdout_was_open = !(closed & 1 << 1);
	run->launch.stdin_is_tty = isatty(0);
	run->launch.stdout_is_tty = isatty(1);
	run->launch.stderr_is_tty = isatty(2);
	run->stdout_fd = run->stdout_was_open ? xdup_above(1, 3) : -1;
	if (run->stdout_was_open && run->stdout_fd < 0)
		run->stdout_fd = 1; /* no descriptor is free: at least the answer is written */
	run->launch.stdout_fd = run->stdout_fd;
	run->launch.stdin_fd = xdup_above(0, 3);
	run->launch.stdin_offset = MAX_OF(lseek(0, 0, SEEK_CUR), 0);
	if (run->launch.stdin_fd < 0)
		return -1; /* a command must not mistake our failure for end of input */
	outlet_init(&run->err, closed & 1 << 2 ? -1 : 2);
	return 0;
}

static bool wants_color(const struct run *run)
{
	return run->launch.stderr_is_tty && !run->launch.no_color && getenv("TERM");
}

/* A job is the request that started it; its temporary directory is its own. */
static void name_run(struct run *run)
{
	const char *tmp = getenv("TMPDIR");
	uint8_t random[10] = { 0 };
	char id[ULID_LENGTH + 1];
	uint64_t ms = (uint64_t)run->wall_started.tv_sec * 1000 +
	              (uint64_t)run->wall_started.tv_nsec / 1000000;

	os_random(random, sizeof(random));
	ulid_format(ms, random, id);
	stpcpy(stpcpy(run->request_id, "req_"), run->job.is ? run->job.id + 4 : id);
	if (!tmp || tmp[0] != '/' || strlen(tmp) > 200)
		tmp = "/tmp";
	stpcpy(stpcpy(stpcpy(run->session_dir, tmp), "/" TEMPDIR_PREFIX), id);
	run->launch.request_id = run->request_id;
	run->launch.session_dir = run->session_dir;
}

/* A worker's own deadlines also stand still while we are stopped. */
static void share_pause(struct run *run)
{
	void *page = mmap(NULL, sizeof(*run->pauses), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	run->pauses = page == MAP_FAILED ? NULL : page;
	run->launch.pauses = run->pauses;
}

/* Until signals_init() nothing may end us: an alarm is inherited over exec. */
static void take_signals(void)
{
	struct sigaction act;
	sigset_t all;

	memset(&act, 0, sizeof(act));
	act.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &act, NULL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

int entry_prepare(struct run *run, int argc, char **argv, worker_fn *worker)
{
	take_signals();
	run->worker = worker;
	run->caller = getppid();
	run->launch.argc = argc;
	run->launch.argv = argv;
	if (test_page_take()) /* then its time is what counts */
		run->launch.started = mono_now();
	wall_now(&run->wall_started);
	if (take_descriptors(run) < 0 || job_take(run) < 0)
		return -1;
	if ((getpid() == 1 || os_has_children()) && supervise_from_child() < 0)
		return -1;
	run->launch.supervisor = getpid();
	run->spared.mark = (uint64_t)run->launch.started;
	run->launch.mark = child_run_mark(run->launch.started);
	os_become_subreaper();
	signals_init();
	pause_save_terminal();
	share_pause(run);
	name_run(run);
	caller_read(&run->launch);
	if (!getcwd(run->cwd, sizeof(run->cwd)) || run->cwd[0] != '/')
		run->cwd[0] = '\0';
	run->color = wants_color(run);
	plan_init(&run->plan, &run->launch);
	tap_init(&run->stdout_tap, STDOUT_TAP_BYTES);
	return 0;
}
