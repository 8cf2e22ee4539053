// Pausing and resuming, of a whole queue or of an org's share of it.
#include "engine/queue.h"
#include "engine/api_key.h"

#include "engine/job.h"
#include "store/names.h"

bool queue_tell(struct tx *tx, const struct share *share, struct str queue, enum event event,
                struct pawl_error *err)
{
    return event_append_for(tx, share->org, str_format(tx->arena, "queue:%.*s", STR(queue)), event,
                            S(""), err);
}

// A queue is there for an org that has used it: what only others use is none of its business.
static bool used_by(struct tx *tx, int64_t org, int64_t number, bool *used, struct pawl_error *err)
{
    struct queue_count *counts = NULL;
    size_t count = 0;
    *used = org == 0 && number != 0;
    if (org == 0 || number == 0)
        return true;
    if (!counts_of_org(tx, org, &counts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        *used |= counts[i].queue == number;
    return true;
}

bool queue_find(struct tx *tx, struct str queue, int64_t *number, struct pawl_error *err)
{
    int64_t org = 0;
    bool used = false;
    if (caller_limited(tx))
        return fail(err, PAWL_FORBIDDEN, "a key that is limited to projects cannot change queues");
    if (!caller_org(tx, &org, err) || !name_find(tx, NAME_QUEUE, queue, number, err)
        || !used_by(tx, org, *number, &used, err))
        return false;
    return used || queue_term_known(tx->queue_terms, queue)
        || fail(err, PAWL_NOT_FOUND, "there is no queue %.*s", STR(queue));
}

bool share_of_caller(struct tx *tx, struct str queue, struct share *share, struct pawl_error *err)
{
    *share = (struct share){0};
    if (!queue_find(tx, queue, &share->queue, err)
        || (share->queue == 0 && !name_intern(tx, NAME_QUEUE, queue, &share->queue, err)))
        return false;
    return !tx->caller || tx->caller->org_id.n == 0
        || org_intern(tx, tx->caller->org_id, &share->org, err);
}

bool queue_paused(struct tx *tx, int64_t queue, pawl_time *since, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_QUEUE_PAUSED, err, INT(queue)) && rows_number(&rows, since, err);
}

bool share_paused(struct tx *tx, int64_t queue, int64_t org, struct share_pause *pause,
                  struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *pause = (struct share_pause){0};
    if (!sql_ask(tx, &rows, Q_SHARE_PAUSED, err, INT(queue), INT(org)))
        return false;
    if (rows_next(&rows)) {
        pause->since = row_int(&rows);
        pause->by = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

static bool pause_share(struct tx *tx, const struct share *share, int64_t *changed,
                        struct pawl_error *err)
{
    return sql_run_counting(tx, Q_SHARE_PAUSE, changed, err, INT(share->queue), INT(share->org),
                            INT(tx->now), TEXT(tx->caller->actor_id));
}

bool queue_pause(struct tx *tx, struct str queue, struct pawl_error *err)
{
    struct share share;
    int64_t changed = 0;
    if (!share_of_caller(tx, queue, &share, err))
        return false;
    bool paused = share.org ? pause_share(tx, &share, &changed, err)
                            : sql_run_counting(tx, Q_QUEUE_PAUSE, &changed, err, INT(share.queue),
                                               INT(tx->now));
    return paused && (changed == 0 || queue_tell(tx, &share, queue, EVENT_QUEUE_PAUSED, err));
}

bool queue_resume(struct tx *tx, struct str queue, struct pawl_error *err)
{
    struct share share;
    int64_t changed = 0;
    if (!share_of_caller(tx, queue, &share, err))
        return false;
    bool resumed = share.org ? sql_run_counting(tx, Q_SHARE_RESUME, &changed, err,
                                                INT(share.queue), INT(share.org))
                             : sql_run_counting(tx, Q_QUEUE_RESUME, &changed, err,
                                                INT(share.queue));
    if (!resumed || changed == 0)
        return resumed;
    tx_has_news(tx, NEWS_ANY);
    return queue_tell(tx, &share, queue, EVENT_QUEUE_RESUMED, err);
}

bool queue_has_room(struct tx *tx, struct str queue, struct pawl_error *err)
{
    int64_t number = 0, waiting = 0;
    struct queue_term term = queue_term_of(tx->queue_terms, queue);
    if (term.depth_max == 0)
        return true;
    if (!name_find(tx, NAME_QUEUE, queue, &number, err)
        || (number && !count_waiting(tx, number, &waiting, err)))
        return false;
    return waiting < term.depth_max
        || fail(err, PAWL_QUEUE_FULL, "queue %.*s is full: %lld jobs wait in it, its limit is %lld",
                STR(queue), (long long)waiting, (long long)term.depth_max);
}
