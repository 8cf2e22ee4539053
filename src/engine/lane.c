// A lane is one type in one queue, read for the org whose turn it is, a few rows at a time; the
// first of the heads is next.
#include "engine/lane.h"

#include "engine/job.h"
#include "engine/queue.h"
#include "store/names.h"

enum { LANE_ROWS = 64,
       LANE_ROWS_DISTANT = 512,
       LANES_MAX = 4096,
       PAUSED_MAX = 1000,
       MANY_A_LANE = 4 };
#define LIMITED_LOOK_US MILLISECONDS(100)

// Of one project, if the caller is limited to some.
struct lane {
    int64_t type;
    struct str project;  // empty: whatever it is
    struct waiting *rows;
    size_t count, next;
    size_t read;         // rows so far
    bool with_jobs;      // the rows are read with their jobs
    bool drained;        // the store has no more than these
};

static bool lane_ask(struct tx *tx, const struct lanes *lanes, const struct lane *lane,
                     size_t wanted, struct rows *rows, struct pawl_error *err)
{
    struct waiting last = { .rank = INT64_MIN };
    if (lane->count)
        last = lane->rows[lane->count - 1];
    if (lane->project.n)
        return sql_ask(tx, rows, Q_READY_LANE_OF_PROJECT, err, INT(lanes->current),
                       TEXT(lane->project), INT(lanes->queue), INT(lane->type), INT(last.rank),
                       INT(last.job), INT((int64_t)wanted));
    return sql_ask(tx, rows, lane->with_jobs ? Q_READY_LANE_JOBS : Q_READY_LANE, err,
                   INT(lanes->queue), INT(lane->type), INT(lanes->current), INT(last.rank),
                   INT(last.job), INT((int64_t)wanted));
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
    row->org = lanes->current;
    row->rank = row_int(rows);
    row->job = row_int(rows);
    row->attempt = row_int(rows);
    row->serial_key = row_text(rows);
    lane->read++;
    // Nothing is between two rows that were read one after the other if nothing was filtered out:
    // who else would take it is not in a write transaction now.
    if (lane->project.n == 0)
        row->nth = lane->read;
    return lane->project.n || !lane->with_jobs || read_job(tx, rows, row, err);
}

// Whether the org at hand takes as many as there is room for.
static bool has_all_turns(const struct lanes *lanes)
{
    return lanes->org != 0 || lanes->alone;
}

static size_t filled_lanes(const struct lanes *lanes)
{
    const struct lane *all = lanes->all.items;
    size_t filled = 0;
    for (size_t i = 0; i < lanes->all.count; i++)
        filled += !all[i].drained;
    return filled;
}

// What is read and not taken was read in vain: of several lanes each is likely to give its part of
// the turn. A lane whose part is large gives most of what is read, and so is read with the jobs; of
// a store at the end of a wire every lane is, for there a question costs more than its answer.
static size_t rows_wanted(const struct tx *tx, const struct lanes *lanes, struct lane *lane,
                          size_t room)
{
    bool bounded = !has_all_turns(lanes) && (size_t)lanes->turn->left < room;
    size_t turn = bounded ? (size_t)lanes->turn->left : room, filled = filled_lanes(lanes);
    size_t wanted = filled > 1 ? turn / filled + 1 : turn;
    bool distant = db_is_distant(tx->db);
    size_t most = distant ? LANE_ROWS_DISTANT : LANE_ROWS;
    lane->with_jobs = distant
                   || (lanes->only_queue && (filled == 1 || wanted > MANY_A_LANE));
    return wanted > most ? most : wanted;
}

// The rows that were there stay where they are, in the arena.
static bool lane_fill(struct tx *tx, const struct lanes *lanes, struct lane *lane, size_t room,
                      struct pawl_error *err)
{
    size_t wanted = rows_wanted(tx, lanes, lane, room);
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

static bool lane_add(struct lanes *lanes, const struct lane *wanted, struct pawl_error *err)
{
    struct lane *lane = list_add(&lanes->all);
    if (!lane)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    *lane = *wanted;
    return true;
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
static bool lanes_add(struct tx *tx, struct lanes *lanes, struct lane lane,
                      struct pawl_error *err)
{
    const struct claim *claim = lanes->claim;
    for (size_t i = 0; i < claim->job_type_count; i++)
        if (!name_find(tx, NAME_JOB_TYPE, claim->job_types[i], &lane.type, err)
            || (lane.type && !has_lane(lanes, &lane) && !lane_add(lanes, &lane, err)))
            return false;
    if (claim->job_type_count)
        return true;
    while (lanes->all.count < LANES_MAX) {
        if (!next_type(tx, lanes, &lane, err))
            return false;
        if (lane.type == 0)
            return true;
        if (!lane_add(lanes, &lane, err))
            return false;
    }
    return true;
}

// A caller that is limited to projects has lanes of its own for each of them: what is ready for
// others costs it nothing (OPS-18).
static bool lanes_find(struct tx *tx, struct lanes *lanes, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    lanes->all = list_of(tx->arena, sizeof(struct lane));
    if (!caller_limited(tx))
        return lanes_add(tx, lanes, (struct lane){0}, err);
    for (size_t i = 0; i < caller->project_count; i++)
        if (!lanes_add(tx, lanes, (struct lane){ .project = caller->projects[i] }, err))
            return false;
    return true;
}

// Who had the turn goes on with it, unless it may be paused meanwhile.
bool lanes_open(struct tx *tx, struct lanes *lanes, struct pawl_error *err)
{
    bool goes_on = lanes->turn->left > 0 && !lanes->has_pauses;
    lanes->current = lanes->org ? lanes->org : goes_on ? lanes->turn->org
                                                       : 0;
    return lanes_find(tx, lanes, err);
}

// ----- the jobs of one org

// How many jobs the limits of the lane's type and of the org at hand leave of the room.
static bool room_in_lane(struct tx *tx, const struct lanes *lanes, const struct lane *lane,
                         size_t *room, struct pawl_error *err)
{
    size_t of_type = SIZE_MAX, of_org = SIZE_MAX;
    if (!lanes->gates->some)
        return true;
    if (!gates_room_of_type(tx, lanes->gates, lane->type, lanes->current, &of_type, err)
        || !gates_room(tx, lanes->gates, LIMIT_ORG, lanes->current, &of_org, err))
        return false;
    size_t passing = of_type < of_org ? of_type : of_org;
    *room = passing < *room ? passing : *room;
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
    *place = NULL;
    if (lanes->current == 0 || (lanes->turn->left == 0 && !has_all_turns(lanes)))
        return true;
    for (size_t i = 0; i < lanes->all.count; i++) {
        size_t left = room;
        if (!room_in_lane(tx, lanes, &all[i], &left, err))
            return false;
        if (left > 0 && all[i].next == all[i].count && !all[i].drained
            && !lane_fill(tx, lanes, &all[i], left, err))
            return false;
        if (left > 0 && all[i].next < all[i].count
            && (!first || before(&all[i].rows[all[i].next], &first->rows[first->next])))
            first = &all[i];
    }
    if (first)
        *place = &first->rows[first->next++];
    return true;
}

void lanes_took(struct lanes *lanes)
{
    lanes->fruitless_since = 0;
    if (!has_all_turns(lanes))
        lanes->turn->left--;
}

// ----- whose turn it is

static bool ready_after(struct tx *tx, const struct lanes *lanes, int64_t type, int64_t org,
                        int64_t *next, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_READY_NEXT_ORG, err, INT(lanes->queue), INT(type), INT(org))
        && rows_number(&rows, next, err);
}

// The org after `org` that has something in this lane which limits let through; 0: none. A type
// that is shut is so for every org; a pause may be of some only.
static bool lane_org_after(struct tx *tx, const struct lanes *lanes, int64_t type, int64_t org,
                           int64_t *next, struct pawl_error *err)
{
    size_t room = SIZE_MAX;
    *next = 0;
    if (!gates_room(tx, lanes->gates, LIMIT_TYPE, type, &room, err))
        return false;
    if (room == 0)
        return true;
    for (*next = org; ready_after(tx, lanes, type, *next, next, err);) {
        if (*next == 0 || !gates_type_paused(lanes->gates, type, *next))
            return true;
    }
    return false;
}

// The org after `org` that has something in one of the lanes; 0: none.
static bool org_after(struct tx *tx, const struct lanes *lanes, int64_t org, int64_t *next,
                      struct pawl_error *err)
{
    const struct lane *all = lanes->all.items;
    *next = 0;
    for (size_t i = 0; i < lanes->all.count; i++) {
        int64_t found = 0;
        if (!lane_org_after(tx, lanes, all[i].type, org, &found, err))
            return false;
        if (found && (*next == 0 || found < *next))
            *next = found;
    }
    return true;
}

// The next one after whose turn it was last, and round again.
static bool next_org(struct tx *tx, const struct lanes *lanes, int64_t *next,
                     struct pawl_error *err)
{
    return org_after(tx, lanes, lanes->turn->org, next, err)
        && (*next != 0 || lanes->turn->org == 0 || org_after(tx, lanes, 0, next, err));
}

static bool weight_of(struct tx *tx, int64_t org, int64_t *weight, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_ORG_WEIGHT, err, INT(org)) && rows_number(&rows, weight, err);
}

// One that is alone goes on where it is; another one begins with its first job.
static bool give_turn(struct tx *tx, struct lanes *lanes, int64_t org, struct pawl_error *err)
{
    struct lane *all = lanes->all.items;
    int64_t weight = 1;
    lanes->alone = org == lanes->current;
    if (!lanes->alone && !weight_of(tx, org, &weight, err))
        return false;
    for (size_t i = 0; !lanes->alone && i < lanes->all.count; i++)
        all[i] = (struct lane){ .type = all[i].type, .project = all[i].project };
    *lanes->turn = (struct share_turn){ .org = org,
                                        .left = share_run(lanes->claim->limit) * weight };
    lanes->current = org;
    return true;
}

static bool may_have_turn(struct tx *tx, const struct lanes *lanes, int64_t org, bool *may,
                          struct pawl_error *err)
{
    struct share_pause pause = {0};
    size_t room = SIZE_MAX;
    if ((lanes->has_pauses && !share_paused(tx, lanes->queue, org, &pause, err))
        || !gates_room(tx, lanes->gates, LIMIT_ORG, org, &room, err))
        return false;
    *may = pause.since == 0 && room > 0;
    return true;
}

// Many shares that have no turn end the search for this time: whoever waits is told that there may
// be more, at once or, where limits stand in the way and will for a while, soon.
bool lanes_next_share(struct tx *tx, struct lanes *lanes, bool *more, struct pawl_error *err)
{
    *more = false;
    for (int i = 0; lanes->org == 0 && i < PAUSED_MAX; i++) {
        int64_t org = 0;
        if (!next_org(tx, lanes, &org, err))
            return false;
        if (org == 0 || org == lanes->fruitless_since)
            return true;
        if (lanes->fruitless_since == 0)
            lanes->fruitless_since = org;
        if (!may_have_turn(tx, lanes, org, more, err))
            return false;
        if (*more)
            return give_turn(tx, lanes, org, err);
        *lanes->turn = (struct share_turn){ .org = org };
    }
    if (lanes->org == 0 && lanes->gates->some)
        gates_look_at(lanes->gates, tx->now + LIMITED_LOOK_US);
    else if (lanes->org == 0)
        tx_has_news(tx, NEWS_ANY);
    return true;
}
