// A store beside the reference model: one job after the other, and what each call answered.
//
// The first difference is kept in `problem`; from then on nothing is compared any more.
#pragma once

#include "reference.h"

struct match {
    struct reference model;
    struct tx *tx;         // in which the store is read and changed, in the name of every org
    struct pawl_error err;
    enum pawl_code code;   // of the call in hand
    size_t focus;          // the job it is about; SIZE_MAX: none
    size_t every;          // a job that nothing happened to is looked at once in so many times
    bool store_may_fail;   // what cannot be read is the disk's fault ...
    bool broken;           // ... and so it was: the transaction is to be given up
    bool unlike;           // there is a problem
    char problem[1024];
    size_t compared;
    uint64_t version;      // of the model: how many transactions have made it
    int64_t effects;       // rows that commits wrote with their own SQL
    size_t told[REF_JOBS_MAX];  // events of each job when it was last compared in full
};

void match_copy(struct match *to, const struct match *from);  // and no more than there is of it

void differ(struct match *m, const char *format, ...) PRINTF(2, 3);

// The engine's answer must be the model's.
void answer(struct match *m, const char *what, bool done, enum pawl_code expected);

// A new job of the model gets the id and the key it has in the store.
void adopt_job(struct match *m, size_t index, const struct job *job);
void adopt_newest(struct match *m, size_t count);  // the same, for the newest ones
// The same for callbacks: when one call ends several batches, the engine says which comes first.
void adopt_callbacks(struct match *m);
void adopt_finish(struct match *m);  // what dice said about commit phases that failed

// Every job must be as the model says. One to which something happened is compared with its whole
// history, and so is every one with `all`; the others as they are: those that wait for a turn each
// time, the rest in turn.
void compare(struct match *m, bool all);

// What is left: there are no other jobs in the store than the model's, and what is paused is.
void compare_rest(struct match *m, const struct str *queues, size_t queue_count,
                  const struct str *orgs, size_t org_count);
