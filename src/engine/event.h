// Audit events: one row per change, in the transaction that makes it, never updated (OPS-11,
// OPS-19).
#pragma once

#include "base/id.h"
#include "model/alert.h"
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
    EVENT_KEY_CREATED,  // from here on: of something that is no job
    EVENT_KEY_REVOKED,
    EVENT_ORG_CREATED,
    EVENT_ORG_DISABLED,
    EVENT_QUEUE_PAUSED,
    EVENT_QUEUE_RESUMED,
    EVENT_QUEUE_PURGED,
    EVENT_CONFIG_LOADED,
    EVENT_CONFIG_REFUSED,
    EVENT_INSTANCE_STARTED,
    EVENT_INSTANCE_STOPPED,
    EVENT_SCHEDULE_CREATED,
    EVENT_SCHEDULE_CHANGED,
    EVENT_SCHEDULE_REMOVED,
    EVENT_SCHEDULE_PAUSED,
    EVENT_SCHEDULE_RESUMED,
    EVENT_SCHEDULE_SKIPPED,
    EVENT_SLOT_RECOVERED,
    EVENT_LEADER_CHANGED,
    EVENT_ORG_WEIGHED,
    EVENT_BATCH_CREATED,
    EVENT_BATCH_ENDED,
    EVENT_STORE_RESTORED,
    EVENT_ARTIFACT_STORED,
    EVENT_ARTIFACT_REMOVED,
    EVENT_JOB_ERASED,   // of a job again
    EVENT_JOBS_REMOVED,
    EVENT_AUDIT_PRUNED,
    EVENT_ORG_ENABLED,
    EVENT_ORG_ERASED,
    EVENT_AUDIT_ANNOTATED,  // an event of no job; a note to one of a job is JOB_ANNOTATED
    EVENT_LIMIT_SET,
    EVENT_LIMIT_REMOVED,
    EVENT_TYPE_PAUSED,
    EVENT_TYPE_RESUMED,
    EVENTS
};

const char *event_name(enum event event);
bool event_parse(struct str name, enum event *event);

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
    enum alert_kind alert;    // see engine/alert.h
    struct str project_id, request_id, correlation_id;  // of the job, when there is an alert
};

// Appends an event in the name of the transaction's caller; without one, as a worker of Pawl's own
// has none, it was Pawl. `detail` is JSON or empty.
CHECKED bool event_append(struct tx *tx, struct subject subject, enum event event,
                          struct str detail, struct pawl_error *err);

// The same, in the name of whoever created the job.
CHECKED bool event_append_by_creator(struct tx *tx, struct subject subject, enum event event,
                                     struct pawl_error *err);

// Appends an event of something that is no job: `key:3kTbX9QmZa`, `queue:q:default`, `config`,
// `instance:web-1`. `org` is 0 for what concerns the whole store. Without a caller it was Pawl.
CHECKED bool event_append_for(struct tx *tx, int64_t org, struct str subject, enum event event,
                              struct str detail, struct pawl_error *err);

struct audit_event {
    int64_t id;
    enum event event;
    int64_t attempt;
    pawl_time at;
    enum actor_type actor_type;
    struct str actor_id, request_id, correlation_id;
    struct str detail;
    // Only from events_of_org:
    struct str org_id;                // empty: of the whole store
    struct id job;                    // {0}: of no job ...
    struct str job_type, project_id;
    struct str subject;               // ... but of this
};

// The trail of one job, oldest first. `job` must be one the caller may see.
CHECKED bool events_of_job(struct tx *tx, int64_t job, struct audit_event **events, size_t *count,
                           struct pawl_error *err);

struct event_filter {
    int64_t before;   // the id to go on from; 0: the newest
    int64_t after;    // only later ones than this id; 0: all
    bool of_store;    // only what is no org's; the caller must speak for all of them
    bool has_job;
    struct id job;
    enum event event; // 0: any
    int64_t limit;
};

struct event_list {
    struct audit_event *events;
    size_t count;
    int64_t next;  // `before` of the next page; 0: that was all
};

// The events of the caller's org, newest first; of its projects only, and nothing but jobs, when it
// is limited to some. Looks at a bounded number of rows, so a page may be short and still have a
// next one. PAWL_NOT_FOUND for a job it may not see.
CHECKED bool events_of_org(struct tx *tx, const struct event_filter *filter,
                           struct event_list *list, struct pawl_error *err);

// The newest id of an event before this time; 0: there is none.
CHECKED bool events_before(struct tx *tx, pawl_time time, int64_t *id, struct pawl_error *err);

// The same events after the id `*after`, oldest first: nothing is left out between two calls. The
// last row that was looked at becomes `*after`; list->next is 0 when there was none after it.
CHECKED bool events_after(struct tx *tx, int64_t *after, size_t limit, struct event_list *list,
                          struct pawl_error *err);
