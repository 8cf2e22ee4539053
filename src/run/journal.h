// The program's log: the library never prints, it tells the program.
//
// A line says what happened to which job in the words of the table below, never what is in a
// payload (JOB-10).
#pragma once

#include <pthread.h>

#include "model/job.h"

enum journal_event {
    RUN_STARTED,
    RUN_ENDED,
    STEP_RETRIED,
    STEP_FAILED,
    LEASE_LOST,
    RUN_OVERDUE,      // past its deadline
    RUN_WRITTEN_OFF,  // its handler ignored the deadline
    RUN_RETURNED,     // a handler that was written off came back
    RUN_RELEASED,
    RUNS_RECOVERED,
    STORE_CONTENDED,  // another process had the store: tried again at the next tick (RUN-11)
    STORE_FAILED,
    STORE_OUTDATED,   // migrated by a newer program: this one works no more
    LOAN_OVER,
    SCHEDULER_LEADS,
    SCHEDULER_STANDS_BY,
    SCHEDULER_CLOCK_OFF,
    SLOTS_CLAIMED,
    SLOTS_SKIPPED,
    SLOTS_STALE,
    SLOTS_RECOVERED,
    SLOT_REFUSED,
    AUDIT_SEALED,     // once an hour: the hash to compare with
    JOURNAL_EVENTS
};

struct journal {
    void (*log)(void *context, const struct pawl_log_line *line);  // NULL: nobody listens
    void *context;
    const struct world *world;
    pthread_mutex_t mutex;  // one line at a time
    bool ended;             // guarded by it: the program listens no more
};

// What a line is about. Empty texts: nothing in particular. They end in NUL.
struct journal_subject {
    const char *job_id, *job_type, *org_id, *project_id, *request_id, *correlation_id;
    int64_t attempt;
};

void journal_open(struct journal *journal, const struct pawl_options *options,
                  const struct world *world);
void journal_end(struct journal *journal);  // the program's log may be gone: not a line more
void journal_close(struct journal *journal);
void journal_write(struct journal *journal, enum journal_event event,
                   const struct journal_subject *subject, const char *format, ...) PRINTF(4, 5);
