/* Jobs of one serial key: at most one of them runs, the oldest that is due is next, and none is
 * left behind. Every step is one transaction; job 1 is the oldest. */
#include "rule.pml"

#ifndef JOBS
#define JOBS 3
#endif
#define RETRIES 1
#define ALL (JOBS + 1)

/* The rules, each of which is needed. */
#define BUSY_KEY_BLOCKS 1  /* a job enters behind who is running */
#define NEXT_AFTER_END 2   /* who leaves the key lets the next one in: at an end, */
#define NEXT_AFTER_RETRY 3 /* when it backs off, */
#define NEXT_AFTER_LEAVE 4 /* and when it is cancelled while it is the ready one */
#define OLDEST_FIRST 5     /* an older job whose time has come takes the ready one's turn, */
#define HEAD_STEPS_BACK 6  /* which waits again */
#define ENTERS_BY_KEY 7    /* a retry whose time has come enters like everybody else */

/* What must be met on the way. */
#define TURN_TAKEN 101     /* an older job takes the ready one's turn */
#define BEHIND_RETRY 102   /* a younger job runs while an older one backs off */

mtype = { ABSENT, READY, BLOCKED, BACKOFF, RUNNING, ENDED };

mtype place[ALL] = ABSENT;
byte retries[ALL] = 0;
byte i, ready, running, head, oldest;

inline look() {
  i = 1; ready = 0; running = 0; head = 0; oldest = 0;
  do
  :: i <= JOBS ->
       if
       :: place[i] == READY -> ready++; head = i
       :: place[i] == RUNNING -> running++
       :: place[i] == BLOCKED && oldest == 0 -> oldest = i
       :: else
       fi;
       i++
  :: else -> break
  od;
  i = 0
}

inline check() {
  look();
  assert(running <= 1);                                 /* RUN-2 */
  assert(ready + running <= 1);                         /* the head of the key, and nobody else */
  assert(oldest == 0 || ready + running == 1);          /* nobody waits for nobody */
  assert(oldest == 0 || head == 0 || head < oldest);    /* oldest first */
  ready = 0; running = 0; head = 0; oldest = 0
}

/* place.c, enter_key */
inline enter(j) {
  look();
  if
  :: (running > 0 && KEPT(BUSY_KEY_BLOCKS)) || (head > 0 && (head < j || !KEPT(OLDEST_FIRST))) ->
       place[j] = BLOCKED
  :: else ->
       if
       :: head > 0 ->
            SEEN(TURN_TAKEN, true);
            if
            :: KEPT(HEAD_STEPS_BACK) -> place[head] = BLOCKED
            :: else
            fi
       :: else
       fi;
       place[j] = READY
  fi
}

/* place.c, place_next_of_key */
inline next_of_key() {
  look();
  if
  :: oldest > 0 && running == 0 -> place[oldest] = READY
  :: else
  fi
}

inline leave_key(rule) {
  if
  :: KEPT(rule) -> next_of_key()
  :: else
  fi
}

proctype life(byte j) {
  do
  :: atomic { place[j] == ABSENT -> enter(j); check() }
  :: atomic { place[j] == READY -> place[j] = RUNNING; check() }          /* claim */
  :: atomic { place[j] == RUNNING ->                               /* done, failed, expired */
       place[j] = ENDED; leave_key(NEXT_AFTER_END); check() }
  :: atomic { place[j] == RUNNING && retries[j] < RETRIES ->
       retries[j]++; place[j] = BACKOFF; leave_key(NEXT_AFTER_RETRY); check() }
  :: atomic { place[j] == BACKOFF ->
       look();
       SEEN(BEHIND_RETRY, running > 0 && j == 1);
       if
       :: KEPT(ENTERS_BY_KEY) -> enter(j)
       :: else -> place[j] = READY
       fi;
       check() }
  :: atomic { place[j] == READY -> place[j] = ENDED; leave_key(NEXT_AFTER_LEAVE); check() }
  :: atomic { place[j] == BLOCKED || place[j] == BACKOFF ->               /* cancel */
       place[j] = ENDED; check() }
  :: place[j] == ENDED -> break
  od
}

init {
  byte j = 1;
  atomic {
    choose_broken();
    do
    :: j <= JOBS -> run life(j); j++
    :: else -> break
    od
  }
}
