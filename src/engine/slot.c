// One slot: its claim, its job, and the row that follows it to its end.
#include "engine/slot.h"

#include "base/list.h"
#include "base/time_text.h"
#include "engine/outcome.h"
#include "store/names.h"

#define RECOVERED S("worker_startup_recovery")

// ----- the claim

// Slots that run one after another share a key: all of a schedule that allows one at a time, and
// those that were claimed together.
static struct str serial_key(struct tx *tx, const struct submission *s)
{
    const struct schedule *schedule = &s->view->schedule;
    if (schedule->max_instances == 1)
        return str_format(tx->arena, "schedule:%.*s", STR(schedule->name));
    return s->count > 1 ? str_format(tx->arena, "schedule:%.*s:%.*s", STR(schedule->name),
                                     STR(time_text(tx->arena, s->first)))
                        : S("");
}

// In the name of whoever asks; by the clock that is Pawl itself.
struct contract slot_contract(struct tx *tx, const struct schedule *s, struct str org_id,
                              pawl_time slot)
{
    const struct caller *by = tx->caller && tx->caller->actor_id.n ? tx->caller : &caller_pawl;
    struct str id = id_text(tx->arena, id_after(0, tx->now, db_random(tx->db)));
    bool asked = by != &caller_pawl && by->request_id.n;
    return (struct contract){
        .job_type = s->job_type,
        .org_id = org_id,
        .project_id = s->project_id,
        .actor_type = by->actor_type,
        .actor_id = by->actor_id,
        .request_id = asked ? by->request_id : id,
        .correlation_id = asked && by->correlation_id.n ? by->correlation_id : id,
        .idempotency_key = str_format(tx->arena, "schedule:%.*s:%.*s", STR(s->name),
                                      STR(time_text(tx->arena, slot))),
        .payload = s->payload,
        .scheduled_for = slot,
        .queue = s->queue,
        .policy = s->policy,
    };
}

static pawl_time later(pawl_time a, pawl_time b)
{
    return a > b ? a : b;
}

bool slot_claim(struct tx *tx, const struct submission *s, pawl_time slot, struct job *job,
                bool *claimed, struct pawl_error *err)
{
    const struct schedule_view *v = s->view;
    const struct schedule *schedule = &v->schedule;
    pawl_time begins = later(tx->now, later(slot, s->not_before));
    int64_t changed = 0;
    bool known = false;
    struct contract contract = slot_contract(tx, schedule, v->org_id, slot);
    contract.serial_key = serial_key(tx, s);
    contract.not_before = s->not_before;
    *claimed = false;
    if (!sql_run_counting(tx, Q_RUN_CLAIM, &changed, err, INT(v->org), TEXT(schedule->name),
                          INT(slot), INT(tx->now), TEXT_OR_NONE(s->worker_instance),
                          INT(s->first), INT(begins + 2 * schedule->expected_us)))
        return false;
    if (changed == 0)
        return true;
    *claimed = true;
    if (!job_enqueue(tx, &contract, job, &known, err))
        return false;
    if (known)
        return fail(err, PAWL_KEY_REUSED, "key %.*s belongs to job %.*s, which is not this slot's",
                    STR(contract.idempotency_key), STR(id_text(tx->arena, job->id)));
    return sql_run(tx, Q_RUN_JOB, err, INT(v->org), TEXT(schedule->name), INT(slot),
                   INT(job->id.high));
}

// ----- by hand

// Whole seconds, as every slot of a timetable is: two spellings of one moment are one slot.
static bool is_slot(struct tx *tx, pawl_time slot, struct pawl_error *err)
{
    if (slot <= 0 || slot % SECONDS(1) != 0)
        return fail(err, PAWL_INVALID, "scheduled_for: must be a time in whole seconds");
    return slot <= tx->now + SCHEDULE_US_MAX
        || fail(err, PAWL_INVALID, "scheduled_for: lies more than ten years ahead");
}

// By hand those that lie ahead count too: all of them might come at once.
static bool load_for_claim(struct tx *tx, struct str name, struct schedule_view *v,
                           struct pawl_error *err)
{
    size_t ended = 0;
    return schedule_load(tx, name, v, err)
        && slots_end_stale(tx, v, INSTANCES_MAX + BACKFILL_MAX, &ended, err)
        && schedule_load(tx, name, v, err)
        && (v->instances + v->ahead < v->schedule.max_instances
            || fail(err, PAWL_MAX_INSTANCES,
                    "schedule %.*s has %lld running and allows %lld: wait for its end or cancel "
                    "it",
                    STR(name), (long long)v->instances + (long long)v->ahead,
                    (long long)v->schedule.max_instances));
}

static bool is_claimed(struct tx *tx, const struct schedule_view *v, pawl_time slot, bool *claimed,
                       struct pawl_error *err)
{
    int64_t one = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_RUN_IS_CLAIMED, err, INT(v->org), TEXT(v->schedule.name),
                 INT(slot))
        || !rows_number(&rows, &one, err))
        return false;
    *claimed = one != 0;
    return true;
}

// All or, when one is refused, none: a claimed slot without its job would never run.
static bool claim_all(struct tx *tx, const struct submission *s, const pawl_time *slots,
                      struct job *jobs, struct pawl_error *err)
{
    struct pawl_error why = {0};
    bool done = true, claimed = false;
    if (!tx_mark(tx, err))
        return false;
    for (size_t i = 0; done && i < s->count; i++)
        done = slot_claim(tx, s, slots[i], &jobs[i], &claimed, &why);
    if (done)
        return tx_keep(tx, err);
    return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
}

bool slot_trigger(struct tx *tx, struct str name, pawl_time slot, struct job *job,
                  struct pawl_error *err)
{
    struct schedule_view v;
    bool claimed = false;
    if (!is_slot(tx, slot, err) || !schedule_load(tx, name, &v, err)
        || !is_claimed(tx, &v, slot, &claimed, err))
        return false;
    if (claimed)
        return fail(err, PAWL_SLOT_CLAIMED, "slot %.*s of schedule %.*s is claimed already",
                    STR(time_text(tx->arena, slot)), STR(name));
    if (!load_for_claim(tx, name, &v, err))
        return false;
    struct submission s = { .view = &v, .first = slot, .count = 1 };
    return claim_all(tx, &s, &slot, job, err);
}

// The slots of a range, apart by whether they are free.
static bool sort_range(struct tx *tx, const struct schedule_view *v, struct backfill *b,
                       struct pawl_error *err)
{
    struct timetable timetable;
    pawl_time slot = b->from - 1;
    size_t total = 0;
    b->claimed = arena_new(tx->arena, pawl_time, BACKFILL_MAX);
    b->taken = arena_new(tx->arena, pawl_time, BACKFILL_MAX);
    b->jobs = arena_new(tx->arena, struct id, BACKFILL_MAX);
    b->claimed_count = b->taken_count = 0;
    if (!b->claimed || !b->taken || !b->jobs)
        return fail(err, PAWL_NO_MEMORY, "no memory for a range of slots");
    if (!schedule_timetable(tx->arena, &v->schedule, &timetable, err))
        return false;
    while (timetable_next(&timetable, slot, &slot) && slot <= b->to) {
        bool claimed = false;
        if (total++ == BACKFILL_MAX)
            return fail(err, PAWL_TOO_LARGE, "the range has more than %d slots: take it in parts",
                        BACKFILL_MAX);
        if (!is_claimed(tx, v, slot, &claimed, err))
            return false;
        if (claimed)
            b->taken[b->taken_count++] = slot;
        else
            b->claimed[b->claimed_count++] = slot;
    }
    return true;
}

static bool range_check(struct tx *tx, const struct backfill *b, struct pawl_error *err)
{
    if (b->from <= 0 || b->to < b->from)
        return fail(err, PAWL_INVALID, "from: must not lie after `to`");
    return b->to <= tx->now
        || fail(err, PAWL_INVALID, "to: lies ahead: those slots come by themselves");
}

bool slot_backfill(struct tx *tx, struct str name, struct backfill *b, struct pawl_error *err)
{
    struct schedule_view v;
    if (!range_check(tx, b, err) || !schedule_load(tx, name, &v, err)
        || !sort_range(tx, &v, b, err))
        return false;
    if (b->dry_run || b->claimed_count == 0)
        return true;
    if (!load_for_claim(tx, name, &v, err))
        return false;
    struct submission s = { .view = &v, .first = b->claimed[0], .count = b->claimed_count };
    struct job *jobs = arena_new(tx->arena, struct job, b->claimed_count);
    if (!jobs)
        return fail(err, PAWL_NO_MEMORY, "no memory for a range of slots");
    if (!claim_all(tx, &s, b->claimed, jobs, err))
        return false;
    for (size_t i = 0; i < b->claimed_count; i++)
        b->jobs[i] = jobs[i].id;
    return true;
}

// ----- the row follows its job

bool slot_started(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    bool slot = false;
    return policy_is_slot(tx, e->policy, &slot, err)
        && (!slot
            || sql_run(tx, Q_RUN_STARTED, err, INT(e->job.high), INT(e->started_at),
                       INT(e->deadline_at), INT(e->worker)));
}

static bool close(struct tx *tx, int64_t policy, int64_t job, enum run_status status,
                  struct str message, struct pawl_error *err)
{
    bool slot = false;
    // defensive: the policy came with the job that ends, and is remembered
    if (!policy_is_slot(tx, policy, &slot, err))
        return false;
    return !slot
        || sql_run(tx, Q_RUN_CLOSE, err, INT(job), TEXT(str_of(run_status_name(status))),
                   INT(tx->now), TEXT_OR_NONE(message));
}

bool slot_succeeded(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    return close(tx, e->policy, e->job.high, RUN_SUCCESS, S(""), err);
}

bool slot_failed(struct tx *tx, const struct ending *ending, struct pawl_error *err)
{
    struct str why = ending->reason.n ? ending->reason : ending->message;
    if (ending->type == FAILURE_PROCESS_TERMINATED)
        why = RECOVERED;
    else if (why.n == 0)
        why = str_of(failure_type_name(ending->type));
    return close(tx, ending->policy, ending->subject.job,
                 ending->state == JOB_TIMED_OUT ? RUN_SKIPPED_TIMEOUT : RUN_FAILED, why, err);
}

struct abandoned {
    int64_t run, org;
    struct str job_name;
    pawl_time slot;
};

static bool abandoned_rows(struct tx *tx, const struct instance *instance, size_t limit,
                           struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_RUNS_ABANDONED, err, TEXT(instance->name), INT((int64_t)limit)))
        return false;
    while (rows_next(&rows)) {
        struct abandoned *row = list_add(list);
        if (!row)
            return fail(err, PAWL_NO_MEMORY, "no memory to recover slots");
        row->run = row_int(&rows);
        row->org = row_int(&rows);
        row->job_name = row_text(&rows);
        row->slot = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool recover(struct tx *tx, const struct abandoned *row, struct pawl_error *err)
{
    struct str subject = str_format(tx->arena, "schedule:%.*s", STR(row->job_name));
    struct str detail = str_format(tx->arena, "{\"scheduled_for\":\"%.*s\"}",
                                   STR(time_text(tx->arena, row->slot)));
    return sql_run(tx, Q_RUN_CLOSE_ROW, err, INT(row->run),
                   TEXT(str_of(run_status_name(RUN_FAILED))), INT(tx->now), TEXT(RECOVERED))
        && event_append_for(tx, row->org, subject, EVENT_SLOT_RECOVERED, detail, err);
}

bool slots_recover(struct tx *tx, const struct instance *instance, size_t limit,
                   struct recovered *recovered, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct abandoned));
    if (!abandoned_rows(tx, instance, limit, &list, err))
        return false;
    const struct abandoned *rows = list.items;
    for (size_t i = 0; i < list.count; i++)
        if (!recover(tx, &rows[i], err))
            return false;
    recovered->slots = list.count;
    recovered->more = list.count == limit;
    return true;
}
