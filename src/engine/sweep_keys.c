// Removing the records of idempotency keys whose time to live is over.
//
// A generation is looked at when the last time to live in it is over, so that keys of a week wait
// for keys of a month beside them: until then they are forgotten, but their records stay. A piece
// of it at a time; records of jobs that have not ended stay until another day. An empty generation
// goes altogether.
#include "engine/sweep_keys.h"

#include "store/key_index.h"

// The part of a generation that is at hand: the slots from `from` on, below `to`.
struct piece {
    int64_t generation, from, to;
};

// `generation` stays 0 when none is due.
static bool find_due(struct tx *tx, struct piece *piece, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_GENERATION_DUE, err, INT(tx->now)))
        return false;
    if (rows_next(&rows)) {
        piece->generation = row_int(&rows);
        piece->from = row_int(&rows);
        piece->to = key_first_slot(piece->generation + 1);
        if (piece->from == 0)
            piece->from = key_first_slot(piece->generation);
    }
    return rows_ok(&rows, err);
}

// The slot of the record that has `records` of the piece before it; 0: there is none.
static bool slot_after(struct tx *tx, const struct piece *piece, size_t records, int64_t *slot,
                       struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_KEY_SLOT_AFTER, err, INT(piece->from), INT(piece->to),
                   INT((int64_t)records))
        && rows_number(&rows, slot, err);
}

static bool remove_expired(struct tx *tx, const struct piece *piece, struct swept *swept,
                           struct pawl_error *err)
{
    int64_t removed = 0;
    if (!sql_run_counting(tx, Q_KEY_REMOVE_EXPIRED, &removed, err, INT(piece->from),
                          INT(piece->to), INT(tx->now)))
        return false;
    tx->keys.rearranged = tx->keys.rearranged || removed > 0;
    swept->keys += (size_t)removed;
    return true;
}

// The end of a generation was reached.
static bool finish(struct tx *tx, int64_t generation, struct pawl_error *err)
{
    struct piece whole = { generation, key_first_slot(generation), key_first_slot(generation + 1) };
    int64_t left = 0;
    if (!slot_after(tx, &whole, 0, &left, err))
        return false;
    if (left == 0)
        return sql_run(tx, Q_GENERATION_DELETE, err, INT(generation));
    return sql_run(tx, Q_GENERATION_SWEPT, err, INT(generation), INT(0), INT(tx->now + DAYS(1)));
}

bool sweep_keys(struct tx *tx, size_t limit, struct swept *swept, struct pawl_error *err)
{
    struct piece piece = {0};
    int64_t next = 0;
    if (!find_due(tx, &piece, err))
        return false;
    if (piece.generation == 0)
        return true;
    if (!slot_after(tx, &piece, limit, &next, err))
        return false;
    if (next > 0)
        piece.to = next;
    swept->more = true;  // of this generation, or of another one
    if (!remove_expired(tx, &piece, swept, err))
        return false;
    if (next == 0)
        return finish(tx, piece.generation, err);
    return sql_run(tx, Q_GENERATION_SWEPT, err, INT(piece.generation), INT(next), INT(tx->now));
}
