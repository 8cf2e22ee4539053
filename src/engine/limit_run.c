// What runs under limits, and what happens when it ends.
#include "engine/limit.h"

#include "store/observe.h"

bool limit_use(struct tx *tx, const struct limited *l, struct limit_use *use,
               struct pawl_error *err)
{
    static const enum query counts[] = {
        [LIMIT_QUEUE] = Q_LIMIT_LIVE_OF_QUEUE, [LIMIT_TYPE] = Q_LIMIT_LIVE_OF_TYPE,
        [LIMIT_ORG] = Q_LIMIT_LIVE_OF_ORG, [LIMIT_KEY] = Q_LIMIT_LIVE_OF_KEY,
    };
    _Static_assert(countof(counts) == LIMIT_SCOPES, "one query per scope");
    SCOPED(rows) struct rows rows = {0};
    bool asked = l->scope == LIMIT_KEY
        ? sql_ask(tx, &rows, counts[l->scope], err, INT(l->subject), INT(l->org), TEXT(l->key))
        : sql_ask(tx, &rows, counts[l->scope], err, INT(l->subject));
    *use = (struct limit_use){0};
    if (!asked)
        return false;
    if (rows_next(&rows)) {
        use->running = row_int(&rows);
        use->oldest = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

bool limit_key_free(struct tx *tx, int64_t type, int64_t org, struct str limit_key,
                    struct pawl_error *err)
{
    return !tx->has_limits || limit_key.n == 0
        || sql_run(tx, Q_BUCKET_WAKE_NOW, err, INT(type), INT(org), TEXT(limit_key),
                   INT(tx->now));
}

static bool give_back(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    struct str limit_key = S("");
    bool held = false;
    {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask(tx, &rows, Q_LIMIT_HOLD_END, err, INT(e->job.high)))
            return false;
        held = rows_next(&rows);
        if (held)
            limit_key = row_text(&rows);
        if (!rows_ok(&rows, err))
            return false;
    }
    if (!held)
        return true;
    observe_limit_free(tx);
    return limit_key_free(tx, e->type, e->org, limit_key, err);
}

bool limit_ended(struct tx *tx, const struct execution *execution, struct pawl_error *err)
{
    return !tx->has_limits || give_back(tx, execution, err);
}

bool limits_tidy(struct tx *tx, size_t limit, struct pawl_error *err)
{
    return !tx->has_limits
        || (sql_run(tx, Q_BUCKETS_TIDY, err, INT(tx->now * 1000), INT((int64_t)limit))
            && sql_run(tx, Q_TYPE_PAUSES_TIDY, err, INT(tx->now)));
}
