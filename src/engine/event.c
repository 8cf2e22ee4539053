// Events are narrow: what they share with their job is read through the job, not stored again.
#include "engine/event.h"

#include <assert.h>

#include "base/list.h"

static const char *const names[] = {
    [EVENT_JOB_CREATED] = "job.created",
    [EVENT_JOB_ENQUEUED] = "job.enqueued",
    [EVENT_JOB_LEASED] = "job.leased",
    [EVENT_JOB_STARTED] = "job.started",
    [EVENT_JOB_COMMITTED] = "job.committed",
    [EVENT_JOB_SUCCEEDED] = "job.succeeded",
    [EVENT_JOB_RETRIED] = "job.retried",
    [EVENT_JOB_RELEASED] = "job.released",
    [EVENT_JOB_FAILED] = "job.failed",
    [EVENT_JOB_DEADLETTERED] = "job.deadlettered",
    [EVENT_JOB_CANCEL_REQUESTED] = "job.cancel_requested",
    [EVENT_JOB_CANCELLED] = "job.cancelled",
    [EVENT_JOB_CHANGED] = "job.changed",
    [EVENT_JOB_ANNOTATED] = "job.annotated",
    [EVENT_STEP_RETRIED] = "step.retried",
    [EVENT_JOB_FINISH_FAILED] = "job.finish_failed",
    [EVENT_JOB_FINISH_LEASED] = "job.finish_leased",
    [EVENT_JOB_FINISH_RELEASED] = "job.finish_released",
    [EVENT_JOB_LETTER_CLOSED] = "job.letter_closed",
    [EVENT_STEP_DONE] = "step.done",
    [EVENT_STEP_FAILED] = "step.failed",
    [EVENT_JOB_FINISH_ENDED] = "job.finish_ended",
    [EVENT_KEY_CREATED] = "key.created",
    [EVENT_KEY_REVOKED] = "key.revoked",
    [EVENT_ORG_CREATED] = "org.created",
    [EVENT_ORG_DISABLED] = "org.disabled",
    [EVENT_QUEUE_PAUSED] = "queue.paused",
    [EVENT_QUEUE_RESUMED] = "queue.resumed",
    [EVENT_QUEUE_PURGED] = "queue.purged",
    [EVENT_CONFIG_LOADED] = "config.loaded",
    [EVENT_CONFIG_REFUSED] = "config.refused",
    [EVENT_INSTANCE_STARTED] = "instance.started",
    [EVENT_INSTANCE_STOPPED] = "instance.stopped",
};
_Static_assert(countof(names) == EVENTS, "one name per event");

const struct caller caller_pawl = {
    .actor_type = ACTOR_SYSTEM,
    .actor_id = { "pawl", 4 },
    .request_id = { "pawl", 4 },
};

const char *event_name(enum event event)
{
    assert(event > 0 && event < EVENTS);
    return names[event];
}

bool event_parse(struct str name, enum event *event)
{
    for (unsigned i = 1; i < EVENTS; i++)
        if (str_eq(name, str_of(names[i])))
            return *event = (enum event)i, true;
    return false;
}

static bool append(struct tx *tx, struct subject subject, enum event event,
                   const struct caller *by, struct str detail, struct pawl_error *err)
{
    return sql_later(tx, Q_AUDIT_INSERT, err, INT(subject.org), INT(subject.job),
                     INT((int64_t)event), INT(subject.attempt), INT(tx->now),
                     by ? INT((int64_t)by->actor_type) : NONE, by ? TEXT(by->actor_id) : NONE,
                     by ? TEXT(by->request_id) : NONE,
                     by ? TEXT_OR_NONE(by->correlation_id) : NONE, TEXT_OR_NONE(detail));
}

bool event_append(struct tx *tx, struct subject subject, enum event event, struct str detail,
                  struct pawl_error *err)
{
    return append(tx, subject, event, tx->caller, detail, err);
}

bool event_append_by_creator(struct tx *tx, struct subject subject, enum event event,
                             struct pawl_error *err)
{
    return append(tx, subject, event, NULL, S(""), err);
}

bool event_append_for(struct tx *tx, int64_t org, struct str subject, enum event event,
                      struct str detail, struct pawl_error *err)
{
    const struct caller *by = tx->caller ? tx->caller : &caller_pawl;
    assert(event >= EVENT_KEY_CREATED && event < EVENTS && subject.n > 0);
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
