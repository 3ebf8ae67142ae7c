/*
 * job.h: a run that its caller has detached: it answers into a folder of its own, and ends when
 * something is written to a FIFO there (docs/design.md#jobs). lua/jobs/ makes the folder,
 * and reads it.
 */
#ifndef RUNNER_JOB_H
#define RUNNER_JOB_H

#include "../common/buf.h"

struct run;
struct report;

/* Descriptor of the job's lock, which the process that starts a job hands over. */
#define JOB_LOCK_FD 3
/* Bytes that are set aside in the folder while there is room: an answer of that size can
 * be kept even when the disk is full. */
#define JOB_RESERVE 4096

struct job {
	char folder[4096]; /* first: only a job has one */
	bool is; /* this run is a job */
	char id[64];
	int lock;     /* held until the last process of ours is gone; -1: none */
	int control;  /* the FIFO; -1: none */
	int progress; /* how far it is; -1: can't be written */
	int64_t notes;
};

/* Is this run a job: does RUNNER_JOB name the folder whose lock we have as
 * JOB_LOCK_FD? Fills run->job; children inherit neither. 0, or -1 with errno. */
int job_take(struct run *run);
/* Write down how far the attempt is, for a process that asks meanwhile. */
void job_note(struct run *run, const struct report *r);
/* The answer of a job, and its exit status: kept whole, with the disk's word for it, or
 * not at all. */
int job_deliver(struct run *run, int exit_code);

#endif
