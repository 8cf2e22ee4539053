/* One job, its executions, and everybody who may touch them: workers, the sweep, the next boot of
 * a dead process, an operator who cancels. docs/protocol.md says which code each step stands for.
 *
 * What happens in one transaction is one atomic step here. A worker is as bad as a worker can be:
 * with the attempt it was given it makes any call, at any moment, any number of times. That is a
 * worker that stalls and wakes up, whose answers are lost and who asks again, whose calls arrive
 * twice and in the wrong order, who crashes and forgets (then it never calls again). Time is left
 * out: a lease may be over at any moment, and its holder is not told.
 *
 * With LIVENESS the workers are honest ones that die a few times, and the question is whether the
 * job comes to an end. */
#include "rule.pml"

#ifndef WORKERS
#define WORKERS 2
#endif
/* max_attempts of the policy; how often a run is given back, which makes another attempt that does
 * not count; how often an honest worker dies */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define RELEASES 1
#define DEATHS 3
#define ROWS (ATTEMPTS + RELEASES)

/* The rules, each of which is needed. */
#define FENCED_COMMIT 1      /* commit asks for attempt, owner and an unexpired lease */
#define FENCED_BY_ATTEMPT 2  /* and not only for the owner: two threads share a worker id */
#define FENCED_RENEWAL 3     /* and so do heartbeat */
#define FENCED_FAILURE 4     /* and fail */
#define COMMIT_IS_FINAL 5    /* the sweep never aborts what has committed */
#define REPEAT_ACCEPTED 6    /* a worker's own commit again gets the same answer */
#define COUNTED_AT_CLAIM 7   /* an attempt counts when it is given out */
#define ONE_TRANSACTION 8    /* the effect and the mark COMMITTED */
#define NO_CANCEL_AFTER 9    /* what has committed cannot be cancelled */
#define FENCED_DONE 10       /* a commit phase that somebody else took over */
/* These two keep a job from staying for ever. */
#define SWEPT_COMMITTED 201  /* what a dead worker committed is finished by others */
#define SWEPT_EXPIRED 202    /* what a dead worker held is ended by others */

/* What must be met on the way. */
#define LAST_ATTEMPT 101     /* a job that succeeds at its last attempt, after one was given back */
#define TAKEN_OVER 102       /* and one whose commit phase another worker ended */
#define CANCELLED_RUNNING 103  /* asked to stop, and stopped */
#define CANCELLED_LATE 104   /* asked to stop, and committed first */
#define ZOMBIE_REFUSED 105   /* an older attempt's commit, while a newer one runs */
#define OVERDUE_REFUSED 106  /* a commit after the lease was over and before the sweep came */

mtype = { NONE, LEASED, IN_PROGRESS, COMMITTED, DONE, ABORTED };  /* an execution */
mtype = { QUEUED, RUNNING, RETRYING, SUCCEEDED, FAILED };         /* the job */

/* ----- the store */
mtype job = QUEUED;
byte attempt = 0;           /* of the newest execution: their number */
byte used = 0;              /* attempts that count */
mtype status[ROWS + 1] = NONE;
byte owner = 0;             /* of the newest execution, which alone may be live */
bool fresh = false;         /* its lease is not over */
bool finish = false;        /* it has a commit phase */
bool unowned = false;       /* which waits for somebody to claim it */
bool cancel = false;        /* is asked for */

/* ----- what happened, known to the checker only */
byte effects = 0;
byte committer = 0;         /* who committed, as long as it may ask for it again */
bool told_cancelled = false;

#define LIVE(s) (s == LEASED || s == IN_PROGRESS || s == COMMITTED)
#define ENDED (job == SUCCEEDED || job == FAILED)
#define WORKS(s) (s == LEASED || s == IN_PROGRESS)

/* Two threads of one process share their worker id, or each worker has its own. */
bool shared = false;
#define ID(w) (shared -> 1 : w)

/* The fence: the WHERE of every statement that progresses work. */
#define HOLDS(w, t) (t == attempt && owner == ID(w) && fresh && !unowned)

/* ----- the properties, checked at the end of every transaction */
byte i, live, final;

inline check() {
  live = 0; final = 0; i = 1;
  do
  :: i <= attempt ->
       if
       :: status[i] == COMMITTED || status[i] == DONE -> final++
       :: else
       fi;
       if
       :: LIVE(status[i]) -> live++; assert(i == attempt)       /* S2: the newest, if any */
       :: else
       fi;
       i++
  :: else -> break
  od;
  assert(effects <= 1);                                         /* S1 */
  assert(final == effects);                                     /* S1: an effect has its mark */
  assert((job == SUCCEEDED) == (attempt > 0 && status[attempt] == DONE));     /* S3 */
  assert(used <= ATTEMPTS);                                     /* S5 */
  assert(live <= 1);                                            /* S6 */
  assert((job == RUNNING) == (live == 1));                      /* S8: nothing else has a lease */
  assert(!told_cancelled || (job == FAILED && effects == 0));   /* cancel and commit: one wins */
  assert(job != FAILED || effects == 0);
  SEEN(LAST_ATTEMPT, job == SUCCEEDED && attempt == ROWS && used == ATTEMPTS);
  SEEN(TAKEN_OVER, job == SUCCEEDED && effects == 1 && committer == 0);
  SEEN(CANCELLED_RUNNING, told_cancelled && attempt > 0 && job == FAILED && cancel);
  SEEN(CANCELLED_LATE, cancel && job == SUCCEEDED);
  i = 0; live = 0; final = 0
}

/* S4: the table of model/state.c. ABORTED and DONE are final, COMMITTED is never undone. */
inline move(t, to) {
  assert((status[t] == NONE && to == LEASED) || (status[t] == LEASED && to == IN_PROGRESS)
      || (status[t] == IN_PROGRESS && to == COMMITTED) || (status[t] == COMMITTED && to == DONE)
      || ((status[t] == LEASED || status[t] == IN_PROGRESS) && to == ABORTED));
  status[t] = to
}

/* ----- transactions */

inline claim_job(w, t) {
  atomic {
    job == QUEUED ->
    attempt++;
    assert(attempt <= ROWS);                                    /* S5: not given out for ever */
    owner = ID(w); fresh = true; job = RUNNING; finish = false; t = attempt;
    if
    :: KEPT(COUNTED_AT_CLAIM) -> used++
    :: else
    fi;
    move(t, LEASED);
    check()
  }
}

/* A commit phase that lost its worker: the same execution, the same attempt, another owner. */
inline claim_finish(w, t) {
  atomic {
    job == RUNNING && unowned ->
    if
    :: owner != ID(w) -> committer = 0
    :: else
    fi;
    owner = ID(w); fresh = true; unowned = false; t = attempt;
    check()
  }
}

inline start(w, t) {
  atomic {
    if
    :: HOLDS(w, t) && status[t] == LEASED -> move(t, IN_PROGRESS); check()
    :: else
    fi
  }
}

inline renew(w, t) {
  atomic {
    if
    :: (HOLDS(w, t) || (!KEPT(FENCED_RENEWAL) && job == RUNNING && !unowned)) ->
         assert(t == attempt && owner == ID(w) && fresh);       /* S9 */
         fresh = true
    :: else
    fi
  }
}

/* What the policy says of an end: another attempt while there are any, else, or for an error that
 * is not worth one, FAILED. */
inline verdict() {
  if
  :: !cancel && used < ATTEMPTS -> job = RETRYING
  :: job = FAILED; told_cancelled = told_cancelled || cancel
  fi
}

inline fail_run(w, t) {
  atomic {
    if
    :: ((HOLDS(w, t) || (!KEPT(FENCED_FAILURE) && job == RUNNING && !unowned))
        && WORKS(status[attempt])) ->
         assert(t == attempt && owner == ID(w) && fresh);       /* S9: only the holder ends it */
         move(attempt, ABORTED); fresh = false;
         if
         :: !KEPT(COUNTED_AT_CLAIM) -> used++
         :: else
         fi;
         verdict();
         check()
    :: HOLDS(w, t) && status[t] == COMMITTED && finish ->       /* its commit phase failed */
         unowned = true; fresh = false; check()
    :: else
    fi
  }
}

inline release(w, t) {
  atomic {
    if
    :: HOLDS(w, t) && WORKS(status[t]) && attempt - used < RELEASES ->
         move(t, ABORTED); fresh = false;
         if
         :: cancel -> job = FAILED; told_cancelled = true
         :: else -> used--; job = QUEUED
         fi;
         check()
    :: else
    fi
  }
}

/* The effect, the mark, and, when they travel together, the end. */
inline accept(w, t) {
  assert(t == attempt && owner == ID(w) && fresh && status[t] == IN_PROGRESS);      /* S2 */
  move(t, COMMITTED);
  committer = w;
  if
  :: finish = true
  :: finish = false
  :: move(t, DONE); fresh = false; job = SUCCEEDED
  fi;
  check()
}

#define MAY_COMMIT(w, t) \
  ((HOLDS(w, t) && status[t] == IN_PROGRESS) \
   || (!KEPT(FENCED_COMMIT) && job == RUNNING && t > 0) \
   || (!KEPT(FENCED_BY_ATTEMPT) && owner == ID(w) && fresh && status[attempt] == IN_PROGRESS))

inline commit(w, t) {
  if
  :: KEPT(ONE_TRANSACTION) ->
       atomic {
         if
         :: MAY_COMMIT(w, t) -> effects++; accept(w, t)
         :: else -> ask_again(w, t)
         fi
       }
  :: else ->
       atomic {
         if
         :: MAY_COMMIT(w, t) -> effects++
         :: else -> skip
         fi
       };
       atomic {
         if
         :: MAY_COMMIT(w, t) -> accept(w, t)
         :: else -> skip
         fi
       }
  fi
}

/* S7: who has committed is not told that it has not. That promise ends when the commit phase has
 * gone to another worker: then `lease_lost` says who holds the execution now. */
inline ask_again(w, t) {
  SEEN(ZOMBIE_REFUSED, t < attempt && status[attempt] == IN_PROGRESS && fresh);
  SEEN(OVERDUE_REFUSED, t == attempt && status[t] == IN_PROGRESS && owner == ID(w) && !fresh);
  if
  :: committer == w && t == attempt && (status[t] == COMMITTED || status[t] == DONE) ->
       assert(KEPT(REPEAT_ACCEPTED) && owner == ID(w))
  :: else
  fi
}

inline done(w, t) {
  atomic {
    if
    :: (HOLDS(w, t) || (!KEPT(FENCED_DONE) && t == attempt)) && status[t] == COMMITTED ->
         assert(owner == ID(w) && fresh && !unowned);           /* S9: only the holder ends it */
         move(t, DONE); fresh = false; job = SUCCEEDED; check()
    :: else
    fi
  }
}

/* What the sweep does with an expired lease, and the next boot of a process with its old runs,
 * expired or not. */
inline end_orphan() {
  if
  :: WORKS(status[attempt]) && KEPT(SWEPT_EXPIRED) ->
       move(attempt, ABORTED); fresh = false; verdict(); check()
  :: status[attempt] == COMMITTED && !KEPT(COMMIT_IS_FINAL) ->
       status[attempt] = ABORTED; fresh = false; verdict(); check()
  :: status[attempt] == COMMITTED && finish && KEPT(SWEPT_COMMITTED) && KEPT(COMMIT_IS_FINAL) ->
       unowned = true; fresh = false; check()
  :: status[attempt] == COMMITTED && !finish && KEPT(SWEPT_COMMITTED) && KEPT(COMMIT_IS_FINAL) ->
       move(attempt, DONE); fresh = false; job = SUCCEEDED; check()
  :: else
  fi
}

/* ----- who acts */

#ifndef LIVENESS

proctype worker(byte w) {
  byte t = 0;
end:
  do
  :: claim_job(w, t)
  :: claim_finish(w, t)
  :: t > 0 -> start(w, t)
  :: t > 0 -> renew(w, t)
  :: t > 0 -> commit(w, t)
  :: t > 0 -> done(w, t)
  :: t > 0 -> fail_run(w, t)
  :: t > 0 -> release(w, t)
  od
}

/* The next boot of a worker's process, which holds its name: the runs it finds are orphans. Also
 * when the hold was lost and the worker is alive: its later calls are those of a worker that
 * stalled. */
proctype boot(byte w) {
end:
  do
  :: atomic { job == RUNNING && owner == ID(w) && !unowned -> end_orphan() }
  od
}

#else

byte deaths = 0, expired = 0;
#define MAY_DIE if :: deaths < DEATHS -> deaths++; t = 0; goto again :: true fi

proctype worker(byte w) {
  byte t = 0;
again:
  do
  :: ENDED -> break
  :: claim_job(w, t) -> MAY_DIE; start(w, t); MAY_DIE; commit(w, t); MAY_DIE; done(w, t)
  :: claim_finish(w, t) -> MAY_DIE; done(w, t)
  od
}

#endif

/* The store's clock. */
proctype clock() {
end:
  do
#ifndef LIVENESS
  :: atomic { fresh -> fresh = false }
#else
  /* Honest workers renew in time: no more leases run out than workers died. */
  :: atomic { fresh && expired < deaths -> expired++; fresh = false }
#endif
  :: ENDED -> break
  od
}

proctype sweep() {
end:
  do
  :: atomic { job == RUNNING && !fresh && !unowned -> end_orphan() }
  :: atomic { job == RETRYING -> job = QUEUED; check() }
  :: ENDED -> break
  od
}

proctype operator() {
end:
  do
  :: atomic { job == QUEUED || job == RETRYING -> job = FAILED; told_cancelled = true; check() }
  :: atomic { job == RUNNING && WORKS(status[attempt]) && !cancel -> cancel = true }
  :: atomic { job == RUNNING && status[attempt] == COMMITTED && !KEPT(NO_CANCEL_AFTER) ->
       job = FAILED; told_cancelled = true; fresh = false; check() }
  :: ENDED -> break
  od
}

init {
  byte w = 1;
  atomic {
    choose_broken();
#ifndef LIVENESS
    if
    :: shared = true
    :: shared = false
    fi;
#endif
    do
    :: w <= WORKERS ->
         run worker(w);
#ifndef LIVENESS
         run boot(w);
#endif
         w++
    :: else -> break
    od;
    run clock();
    run sweep();
#ifndef LIVENESS
    run operator();
#endif
  }
}

#ifdef LIVENESS
/* L1: with finitely many deaths, and everybody who can go on going on, the job ends. */
ltl ends { <> ENDED }
#endif
