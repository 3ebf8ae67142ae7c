/*
 * job.c: what a detached run leaves in its folder. Runs in the supervisor. The folder's files:
 *
 *   lock          flocked by our supervisor and worker: free means that both are gone
 *   control       a FIFO: a byte in it cancels the run as TERM does; it is there once the run listens
 *   progress      one line of JSON, rewritten in place; "n" and "end" agree in a whole one
 *   answer.part   room for the answer; renamed to answer.json when it is on the disk
 */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/rest.h"
#include "../common/xio.h"
#include "decide.h"
#include "envelope.h"
#include "report.h"
#include "run.h"
#include "signals.h"

#define LOG_MOST ((size_t)64 << 20) /* bytes of stderr that are kept */

struct path {
	char text[sizeof(((struct job *)0)->folder) + 32];
};

static const char *path_in(const struct job *job, const char *name, struct path *path)
{
	snprintf(path->text, sizeof(path->text), "%s/%s", job->folder, name);
	return path->text;
}

/* The path of a file of the folder, in memory that the next call reuses. */
static const char *in_folder(const struct job *job, const char *name)
{
	static struct path path;

	return path_in(job, name, &path);
}

/* --- at entry ------------------------------------------------------------------------- */

/* A variable that leaked into another environment is no job: the lock is the proof. */
static bool have_lock(const struct job *job)
{
	struct stat named, open;

	return lstat(in_folder(job, "lock"), &named) == 0 && fstat(JOB_LOCK_FD, &open) == 0 &&
	       named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

static bool take_name(struct job *job, const char *folder)
{
	const char *id = folder ? strrchr(folder, '/') : NULL;

	if (!id || folder[0] != '/' || strlen(folder) >= sizeof(job->folder) || strlen(id + 1) >= sizeof(job->id) ||
	    strncmp(id + 1, "job_", 4) != 0)
		return false;
	strcpy(job->folder, folder);
	strcpy(job->id, id + 1);
	return have_lock(job);
}

/*
 * Both ends are ours, so that it never reads as ended. It has its name when it is open: what is written to a FIFO that
 * no process holds is gone when the writer closes it, and a cancellation with it.
 */
static int open_control(struct job *job)
{
	struct path made;

	path_in(job, "control.made", &made);
	if (mkfifo(made.text, 0600) < 0 && errno != EEXIST)
		return -1;
	job->control = xopen(made.text, O_RDWR | O_NONBLOCK, 0);
	if (job->control < 0 || rename(made.text, in_folder(job, "control")) < 0)
		return -1;
	signals_obey(job->control);
	return 0;
}

static void name_in_meta(struct run *run)
{
	struct buf id = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&id);

	json_cstr(&w, run->job.id);
	metas_add(&run->metas, "job_id", (struct field){ .s = id.data, .n = id.len });
	buf_release(&id);
}

int job_take(struct run *run)
{
	struct job *job = &run->job;

	job->lock = job->control = job->progress = -1;
	job->is = take_name(job, getenv("RUNNER_JOB"));
	unsetenv("RUNNER_JOB");
	if (!job->is)
		return 0;
	job->lock = JOB_LOCK_FD;
	if (fcntl(job->lock, F_SETFD, FD_CLOEXEC) < 0 || open_control(job) < 0)
		return -1;
	job->progress = xopen(in_folder(job, "progress"), O_WRONLY | O_CREAT, 0600);
	run->err.most = LOG_MOST;
	run->launch.job = job->id;
	run->launch.job_lock = job->lock;
	name_in_meta(run);
	return 0;
}

/* --- while it runs --------------------------------------------------------------------- */

void job_note(struct run *run, const struct report *r)
{
	struct job *job = &run->job;
	struct buf line = BUF_INIT;
	struct json_writer w = JSON_WRITER_INIT(&line);

	if (!job->is || job->progress < 0)
		return;
	json_begin_object(&w);
	json_key(&w, "n"), json_int(&w, ++job->notes);
	json_key(&w, "attempt"), json_int(&w, run->attempts);
	if (r->progress.len > 0)
		json_key(&w, "progress"), json_raw(&w, r->progress.data, r->progress.len);
	json_key(&w, "completed_steps"), steps_names(&r->steps, STEP_COMPLETED, &w);
	if (steps_running(&r->steps))
		json_key(&w, "step"), json_cstr(&w, steps_running(&r->steps));
	json_key(&w, "end"), json_int(&w, job->notes);
	json_end_object(&w);
	buf_add_char(&line, '\n');
	if (!line.failed)
		(void)!pwrite(job->progress, line.data, line.len, 0);
	buf_release(&line);
}

/* --- the end ----------------------------------------------------------------------------- */

/* The bytes are on the disk, and nothing else is in the file. 0, or -1 with errno. */
static int put(int fd, const struct buf *answer)
{
	for (size_t done = 0; done < answer->len;) {
		ssize_t n = pwrite(fd, answer->data + done, answer->len - done, (off_t)done);

		if (n == 0 || (n < 0 && !rest_again()))
			return -1;
		done += (size_t)MAX_OF(n, 0);
	}
	return ftruncate(fd, (off_t)answer->len) < 0 || fsync(fd) < 0 ? -1 : 0;
}

/* A process that finds the file under its last name may read it. */
static int publish(const struct job *job)
{
	struct path part;

	if (rename(path_in(job, "answer.part", &part), in_folder(job, "answer.json")) < 0)
		return -1;
	return xsync_folder(part.text) < 0 && errno != EINVAL ? -1 : 0;
}

/* There is no room for the answer: what happened fits into the reserve all the same. */
static int be_brief(struct run *run, int exit_code, int error)
{
	struct report *r = &run->verdict.report;
	enum side_effects effects = run->plan.safe ? SIDE_EFFECTS_NONE : SIDE_EFFECTS_PARTIAL;
	bool was_ok = r->ok;

	buf_clear(&r->data), buf_clear(&r->detail), buf_clear(&r->context), buf_clear(&r->errors);
	buf_clear(&run->warnings.rows);
	metas_clear(&run->metas);
	run->history.count = 0;
	name_in_meta(run);
	report_fail(r, "OUTPUT_FAILED", "The job %s with exit code %d, but its answer can't be kept: %s",
	            was_ok ? "ended" : "failed", exit_code, strerror(error));
	strcpy(r->phase, "execution");
	r->own.side_effects = was_ok && !run->plan.safe ? SIDE_EFFECTS_COMPLETE : effects;
	run->verdict.hints = decide_hints(run, r);
	verdict_note_effects(&run->verdict, &run->verdict.hints);
	return exit_code == 0 ? 1 : exit_code;
}

int job_deliver(struct run *run, int exit_code)
{
	struct job *job = &run->job;
	struct buf out = BUF_INIT;
	int fd = xopen(in_folder(job, "answer.part"), O_WRONLY | O_CREAT, 0600);
	int status;

	envelope_write(run, exit_code, &out);
	status = fd < 0 || out.failed ? -1 : put(fd, &out);
	if (status < 0 && fd >= 0) {
		exit_code = be_brief(run, exit_code, out.failed ? ENOMEM : errno);
		buf_clear(&out);
		envelope_write(run, exit_code, &out);
		status = out.failed || out.len > JOB_RESERVE ? -1 : put(fd, &out);
	}
	if (status == 0)
		status = publish(job);
	xclose(&fd);
	buf_release(&out);
	return status < 0 && exit_code == 0 ? 1 : exit_code;
}
