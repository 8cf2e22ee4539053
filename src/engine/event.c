// Events are narrow: what they share with their job is read through the job, not stored again.
#include "engine/event.h"

#include <assert.h>

#include "base/list.h"
#include "store/observe.h"

// What the job's state is after an event, if the event alone says it.
#define UNCHANGED JOB_STATES
#define AS_ENDED (JOB_STATES + 1)

static const struct {
    const char *name;
    int state;
} kinds[] = {
    [EVENT_JOB_CREATED] = { "job.created", JOB_CREATED },
    [EVENT_JOB_ENQUEUED] = { "job.enqueued", JOB_QUEUED },
    [EVENT_JOB_LEASED] = { "job.leased", JOB_RUNNING },
    [EVENT_JOB_STARTED] = { "job.started", JOB_RUNNING },
    [EVENT_JOB_COMMITTED] = { "job.committed", JOB_RUNNING },
    [EVENT_JOB_SUCCEEDED] = { "job.succeeded", JOB_SUCCEEDED },
    [EVENT_JOB_RETRIED] = { "job.retried", JOB_RETRYING },
    [EVENT_JOB_RELEASED] = { "job.released", JOB_RETRYING },
    [EVENT_JOB_FAILED] = { "job.failed", AS_ENDED },
    [EVENT_JOB_DEADLETTERED] = { "job.deadlettered", AS_ENDED },
    [EVENT_JOB_CANCEL_REQUESTED] = { "job.cancel_requested", UNCHANGED },
    [EVENT_JOB_CANCELLED] = { "job.cancelled", AS_ENDED },
    [EVENT_JOB_CHANGED] = { "job.changed", UNCHANGED },
    [EVENT_JOB_ANNOTATED] = { "job.annotated", UNCHANGED },
    [EVENT_STEP_RETRIED] = { "step.retried", UNCHANGED },
    [EVENT_JOB_FINISH_FAILED] = { "job.finish_failed", UNCHANGED },
    [EVENT_JOB_FINISH_LEASED] = { "job.finish_leased", UNCHANGED },
    [EVENT_JOB_FINISH_RELEASED] = { "job.finish_released", UNCHANGED },
    [EVENT_JOB_LETTER_CLOSED] = { "job.letter_closed", UNCHANGED },
    [EVENT_STEP_DONE] = { "step.done", UNCHANGED },
    [EVENT_STEP_FAILED] = { "step.failed", UNCHANGED },
    [EVENT_JOB_FINISH_ENDED] = { "job.finish_ended", UNCHANGED },
    [EVENT_KEY_CREATED] = { "key.created", UNCHANGED },
    [EVENT_KEY_REVOKED] = { "key.revoked", UNCHANGED },
    [EVENT_ORG_CREATED] = { "org.created", UNCHANGED },
    [EVENT_ORG_DISABLED] = { "org.disabled", UNCHANGED },
    [EVENT_QUEUE_PAUSED] = { "queue.paused", UNCHANGED },
    [EVENT_QUEUE_RESUMED] = { "queue.resumed", UNCHANGED },
    [EVENT_QUEUE_PURGED] = { "queue.purged", UNCHANGED },
    [EVENT_CONFIG_LOADED] = { "config.loaded", UNCHANGED },
    [EVENT_CONFIG_REFUSED] = { "config.refused", UNCHANGED },
    [EVENT_INSTANCE_STARTED] = { "instance.started", UNCHANGED },
    [EVENT_INSTANCE_STOPPED] = { "instance.stopped", UNCHANGED },
    [EVENT_SCHEDULE_CREATED] = { "schedule.created", UNCHANGED },
    [EVENT_SCHEDULE_CHANGED] = { "schedule.changed", UNCHANGED },
    [EVENT_SCHEDULE_REMOVED] = { "schedule.removed", UNCHANGED },
    [EVENT_SCHEDULE_PAUSED] = { "schedule.paused", UNCHANGED },
    [EVENT_SCHEDULE_RESUMED] = { "schedule.resumed", UNCHANGED },
    [EVENT_SCHEDULE_SKIPPED] = { "schedule.skipped", UNCHANGED },
    [EVENT_SLOT_RECOVERED] = { "slot.recovered", UNCHANGED },
    [EVENT_LEADER_CHANGED] = { "leader.changed", UNCHANGED },
    [EVENT_ORG_WEIGHED] = { "org.weighed", UNCHANGED },
    [EVENT_BATCH_CREATED] = { "batch.created", UNCHANGED },
    [EVENT_BATCH_ENDED] = { "batch.ended", UNCHANGED },
    [EVENT_STORE_RESTORED] = { "store.restored", UNCHANGED },
    [EVENT_ARTIFACT_STORED] = { "artifact.stored", UNCHANGED },
    [EVENT_ARTIFACT_REMOVED] = { "artifact.removed", UNCHANGED },
    [EVENT_JOB_ERASED] = { "job.erased", UNCHANGED },
    [EVENT_JOBS_REMOVED] = { "jobs.removed", UNCHANGED },
    [EVENT_AUDIT_PRUNED] = { "audit.pruned", UNCHANGED },
    [EVENT_ORG_ENABLED] = { "org.enabled", UNCHANGED },
    [EVENT_ORG_ERASED] = { "org.erased", UNCHANGED },
    [EVENT_AUDIT_ANNOTATED] = { "audit.annotated", UNCHANGED },
    [EVENT_LIMIT_SET] = { "limit.set", UNCHANGED },
    [EVENT_LIMIT_REMOVED] = { "limit.removed", UNCHANGED },
    [EVENT_TYPE_PAUSED] = { "type.paused", UNCHANGED },
    [EVENT_TYPE_RESUMED] = { "type.resumed", UNCHANGED },
};
_Static_assert(countof(kinds) == EVENTS, "one row per event");

const struct caller caller_pawl = {
    .actor_type = ACTOR_SYSTEM,
    .actor_id = { "pawl", 4 },
    .request_id = { "pawl", 4 },
};

const char *event_name(enum event event)
{
    assert(event > 0 && event < EVENTS);
    return kinds[event].name;
}

bool event_parse(struct str name, enum event *event)
{
    for (unsigned i = 1; i < EVENTS; i++)
        if (str_eq(name, str_of(kinds[i].name)))
            return *event = (enum event)i, true;
    return false;
}

static void observe(struct tx *tx, const struct subject *subject, enum event event)
{
    int state = kinds[event].state;
    observe_event(tx, &(struct observation){
                          .event = (int)event,
                          .state = state == AS_ENDED ? subject->ended_as : (enum job_state)state,
                          .org = subject->org,
                          .type = subject->type,
                          .queue = subject->queue,
                          .job = { subject->job, subject->job_low },
                          .attempt = subject->attempt,
                          .attempts = subject->attempts,
                          .started_at = subject->started_at,
                          .end_reason = subject->end_reason,
                          .error_class = subject->error_class,
                          .alert = subject->alert,
                          .project_id = subject->project_id,
                          .request_id = subject->request_id,
                          .correlation_id = subject->correlation_id,
                      });
}

// The name of Pawl is not stored with each of its events, nor that of who created the job: see
// audit_insert_plain.
static const struct caller creator, own_worker = { .actor_type = ACTOR_SYSTEM };

// What an event belongs together with is its job's to say, whoever did it.
static bool append(struct tx *tx, const struct subject *subject, enum event event,
                   const struct caller *by, struct str detail, struct pawl_error *err)
{
    struct value type = by == &creator ? NONE : INT((int64_t)by->actor_type);
    if (tx->observed)
        observe(tx, subject, event);
    tx_witness(tx, subject->job, (int64_t)event, subject->attempt);
    if (by->actor_id.n == 0 && detail.n == 0)
        return sql_later(tx, Q_AUDIT_INSERT_PLAIN, err, INT(subject->org), INT(subject->job),
                         INT((int64_t)event), INT(subject->attempt), INT(tx->now), type);
    return sql_later(tx, Q_AUDIT_INSERT, err, INT(subject->org), INT(subject->job),
                     INT((int64_t)event), INT(subject->attempt), INT(tx->now), type,
                     TEXT_OR_NONE(by->actor_id), TEXT_OR_NONE(by->request_id),
                     TEXT_OR_NONE(detail));
}

bool event_append(struct tx *tx, struct subject subject, enum event event, struct str detail,
                  struct pawl_error *err)
{
    return append(tx, &subject, event, tx->caller ? tx->caller : &own_worker, detail, err);
}

bool event_append_by_creator(struct tx *tx, struct subject subject, enum event event,
                             struct pawl_error *err)
{
    return append(tx, &subject, event, &creator, S(""), err);
}

bool event_append_for(struct tx *tx, int64_t org, struct str subject, enum event event,
                      struct str detail, struct pawl_error *err)
{
    const struct caller *by = tx->caller ? tx->caller : &caller_pawl;
    assert(event >= EVENT_KEY_CREATED && event < EVENTS);
    assert(subject.n > 0 || tx->arena->failed);  // nothing of that transaction is stored
    tx_witness(tx, 0, (int64_t)event, 0);
    return sql_run(tx, Q_AUDIT_INSERT_SUBJECT, err, INT(org), INT((int64_t)event), INT(tx->now),
                   INT((int64_t)by->actor_type), TEXT(by->actor_id), TEXT_OR_NONE(by->request_id),
                   TEXT_OR_NONE(by->correlation_id), TEXT_OR_NONE(detail), TEXT(subject));
}

bool events_of_job(struct tx *tx, int64_t job, struct audit_event **events, size_t *count,
                   struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct audit_event));
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_AUDIT_OF_JOB, err, INT(job)))
        return false;
    while (rows_next(&rows)) {
        struct audit_event *event = list_add(&list);
        if (!event)
            return fail(err, PAWL_NO_MEMORY, "no memory for the audit trail");
        event->id = row_int(&rows);
        event->event = (enum event)row_int(&rows);
        event->attempt = row_int(&rows);
        event->at = row_int(&rows);
        event->actor_type = (enum actor_type)row_int(&rows);
        event->actor_id = row_text(&rows);
        event->request_id = row_text(&rows);
        event->correlation_id = row_text(&rows);
        event->detail = row_text(&rows);
    }
    *events = list.items;
    *count = list.count;
    return rows_ok(&rows, err);
}
