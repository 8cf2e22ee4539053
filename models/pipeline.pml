/* The commit pipeline: callers hand operations over, one writer puts what has gathered into one
 * transaction, and answers when it is on disk. The disk may fail at the COMMIT in such a way that
 * nobody knows whether it happened; the process may die at any moment.
 *
 * Each caller wants one job, and asks again with the same idempotency key until it is told yes or
 * that it was refused. */
#include "rule.pml"

#ifndef CALLERS
#define CALLERS 3
#endif
#define DEATHS 2
#define DOUBTS 2
#define ALL (CALLERS + 1)

/* The rules, each of which is needed. */
#define ANSWER_AFTER 1     /* an answer is given when the COMMIT has returned */
#define DOUBT_IS_NOT_NO 2  /* a COMMIT that failed may have happened */
#define DOUBT_IS_NOT_YES 3 /* or may not */
#define LOOKED_UP_WHOLE 4  /* one transaction: its witness is there with all of it, or not */
#define KEY_ASKED 5        /* an operation looks for its key in its own transaction */

/* What must be met on the way. */
#define TOGETHER 101       /* all callers in one transaction */
#define IN_DOUBT_KEPT 102  /* a COMMIT in doubt that was found to have happened */
#define IN_DOUBT_LOST 103  /* and one that was not, whose operations were run again */
#define ASKED_AGAIN 104    /* a caller that had no answer finds its job made */

mtype = { WANTS, WAITS, YES, NO };

byte disk[ALL] = 0;        /* jobs of each caller that survive a power loss */
mtype answer[ALL] = WANTS;
bool in_group[ALL] = false, makes[ALL] = false;
byte deaths = 0, doubts = 0;
byte happened = 0;         /* 1: the COMMIT in doubt took place, 2: it did not */
byte c = 0, members = 0, waiting = 0;

inline check() {
  c = 1;
  do
  :: c <= CALLERS ->
       assert(disk[c] <= 1);                            /* one key, one job */
       assert(answer[c] != YES || disk[c] == 1);        /* told yes: it is there, and stays */
       assert(answer[c] != NO || disk[c] == 0);         /* told no: nothing changed */
       c++
  :: else -> break
  od;
  c = 0
}

#define EACH_MEMBER(act) \
  c = 1; \
  do \
  :: c <= CALLERS -> if :: in_group[c] -> act :: else fi; c++ \
  :: else -> break \
  od; \
  c = 0

/* The transaction reaches the disk: all of it, at once. */
inline apply() {
  c = 1;
  do
  :: c <= CALLERS ->
       disk[c] = disk[c] + (in_group[c] && makes[c]);
       c++
  :: else -> break
  od;
  c = 0
}

inline tell(word) {
  EACH_MEMBER(answer[c] = word; waiting--);
  forget()
}

inline forget() {
  c = 1;
  do
  :: c <= CALLERS -> in_group[c] = false; makes[c] = false; c++
  :: else -> break
  od;
  c = 0; happened = 0
}

/* kill -9 or power loss: what is on disk stays, who waited has no answer and asks again. */
inline may_die() {
  if
  :: atomic { deaths < DEATHS ->
       deaths++;
       c = 1;
       do
       :: c <= CALLERS ->
            if
            :: answer[c] == WAITS -> answer[c] = WANTS; waiting--
            :: else
            fi;
            c++
       :: else -> break
       od;
       forget();
       goto boot }
  :: skip
  fi
}

/* The disk was full, or a statement failed: surely nothing happened. Some are told no, some are
 * run again. */
inline forget_but_no() {
  EACH_MEMBER(if :: makes[c] -> answer[c] = NO :: else -> answer[c] = YES fi; waiting--);
  forget()
}

inline in_doubt() {
  atomic {
    doubts < DOUBTS ->
    doubts++;
    if
    :: KEPT(LOOKED_UP_WHOLE) -> apply(); happened = 1
    :: happened = 2
    :: !KEPT(LOOKED_UP_WHOLE) ->                     /* one by one: the last is the witness */
         c = 1;
         do
         :: c < CALLERS -> disk[c] = disk[c] + (in_group[c] && makes[c]); c++
         :: else -> break
         od;
         c = 0; happened = 2
    fi
  };
  may_die();
  if
  :: atomic { !KEPT(DOUBT_IS_NOT_NO) -> tell(NO); check() }
  :: atomic { !KEPT(DOUBT_IS_NOT_YES) -> tell(YES); check() }
  :: atomic { KEPT(DOUBT_IS_NOT_NO) && KEPT(DOUBT_IS_NOT_YES) ->
       if
       :: happened == 1 -> SEEN(IN_DOUBT_KEPT, true); tell(YES)
       :: happened == 2 && KEPT(LOOKED_UP_WHOLE) ->
            SEEN(IN_DOUBT_LOST, true); forget()
       :: happened == 2 && !KEPT(LOOKED_UP_WHOLE) -> tell(NO)
       fi;
       check() }
  fi
}

proctype caller(byte me) {
end:
  do
  :: atomic { answer[me] == WANTS -> answer[me] = WAITS; waiting++ }
  :: answer[me] == YES || answer[me] == NO -> break
  od
}

proctype writer() {
boot:
end:
  do
  :: atomic {
       waiting > 0 ->
       /* What has gathered: any of those who wait. Each looks for its key. */
       c = 1; members = 0;
       do
       :: c <= CALLERS ->
            if
            :: answer[c] == WAITS ->
                 in_group[c] = true; members++;
                 makes[c] = (disk[c] == 0 || !KEPT(KEY_ASKED));
                 SEEN(ASKED_AGAIN, !makes[c])
            :: answer[c] == WAITS && members > 0
            :: answer[c] != WAITS
            fi;
            c++
       :: else -> break
       od;
       SEEN(TOGETHER, members == CALLERS);
       c = 0; members = 0
     };
     if
     :: !KEPT(ANSWER_AFTER) -> atomic { EACH_MEMBER(answer[c] = YES); check() }
     :: else
     fi;
     may_die();
     if
     :: atomic { apply(); check() };
        may_die();
        atomic { tell(YES); check() }
     :: atomic { forget_but_no(); check() }         /* refused as a whole: it is taken back */
     :: in_doubt()
     fi
  od
}

init {
  byte n = 1;
  atomic {
    choose_broken();
    do
    :: n <= CALLERS -> run caller(n); n++
    :: else -> break
    od;
    run writer()
  }
}
