// What is due of one schedule: which slots there are, what becomes of each, and on to the next.
#include "engine/slot.h"

#include <assert.h>

#include "base/list.h"

enum { DUE_MAX = CATCH_UP_MAX + 1, COUNTED_MAX = 10000 };

// The newest slots that are due, oldest first. When there are more than fit, `at[0]` stands for all
// up to it: they lie further back than anything that could still run.
struct slots {
    pawl_time at[DUE_MAX];
    size_t count;
    pawl_time first;  // of all
};

static void gather(const struct timetable *t, pawl_time after, pawl_time now, struct slots *slots)
{
    pawl_time found[DUE_MAX], slot = now;
    size_t n = 0;
    // defensive: no slot is the first of 1970, long before any clock that is right
    while (n < DUE_MAX && timetable_last(t, slot, &slot) && slot > after) {
        found[n++] = slot;
        slot -= 1;
    }
    slots->count = n;
    for (size_t i = 0; i < n; i++)
        slots->at[i] = found[n - 1 - i];
    slots->first = n ? slots->at[0] : 0;
    if (n == DUE_MAX) {
        bool found_first = timetable_next(t, after, &slots->first);
        assert(found_first);  // it is the oldest of those above, or before it
    }
}

// How many slots there are from one to another, both included; 0: too many to count.
static int64_t slots_between(const struct timetable *t, pawl_time from, pawl_time to)
{
    int64_t n = 1;
    for (pawl_time slot = from; slot < to && n <= COUNTED_MAX; n++) {
        bool found = timetable_next(t, slot, &slot);
        assert(found);  // `to` is one
    }
    return n <= COUNTED_MAX ? n : 0;
}

static bool skip(struct tx *tx, const struct schedule_view *v, const struct skip_row *row,
                 struct settled *settled, struct pawl_error *err)
{
    int64_t changed = 0;
    if (!sql_run_counting(tx, Q_SKIP_INSERT, &changed, err, INT(v->org), TEXT(v->schedule.name),
                          INT(row->scheduled_for), INT(row->until), INT(row->slots),
                          TEXT(str_of(skip_reason_name(row->reason))), INT(tx->now)))
        return false;
    settled->rows += changed != 0;
    if (changed)
        settled->skips[row->reason] += row->slots ? (size_t)row->slots : COUNTED_MAX;
    return true;
}

// The event says how many for which reason: the rows say which.
static bool tell_skipped(struct tx *tx, const struct schedule_view *v,
                         const struct settled *settled, struct pawl_error *err)
{
    SCOPED(json) json_t *detail = json_object();
    for (size_t i = 0; i < SKIP_REASONS; i++)
        if (settled->skips[i])
            json_object_set_new(detail, skip_reason_name((enum skip_reason)i),
                                json_integer((json_int_t)settled->skips[i]));
    return json_object_size(detail) == 0
        || event_append_for(tx, v->org,
                            str_format(tx->arena, "schedule:%.*s", STR(v->schedule.name)),
                            EVENT_SCHEDULE_SKIPPED, json_text(tx->arena, detail), err);
}

// Those that are made up for are spread, so that a night's worth does not come at once.
static pawl_time spread(struct tx *tx, const struct schedule *s, size_t running)
{
    uint64_t span = (uint64_t)s->jitter_us + 1;
    return running > 1 ? tx->now + (int64_t)(db_random(tx->db) % span) : 0;
}

static bool run_slot(struct tx *tx, struct submission *submission, pawl_time slot,
                     struct settled *settled, struct pawl_error *err)
{
    struct job job;
    bool claimed = false;
    submission->first = submission->first ? submission->first : slot;
    submission->not_before = spread(tx, &submission->view->schedule, submission->count);
    if (!slot_claim(tx, submission, slot, &job, &claimed, err))
        return false;
    settled->claimed += claimed;
    settled->rows += claimed;
    return true;
}

static bool run_or_skip(struct tx *tx, const struct schedule_view *v, const struct timetable *t,
                        const struct slots *slots, struct settled *settled, struct pawl_error *err)
{
    int verdicts[DUE_MAX];
    struct due due = { &v->schedule, v->paused_at || v->org_disabled, v->instances, tx->now };
    struct submission submission = { .view = v, .worker_instance = settled->worker_instance };
    due_judge(&due, slots->at, slots->count, verdicts);
    for (size_t i = 0; i < slots->count; i++) {
        if (settled->none_runs && verdicts[i] == SLOT_RUNS)
            verdicts[i] = SKIP_MISFIRE;
        submission.count += verdicts[i] == SLOT_RUNS;
    }
    for (size_t i = 0; i < slots->count; i++) {
        pawl_time slot = slots->at[i];
        if (verdicts[i] == SLOT_RUNS) {
            if (!run_slot(tx, &submission, slot, settled, err))
                return false;
            continue;
        }
        pawl_time from = i == 0 ? slots->first : slot;  // the first may stand for many
        struct skip_row row = { .scheduled_for = from,
                                .until = slot,
                                .slots = slots_between(t, from, slot),
                                .reason = (enum skip_reason)verdicts[i] };
        if (!skip(tx, v, &row, settled, err))
            return false;
    }
    return tell_skipped(tx, v, settled, err);
}

static bool move_on(struct tx *tx, const struct schedule_view *v, const struct timetable *t,
                    const struct slots *slots, struct pawl_error *err)
{
    pawl_time to = slots->count ? slots->at[slots->count - 1] : v->considered_to, next = 0;
    if (!timetable_next(t, to, &next))
        next = 0;
    return sql_run(tx, Q_SCHEDULE_CONSIDERED, err, INT(v->id), INT(to), INT_OR_NONE(next));
}

// Stale rows of others may come first in a tick: its own must not keep its slots from running.
static bool end_stale_first(struct tx *tx, struct schedule_view *v, struct settled *settled,
                            struct pawl_error *err)
{
    if (v->instances < v->schedule.max_instances)
        return true;
    return slots_end_stale(tx, v, INSTANCES_MAX + BACKFILL_MAX, &settled->stale, err)
        && (settled->stale == 0 || schedule_load_row(tx, v->id, v, err));
}

bool slots_settle(struct tx *tx, const struct schedule_view *found, struct settled *settled,
                  struct pawl_error *err)
{
    struct timetable timetable;
    struct slots slots;
    struct schedule_view view = *found, *v = &view;
    const struct caller *caller = tx->caller;
    if (!end_stale_first(tx, v, settled, err)
        || !schedule_timetable(tx->arena, &v->schedule, &timetable, err))
        return false;
    gather(&timetable, v->considered_to, tx->now, &slots);
    tx->caller = &caller_pawl;  // the clock asks, whoever lets it
    bool done = run_or_skip(tx, v, &timetable, &slots, settled, err)
             && move_on(tx, v, &timetable, &slots, err);
    tx->caller = caller;
    return done;
}
