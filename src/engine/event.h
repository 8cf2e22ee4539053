// Audit events: one row per change, in the transaction that makes it, never updated (OPS-11,
// OPS-19).
#pragma once

#include "base/id.h"
#include "model/contract.h"
#include "model/failure.h"
#include "model/state.h"
#include "store/db.h"

// The numbers are in the store: never change one. Their names are there too, in audit_event_names.
enum event {
    EVENT_JOB_CREATED = 1,
    EVENT_JOB_ENQUEUED,
    EVENT_JOB_LEASED,
    EVENT_JOB_STARTED,
    EVENT_JOB_COMMITTED,
    EVENT_JOB_SUCCEEDED,
    EVENT_JOB_RETRIED,
    EVENT_JOB_RELEASED,
    EVENT_JOB_FAILED,
    EVENT_JOB_DEADLETTERED,
    EVENT_JOB_CANCEL_REQUESTED,
    EVENT_JOB_CANCELLED,
    EVENT_JOB_CHANGED,
    EVENT_JOB_ANNOTATED,
    EVENT_STEP_RETRIED,
    EVENT_JOB_FINISH_FAILED,
    EVENT_JOB_FINISH_LEASED,
    EVENT_JOB_FINISH_RELEASED,
    EVENT_JOB_LETTER_CLOSED,
    EVENT_STEP_DONE,
    EVENT_STEP_FAILED,
    EVENT_JOB_FINISH_ENDED,
    EVENTS
};

const char *event_name(enum event event);

// Pawl itself, of every org: the sweep and the boot act in its name.
extern const struct caller caller_pawl;

// What an event is about: job_subject and execution_subject make one.
struct subject {
    int64_t org;
    int64_t job;
    int64_t attempt;
    // What is not stored with the event but told to whoever observes (store/observe.h).
    int64_t job_low;          // the other half of its id
    int64_t type, queue;
    int64_t attempts;         // that counted
    pawl_time started_at;     // of the execution; 0: it has not started, or there is none
    enum end_reason end_reason;
    enum error_class error_class;
    enum job_state ended_as;  // of a job that failed
};

// Appends an event in the name of the transaction's caller; without one, as a worker of Pawl's own
// has none, in the name of whoever created the job. `detail` is JSON or empty.
CHECKED bool event_append(struct tx *tx, struct subject subject, enum event event,
                          struct str detail, struct pawl_error *err);

// The same, in the name of whoever created the job.
CHECKED bool event_append_by_creator(struct tx *tx, struct subject subject, enum event event,
                                     struct pawl_error *err);

struct audit_event {
    int64_t id;
    enum event event;
    int64_t attempt;
    pawl_time at;
    enum actor_type actor_type;
    struct str actor_id, request_id, correlation_id;
    struct str detail;
};

// The trail of one job, oldest first. `job` must be one the caller may see.
CHECKED bool events_of_job(struct tx *tx, int64_t job, struct audit_event **events, size_t *count,
                           struct pawl_error *err);
