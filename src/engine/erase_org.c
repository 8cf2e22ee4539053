// The newest jobs first: what was made of a job goes before it. One piece is one transaction, and
// one that was interrupted is simply done again.
#include "base/json.h"
#include "engine/erase.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/retention.h"
#include "engine/schedule.h"

enum { PIECE_JOBS = 200, PAGE_KEYS = 100, LOG_LINES_MAX = 100000000 };

static bool revoke_keys(struct tx *tx, struct org_erasing *e, struct pawl_error *err)
{
    struct key_list page = {0};
    do {
        if (!key_list(tx, page.next, PAGE_KEYS, &page, err))
            return false;
        for (size_t i = 0; i < page.count; i++) {
            struct key revoked;
            e->keys += page.keys[i].revoked_at == 0;
            if (!e->dry_run && !key_revoke(tx, page.keys[i].key_id, &revoked, err))
                return false;
        }
    } while (page.next);
    return e->dry_run || sql_run(tx, Q_ORG_KEYS_UNNAME, err, INT(e->org.row));
}

static bool remove_schedules(struct tx *tx, struct org_erasing *e, struct pawl_error *err)
{
    struct schedule_list page = {0};
    do {
        if (!schedules_list(tx, page.next, SCHEDULES_LISTED_MAX, &page, err))
            return false;
        for (size_t i = 0; i < page.count; i++) {
            const struct schedule_view *view = &page.schedules[i];
            e->schedules++;
            if (!e->dry_run && !schedule_remove(tx, view->schedule.name, view->source, err))
                return false;
        }
    } while (page.next.n);
    return true;
}

// From here on nothing new comes: no key is good, no slot is due.
static bool begin(struct tx *tx, struct org_erasing *e, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!org_load(tx, e->org_id, &e->org, err)
        || !sql_ask(tx, &rows, Q_ORG_RUNNING, err, INT(e->org.row))
        || !rows_number(&rows, &e->running, err))
        return false;
    if (e->running > 0 && !e->dry_run)
        return fail(err, PAWL_CONFLICT, "%lld jobs of org %.*s run: wait for their end, or cancel "
                                        "them",
                    (long long)e->running, STR(e->org_id));
    e->begun = true;
    e->before = INT64_MAX;
    return (e->dry_run || org_disable(tx, e->org_id, &e->org, err)) && revoke_keys(tx, e, err)
        && remove_schedules(tx, e, err);
}

static bool erase_one(struct tx *tx, int64_t high, struct org_erasing *e, struct pawl_error *err)
{
    struct job job;
    bool gone = false;
    int64_t rows = 0;
    if (!job_load_row(tx, high, &job, err))
        return false;
    if (job.state == JOB_RUNNING)
        return fail(err, PAWL_CONFLICT, "job %.*s runs: wait for its end, or cancel it",
                    STR(id_text(tx->arena, job.id)));
    if (!job_state_final(job.state) && !job_cancel(tx, job.id, &job, err))
        return false;
    e->jobs++;
    return job_remove(tx, high, LOG_LINES_MAX, &gone, &rows, err);
}

static bool page_of(struct tx *tx, struct org_erasing *e, struct keys *own, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    own->at = arena_new(tx->arena, int64_t, PIECE_JOBS);
    if (!own->at)
        return fail(err, PAWL_NO_MEMORY, "no memory to erase an org");
    if (!sql_ask(tx, &rows, Q_ORG_JOB_PAGE, err, INT(e->before), INT(PIECE_JOBS)))
        return false;
    e->done = true;
    while (rows_next(&rows)) {
        e->done = false;
        e->before = row_int(&rows);
        if (row_int(&rows) == e->org.row)
            own->at[own->count++] = e->before;
    }
    return rows_ok(&rows, err);
}

static bool finish(struct tx *tx, struct org_erasing *e, struct pawl_error *err)
{
    SCOPED(json) json_t *detail = json_pack("{s:I}", "jobs", (json_int_t)e->jobs);
    struct str subject = str_format(tx->arena, "org:%.*s", STR(e->org_id));
    return sql_run(tx, Q_ORG_RUNS_DELETE, err, INT(e->org.row))
        && sql_run(tx, Q_ORG_BATCHES_DELETE, err, INT(e->org.row))
        && sql_run(tx, Q_ORG_ARTIFACTS_DELETE, err, INT(e->org.row))
        && sql_run(tx, Q_ORG_SKIPS_DELETE, err, INT(e->org.row))
        && sql_run(tx, Q_ORG_SCHEDULES_DELETE, err, INT(e->org.row))
        && sql_run(tx, Q_ORG_ERASED, err, INT(e->org.row), INT(tx->now))
        && event_append_for(tx, e->org.row, subject, EVENT_ORG_ERASED,
                            json_text(tx->arena, detail), err);
}

static bool step(struct tx *tx, struct org_erasing *e, struct pawl_error *err)
{
    struct keys own = {0};
    if (!e->begun)
        return begin(tx, e, err);
    if (!page_of(tx, e, &own, err))
        return false;
    if (e->dry_run) {
        e->jobs += (int64_t)own.count;
        return true;
    }
    // defensive: nothing was held back before it, and setting a pragma does not fail
    if (!tx_overwrite(tx, err))
        return false;
    for (size_t i = 0; i < own.count; i++)
        if (!erase_one(tx, own.at[i], e, err))
            return false;
    return !e->done || finish(tx, e, err);
}

bool org_erase_step(struct tx *tx, struct org_erasing *e, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    struct caller as_org = *caller;
    as_org.org_id = e->org_id;
    tx->caller = &as_org;
    bool done = e->done || step(tx, e, err);
    tx->caller = caller;
    return done;
}
