// A lane is one type in one queue, read a few rows at a time; the first of the heads is next.
#include "engine/lane.h"

#include "engine/job.h"
#include "store/names.h"

enum { LANE_ROWS = 64, LANES_MAX = 4096 };

// Of one project, if the caller is limited to some.
struct lane {
    int64_t type;
    struct str project;  // empty: whatever it is
    struct waiting *rows;
    size_t count, next;
    size_t read;         // rows so far
    bool drained;        // the store has no more than these
};

// A claim of one type from one queue takes what it reads, so jobs are read with their places.
static bool takes_all(const struct lanes *lanes)
{
    return lanes->only_queue && lanes->claim->job_type_count == 1 && !lanes->has_pauses;
}

// Nothing is between two rows that were read one after the other: nothing was filtered out, and
// nobody else has taken it meanwhile.
static bool reads_whole(const struct tx *tx, const struct lanes *lanes, const struct lane *lane)
{
    return lanes->org == 0 && lane->project.n == 0 && db_alone(tx->db);
}

static bool lane_ask(struct tx *tx, const struct lanes *lanes, const struct lane *lane,
                     size_t wanted, struct rows *rows, struct pawl_error *err)
{
    struct waiting last = { .rank = INT64_MIN };
    if (lane->count)
        last = lane->rows[lane->count - 1];
    if (lane->project.n)
        return sql_ask(tx, rows, Q_READY_LANE_OF_PROJECT, err, INT(lanes->org),
                       TEXT(lane->project), INT(lanes->queue), INT(lane->type), INT(last.rank),
                       INT(last.job), INT((int64_t)wanted));
    return sql_ask(tx, rows, takes_all(lanes) ? Q_READY_LANE_JOBS : Q_READY_LANE, err,
                   INT(lanes->queue), INT(lane->type), INT(last.rank), INT(last.job),
                   INT(lanes->org), INT((int64_t)wanted));
}

// The job behind the place, if it never ran. One that is missing is noticed when it is to be taken.
static bool read_job(struct tx *tx, struct rows *rows, struct waiting *row, struct pawl_error *err)
{
    if (row->attempt > 0 || row_is_null(rows))
        return true;
    struct loaded *loaded = arena_new(tx->arena, struct loaded, 1);
    if (!loaded)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    row->loaded = loaded;
    return job_read_new(tx, rows, row, loaded, err);
}

static bool read_row(struct tx *tx, const struct lanes *lanes, struct lane *lane,
                     struct rows *rows, struct pawl_error *err)
{
    struct waiting *row = &lane->rows[lane->count++];
    row->queue = lanes->queue;
    row->type = lane->type;
    row->rank = row_int(rows);
    row->job = row_int(rows);
    row->org = row_int(rows);
    row->attempt = row_int(rows);
    row->serial_key = row_text(rows);
    lane->read++;
    if (reads_whole(tx, lanes, lane))
        row->nth = lane->read;
    return lane->project.n || !takes_all(lanes) || read_job(tx, rows, row, err);
}

// The rows that were there stay where they are, in the arena.
static bool lane_fill(struct tx *tx, const struct lanes *lanes, struct lane *lane, size_t room,
                      struct pawl_error *err)
{
    size_t wanted = lanes->has_pauses || room > LANE_ROWS ? LANE_ROWS : room;
    SCOPED(rows) struct rows rows = {0};
    if (!lane_ask(tx, lanes, lane, wanted, &rows, err))
        return false;
    lane->rows = arena_new(tx->arena, struct waiting, wanted);
    if (!lane->rows)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    lane->count = lane->next = 0;
    while (lane->count < wanted && rows_next(&rows))
        if (!read_row(tx, lanes, lane, &rows, err))
            return false;
    lane->drained = lane->count < wanted;
    return rows_ok(&rows, err);
}

static bool lane_add(struct tx *tx, struct lanes *lanes, const struct lane *wanted, size_t room,
                     struct pawl_error *err)
{
    struct lane *lane = list_add(&lanes->all);
    if (!lane)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    *lane = *wanted;
    return lane_fill(tx, lanes, lane, room, err);
}

// The type after the lane's own that has something ready; 0: none.
static bool next_type(struct tx *tx, const struct lanes *lanes, struct lane *lane,
                      struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    bool asked = lane->project.n
        ? sql_ask(tx, &rows, Q_READY_NEXT_TYPE_OF_PROJECT, err, INT(lanes->org),
                             TEXT(lane->project), INT(lanes->queue), INT(lane->type))
        : sql_ask(tx, &rows, Q_READY_NEXT_TYPE, err, INT(lanes->queue), INT(lane->type));
    return asked && rows_number(&rows, &lane->type, err);
}

static bool has_lane(const struct lanes *lanes, const struct lane *wanted)
{
    const struct lane *all = lanes->all.items;
    for (size_t i = 0; i < lanes->all.count; i++)
        if (all[i].type == wanted->type && str_eq(all[i].project, wanted->project))
            return true;
    return false;
}

// One lane per asked type that exists; without types, one per type that has something ready. A type
// that is asked for twice has one lane: a second would offer the same jobs again.
static bool lanes_add(struct tx *tx, struct lanes *lanes, struct lane lane, size_t room,
                      struct pawl_error *err)
{
    const struct claim *claim = lanes->claim;
    for (size_t i = 0; i < claim->job_type_count; i++)
        if (!name_find(tx, NAME_JOB_TYPE, claim->job_types[i], &lane.type, err)
            || (lane.type && !has_lane(lanes, &lane) && !lane_add(tx, lanes, &lane, room, err)))
            return false;
    if (claim->job_type_count)
        return true;
    while (lanes->all.count < LANES_MAX) {
        if (!next_type(tx, lanes, &lane, err))
            return false;
        if (lane.type == 0)
            return true;
        if (!lane_add(tx, lanes, &lane, room, err))
            return false;
    }
    return true;
}

// A caller that is limited to projects has lanes of its own for each of them: what is ready for
// others costs it nothing (OPS-18).
bool lanes_open(struct tx *tx, struct lanes *lanes, size_t room, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    lanes->all = list_of(tx->arena, sizeof(struct lane));
    if (!caller || caller->project_count == 0)
        return lanes_add(tx, lanes, (struct lane){0}, room, err);
    for (size_t i = 0; i < caller->project_count; i++)
        if (!lanes_add(tx, lanes, (struct lane){ .project = caller->projects[i] }, room, err))
            return false;
    return true;
}

static bool before(const struct waiting *a, const struct waiting *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->job < b->job;
}

bool lanes_take(struct tx *tx, struct lanes *lanes, size_t room, const struct waiting **place,
                struct pawl_error *err)
{
    struct lane *all = lanes->all.items, *first = NULL;
    for (size_t i = 0; i < lanes->all.count; i++) {
        if (all[i].next == all[i].count && !all[i].drained
            && !lane_fill(tx, lanes, &all[i], room, err))
            return false;
        if (all[i].next < all[i].count
            && (!first || before(&all[i].rows[all[i].next], &first->rows[first->next])))
            first = &all[i];
    }
    *place = first ? &first->rows[first->next++] : NULL;
    return true;
}
