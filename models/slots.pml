/* Slots of one schedule and the processes that claim them: leaders that come, stall and die in the
 * middle, clocks that are wrong, somebody who claims a slot by hand.
 *
 * A tick is one transaction, but its statements are steps of their own here, with those of others
 * between them: less than SQLite's single writer gives, and what PostgreSQL gives at READ
 * COMMITTED. What a transaction wrote is seen by nobody before its commit; an insert waits for
 * another's open one of the same key. A death in the middle takes everything back. */
#include "rule.pml"

#ifndef SCHEDULERS
#define SCHEDULERS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#define DEATHS 2
#define ALL (SLOTS + 1)

/* The rules, each of which is needed. */
#define UNIQUE_SLOT 1      /* the key of job_runs, and not a look before the insert */
#define ROW_WITH_JOB 2     /* the row and its job are one transaction */
#define MARK_WITH_ROWS 3   /* and so is how far the schedule was considered */
#define MARK_BY_SLOT 4     /* which is the last slot that was dealt with, not a clock */
#define STORE_TIME 5       /* what is due is said by the store's time, not by a process's own */
/* One that is not needed: without it everybody ticks, and still each slot is claimed once. */
#define ONE_LEADS 51

/* What must be met on the way. */
#define MET_ANOTHER 101    /* somebody else claimed the slot between the look and the insert */
#define DIED_INSIDE 102    /* a death with rows that were not committed, made up for later */
#define NEW_TERM 103       /* a leader that wakes up and finds another's term */
#define CAUGHT_UP 104      /* several slots in one tick */

/* ----- the store */
byte rows[ALL] = 0;        /* job_runs, committed; more than 1 only when the key is broken */
byte jobs[ALL] = 0;        /* the slots' jobs */
byte considered = 0;       /* the schedule has been dealt with up to this slot */
byte now = 0;              /* the store's time, which never goes back */
byte leader = 0;           /* the process in the row of `leader` */
bool lead_fresh = false;

/* ----- open transactions: which row each has inserted and not committed */
byte pending[ALL] = 0;     /* by which process; 0: none */
byte deaths = 0;
byte ended = 0;          /* processes that are through */
byte taken_back = 0;       /* a slot whose claim was lost in a death */

inline check() {
  s = 1;
  do
  :: s <= SLOTS ->
       assert(rows[s] <= 1);                            /* one claim */
       assert(jobs[s] == rows[s]);                      /* a claim has its job */
       assert(s > considered || rows[s] == 1);          /* none is passed over */
       assert(rows[s] == 0 || s <= now);                /* none is early */
       s++
  :: else -> break
  od;
  s = 0
}

/* INSERT ... ON CONFLICT DO NOTHING. Without the key: a look, and the insert as another step. */
inline insert_row(p) {
  if
  :: atomic { KEPT(UNIQUE_SLOT) && rows[next] == 0 && pending[next] == 0 -> pending[next] = p }
  :: atomic { KEPT(UNIQUE_SLOT) && rows[next] > 0 ->
       SEEN(MET_ANOTHER, next > considered_then && considered > considered_then) }
  :: atomic { !KEPT(UNIQUE_SLOT) && rows[next] == 0 -> skip }; pending[next] = p; mine[next] = 1
  :: atomic { !KEPT(UNIQUE_SLOT) && rows[next] > 0 -> skip }
  fi
}

/* COMMIT: everything at once. */
inline commit_rows(p) {
  s = 1;
  do
  :: s <= SLOTS ->
       if
       :: pending[s] == p || mine[s] ->
            rows[s]++; pending[s] = 0; mine[s] = 0;
            SEEN(DIED_INSIDE, taken_back == s);
            if
            :: KEPT(ROW_WITH_JOB) -> jobs[s]++
            :: else
            fi
       :: else
       fi;
       s++
  :: else -> break
  od;
  s = 0
}

inline roll_back(p) {
  s = 1;
  do
  :: s <= SLOTS ->
       if
       :: pending[s] == p ->
            pending[s] = 0; taken_back = (broken == DIED_INSIDE -> s : 0)
       :: else
       fi;
       mine[s] = 0;
       s++
  :: else -> break
  od;
  s = 0
}

/* The first statement of a tick: the time of the store, and who leads. The process's own clock is
 * right, ahead, or was set back. */
inline begin(p) {
  atomic {
    select(wall : 0 .. SLOTS);
    if
    :: wall > now -> now = wall
    :: else
    fi;
    leads = true;
    if
    :: !KEPT(ONE_LEADS)
    :: KEPT(ONE_LEADS) && (leader == p && lead_fresh)
    :: KEPT(ONE_LEADS) && (!lead_fresh) -> leader = p; lead_fresh = true;
         led = (broken == NEW_TERM)
    :: KEPT(ONE_LEADS) && (leader != p && lead_fresh) ->
         leads = false; SEEN(NEW_TERM, led && considered < SLOTS)
    fi
  }
}

inline die(p) {
  atomic { deaths < DEATHS -> deaths++; roll_back(p); goto again }
}

proctype scheduler(byte p) {
  byte wall, next, considered_then, to, s;
  bool leads, led;
  bool mine[ALL];
again:
  atomic { wall = 0; next = 0; considered_then = 0; to = 0; leads = false };
  do
  :: considered >= SLOTS -> break
  :: else ->
       begin(p);
       if
       :: leads ->
            atomic {
              leads = false;
              considered_then = considered;
              to = (KEPT(STORE_TIME) -> now : (wall + 1 > SLOTS -> SLOTS : wall + 1));
              wall = 0;
              next = considered_then + 1;
              SEEN(CAUGHT_UP, to > next)
            };
            if
            :: !KEPT(MARK_WITH_ROWS) && to >= next -> atomic { considered = to }
            :: else
            fi;
            do
            :: next <= to ->
                 insert_row(p);
                 next++
            :: next > to -> break
            :: die(p)
            od;
            if
            :: atomic { to > considered_then ->
                 commit_rows(p);
                 considered = to;
                 if
                 :: !KEPT(MARK_BY_SLOT) -> select(considered : to .. SLOTS)
                 :: else
                 fi;
                 if
                 :: KEPT(ROW_WITH_JOB) && KEPT(MARK_WITH_ROWS) -> check()
                 :: else
                 fi }
            :: atomic { to <= considered_then -> skip }
            :: die(p)
            fi;
            atomic { next = 0; considered_then = 0 };
            /* Where the job is made in a transaction of its own. */
            if
            :: !KEPT(ROW_WITH_JOB) ->
                 atomic {
                   s = 1;
                   do
                   :: s <= SLOTS ->
                        if
                        :: rows[s] == 1 && jobs[s] == 0 && s <= to -> jobs[s]++
                        :: else
                        fi;
                        s++
                   :: else -> break
                   od;
                   s = 0
                 }
            :: atomic { !KEPT(ROW_WITH_JOB) && deaths < DEATHS -> deaths++; goto again }
            :: KEPT(ROW_WITH_JOB)
            fi;
            to = 0
       :: else -> wall = 0
       fi
  od;
  atomic { ended++ }
}

/* `pawl schedule trigger`: any slot up to now, one transaction, the same key. */
proctype by_hand() {
  byte s, next;
  atomic {
    if
    :: now > 0 ->
         select(next : 1 .. SLOTS);
         if
         :: next <= now && rows[next] == 0 && pending[next] == 0 -> rows[next] = 1; jobs[next] = 1
         :: else
         fi
    :: considered >= SLOTS
    fi
  };
  atomic { ended++ }
}

/* The lead runs out whenever it likes. */
proctype clock() {
end:
  do
  :: atomic { lead_fresh -> lead_fresh = false }
  :: ended == SCHEDULERS + 1 -> break
  od
}

/* When all has been dealt with, each slot has one row and one job. */
proctype final() {
  byte s;
  atomic { ended == SCHEDULERS + 1 -> check() }
}

init {
  byte p = 1;
  atomic {
    choose_broken();
    do
    :: p <= SCHEDULERS -> run scheduler(p); p++
    :: else -> break
    od;
    run by_hand();
    run clock();
    run final()
  }
}
