// One update puts a job aside, one brings many back.
#include "engine/shelf.h"

#include "engine/place.h"

bool shelf_put(struct tx *tx, const struct waiting *w, struct pawl_error *err)
{
    return sql_run(tx, Q_SHELF_PUT, err, INT(w->queue), INT(w->type), INT(w->rank), INT(w->job),
                   INT(shelf_of(w->org, w->queue)));
}

// With the last of them the pause itself is over.
bool shelf_bring_back(struct tx *tx, int64_t org, int64_t queue, size_t limit, bool *more,
                      struct pawl_error *err)
{
    int64_t moved = 0;
    if (!sql_run_counting(tx, Q_SHELF_BRING_BACK, &moved, err, INT(shelf_of(org, queue)),
                          INT(queue), INT((int64_t)limit)))
        return false;
    tx->news = true;
    *more = (size_t)moved == limit;
    return *more || sql_run(tx, Q_SHARE_RESUMED, err, INT(queue), INT(org));
}

bool shelf_sweep(struct tx *tx, size_t limit, bool *more, struct pawl_error *err)
{
    int64_t queue = 0, org = 0;
    {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask_plain(tx, &rows, Q_SHARE_TO_BRING_BACK, err))
            return false;
        if (rows_next(&rows)) {
            queue = row_int(&rows);
            org = row_int(&rows);
        }
        if (!rows_ok(&rows, err))
            return false;
    }
    if (queue == 0)
        return true;
    *more = true;  // of this share, or of another one
    bool rest = false;
    return shelf_bring_back(tx, org, queue, limit, &rest, err);
}
