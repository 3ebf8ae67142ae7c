/*
 * placement.pml: the protocol by which a chunk of a placed step runs once, whatever fails, as a model for
 * spin(1). One chunk of one item that isn't idempotent, a coordinator, a queue, and tasks: as many as the
 * queue starts, late twins among them. tests/cli/placement_model.bats checks it, and that each mistake is found.
 *
 * What stands for what: db_* is the run database (one commit at a time), file_gen K.generation, fence the
 * lock on K.lock, header and started and done K.journal, result_* K.result. A line of the journal names its
 * writer; readers drop a line whose writer isn't that of the last header above it, so that what a task
 * writes after another one's header is as if it were not there.
 *
 * Faults, FAULTS of them in any mixture: a task dies at any step, the coordinator dies at any step, the queue
 * loses a submission or runs it twice, a submission arrives late (or its answer never does), the lock of a
 * task that lives is taken from it (a lease of NFS), a node is said to be gone while its task lives.
 *
 * Safety: the effect happens at most once; what is believed to be completed has happened; a result of an
 * old generation is not believed. Liveness: the chunk is imported, completed or named in doubt.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#define MOST (3 + 2 * FAULTS) /* generations, and tasks: more than all faults together can cause */

mtype = { PLANNED, SUBMITTING, SUBMITTED, NONE, COMPLETED, DOUBT };

byte faults = FAULTS;   /* that may still happen, of any kind */

mtype db = PLANNED;     /* of the placement */
byte db_gen = 0;        /* of the chunk */
bool imported = false;
mtype outcome = NONE;

byte file_gen = 0;      /* the shared directory */
byte fence = 0;         /* who holds it; 0: nobody */
byte header = 0;        /* whose is the last one */
bool started = false, done = false;
byte result_gen = 0;
mtype result = NONE;

chan net = [2] of { byte }; /* submissions that sbatch has sent; the controller has not got them yet */
byte jobs[MOST];        /* tasks that the controller knows, by generation */
byte tasks = 0;

byte effects = 0;

/* --- a task ------------------------------------------------------------------------------------ */

#define MAY_DIE if :: atomic { faults > 0 -> faults--; goto dead } :: true fi
#define MINE (file_gen == gen && header == me)

proctype Task(byte gen; byte me)
{
	bool s, d;
	mtype found = COMPLETED;

	MAY_DIE;
	if
#ifndef MISTAKE_GENERATION
	:: file_gen != gen -> goto over
#endif
	:: else
	fi;
#ifdef MISTAKE_FENCE /* the fence is taken after the look */
	d_step { s = started; d = done };
#endif
	if
	:: atomic { fence == 0 -> fence = me }
	:: fence != 0 -> goto over
	fi;
	MAY_DIE;
#ifndef MISTAKE_HEADER
	header = me;
#endif
	if
	:: result_gen == gen -> goto over
	:: else
	fi;
#ifndef MISTAKE_FENCE
	d_step { s = started; d = done };
#endif
#ifdef MISTAKE_HEADER /* the header is written after the journal was read */
	header = me;
#endif
	MAY_DIE;
	if
	:: d -> goto say
	:: s && !d -> found = DOUBT; goto say
	:: else
	fi;
#ifdef MISTAKE_CHECK /* the generation is looked at before the line is written, but not behind it */
	if
	:: MINE
	:: else -> goto over
	fi;
#endif
	if
	:: header == me -> started = true
	:: else /* a line that readers drop */
	fi;
	MAY_DIE;
#ifndef MISTAKE_CHECK
	if
#ifdef MISTAKE_GENERATION
	:: true
#else
	:: MINE
	:: else -> goto over
#endif
	fi;
#endif
	MAY_DIE;
	effects++;
	assert(effects <= 1);
	MAY_DIE;
	if
	:: header == me -> done = true
	:: else
	fi;
	MAY_DIE;
say:
	if
	:: MINE
	:: else -> goto over
	fi;
	MAY_DIE;
	d_step { result_gen = gen; result = found }; /* written aside, synced, renamed */
over:
dead:	skip;
	d_step {
		if
		:: fence == me -> fence = 0
		:: else
		fi;
		jobs[gen]--
	}
}

/* --- the queue ------------------------------------------------------------------------------------ */

active proctype Queue()
{
	byte gen;

end:
	do
	:: atomic { net ?? gen ->
		if
		:: faults > 0 -> faults--
		:: tasks < MOST - 1 -> tasks++; jobs[gen]++; run Task(gen, tasks)
		:: faults > 0 && tasks < MOST - 2 ->
			faults--; jobs[gen] = jobs[gen] + 2; tasks++; run Task(gen, tasks); tasks++; run Task(gen, tasks)
		fi }
	:: imported && empty(net) -> break
	od
}

/* A lock service that forgets a lock. */
active proctype Lease()
{
	if
	:: atomic { faults > 0 && fence != 0 -> faults--; fence = 0 }
	:: imported
	fi
}

/* --- the coordinator ------------------------------------------------------------------------------ */

/* After a crash a resume begins anew with what the database says. */
#define MAY_CRASH if :: atomic { faults > 0 -> faults--; goto resume } :: true fi

active proctype Coordinator()
{
resume:
	do
	:: db == PLANNED ->
		d_step { db_gen++; db = SUBMITTING } /* committed before it is submitted */
	:: db == SUBMITTING ->
		file_gen = db_gen;
		MAY_CRASH;
		if
		:: jobs[db_gen] > 0 || result_gen == db_gen -> db = SUBMITTED /* found again by its token */
		:: else ->
			atomic { nfull(net) -> net ! db_gen };
			if
			:: atomic { faults > 0 -> faults--; goto resume }
			:: atomic { faults > 0 -> faults-- } /* no answer: look again */
			:: db = SUBMITTED
			fi
		fi
	:: db == SUBMITTED ->
		if
		:: result_gen == db_gen ->
#ifndef MISTAKE_BELIEVE
			atomic {
				imported = true;
				outcome = result;
				assert(outcome != COMPLETED || effects == 1)
			};
			break
#endif
#ifdef MISTAKE_BELIEVE /* any result is taken for the chunk's */
		:: result_gen != 0 -> imported = true; outcome = result; assert(result_gen == db_gen); break
#endif
		:: result_gen != db_gen && fence == 0 ->
			/* four looks without a trace: lost, unless the queue knows it, or is only slow */
			if
			:: atomic { empty(net) && jobs[db_gen] == 0 && result_gen != db_gen && fence == 0 -> db = PLANNED }
			:: atomic { faults > 0 && fence == 0 -> faults--; db = PLANNED }
			:: net ?[_] || jobs[db_gen] > 0 || result_gen == db_gen || fence != 0
			fi
		:: fence != 0 && result_gen != db_gen -> (fence == 0 || result_gen == db_gen) /* held: wait, never submit */
		fi;
		MAY_CRASH
	od
}

ltl ends { <> imported }
