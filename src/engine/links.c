// Two halves: a job that begins to wait, and a job that ends.
#include "engine/links.h"

#include "base/list.h"
#include "engine/batch.h"
#include "engine/place.h"
#include "model/after.h"
#include "store/names.h"

// ----- a job that begins to wait

// A job that is named in `after`, as far as it matters to who waits.
struct target {
    bool exists, ended;
    enum job_state state;
    enum failure_type type;
};

static bool target_load(struct tx *tx, int64_t org, struct id id, struct target *target,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *target = (struct target){0};
    if (!sql_ask(tx, &rows, Q_LINK_TARGET, err, INT(id.high), INT(id.low), INT(org)))
        return false;
    if (rows_next(&rows)) {
        target->exists = caller_sees(tx->caller, row_text(&rows));
        target->ended = job_state_parse(row_text(&rows), &target->state);
        if (!failure_type_parse(row_text(&rows), &target->type))
            target->type = FAILURE_NONE;
    }
    return rows_ok(&rows, err);
}

static struct str doom_text(struct arena *arena, struct id id, enum job_state state,
                            enum failure_type type)
{
    return str_format(arena, "job %.*s, which it was to wait for, ended %s (%s)",
                      STR(id_text(arena, id)), job_state_name(state), failure_type_name(type));
}

// What one target that is there means to who waits for it.
static bool plan_one(struct tx *tx, struct id id, const struct target *target,
                     struct list *waits_for, struct link_plan *plan, struct pawl_error *err)
{
    if (target->ended && target->state == JOB_SUCCEEDED)
        return true;
    plan->pending++;
    if (target->ended) {
        plan->doom = doom_text(tx->arena, id, target->state, target->type);
        return true;
    }
    int64_t *key = list_add(waits_for);
    if (!key)
        return fail(err, PAWL_NO_MEMORY, "no memory for the jobs that one waits for");
    *key = id.high;
    return true;
}

bool links_plan(struct tx *tx, const struct contract *c, const char *prefix,
                struct problems *problems, struct link_plan *plan, struct pawl_error *err)
{
    struct list waits_for = list_of(tx->arena, sizeof(int64_t));
    int64_t org = 0;
    bool exists = true;
    *plan = (struct link_plan){0};
    if (!name_find(tx, NAME_ORG, c->org_id, &org, err))
        return false;
    for (size_t i = 0; i < c->after_count; i++) {
        struct target target;
        if (!target_load(tx, org, c->after[i], &target, err)
            || (target.exists && !plan_one(tx, c->after[i], &target, &waits_for, plan, err)))
            return false;
        if (!target.exists)
            problem_add(problems, str_format(tx->arena, "%safter[%zu]", prefix, i).s,
                        "there is no job %.*s", STR(id_text(tx->arena, c->after[i])));
    }
    plan->waits_for = (struct keys){ waits_for.items, waits_for.count };
    if (c->batch.high == 0)
        return true;
    if (!batch_open_to(tx, org, c->batch, &exists, err))
        return false;
    if (!exists)
        problem_add(problems, str_format(tx->arena, "%sbatch_id", prefix).s,
                    "there is no batch %.*s", STR(id_text(tx->arena, c->batch)));
    return true;
}

bool links_put(struct tx *tx, const struct link_plan *plan, struct job *job,
               struct pawl_error *err)
{
    const struct contract *c = &job->contract;
    bool held_and_doomed = plan->doom.n && c->hold;
    int64_t org = job->keys.org;
    tx->has_links = true;
    job->waits_for = plan->pending;
    job->after = after_text(tx->arena, c->after, c->after_count);
    job->batch = c->batch;
    if (!sql_run(tx, Q_LINK_INSERT, err, INT(job->id.high), INT(org), INT_OR_NONE(c->batch.high),
                 c->batch.high ? INT(c->batch.low) : NONE, TEXT_OR_NONE(job->after),
                 INT(plan->pending), TEXT_OR_NONE(plan->doom)))
        return false;
    for (size_t i = 0; i < plan->waits_for.count && !held_and_doomed; i++)
        if (!sql_run(tx, Q_WAIT_INSERT, err, INT(plan->waits_for.at[i]), INT(job->id.high),
                     INT(org))
            || !sql_run(tx, Q_LINK_AWAITED, err, INT(plan->waits_for.at[i]), INT(org)))
            return false;
    return c->batch.high == 0 || batch_joined(tx, c->batch.high, err);
}

// What is known of one job; not `exists`: its end concerns nobody.
struct link {
    bool exists;
    int64_t pending;
    struct str after;
    struct id batch;
    struct str doom;
};

static bool link_load(struct tx *tx, int64_t job, struct link *link, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *link = (struct link){0};
    if (!sql_ask(tx, &rows, Q_LINK_LOAD, err, INT(job)))
        return false;
    link->exists = rows_next(&rows);
    if (link->exists) {
        link->pending = row_int(&rows);
        link->after = row_text(&rows);
        link->batch.high = row_int(&rows);
        link->batch.low = row_int(&rows);
        link->doom = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

static bool read_linked(struct tx *tx, struct job *job, struct pawl_error *err)
{
    struct link link;
    if (!link_load(tx, job->id.high, &link, err))
        return false;
    job->waits_for = link.pending;
    job->after = link.after;
    job->batch = link.batch;
    return true;
}

bool links_read(struct tx *tx, struct job *job, struct pawl_error *err)
{
    return !tx->has_links || read_linked(tx, job, err);
}

bool links_doom(struct tx *tx, int64_t job, struct str *doom, struct pawl_error *err)
{
    struct link link;
    bool loaded = link_load(tx, job, &link, err);
    *doom = link.doom;
    return loaded;
}

bool links_placed(struct tx *tx, struct job *job, struct pawl_error *err)
{
    struct str doom;
    if (job->waits_for == 0 || job->phase == PHASE_HELD)
        return true;
    if (!links_doom(tx, job->id.high, &doom, err))
        return false;
    return doom.n == 0 || job_end_waiting(tx, job, FAILURE_DEPENDENCY_FAILED, doom, err);
}

bool links_awaited(struct tx *tx, int64_t job, size_t limit, struct keys *awaited,
                   struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_WAITS_OF, err, INT(job), INT((int64_t)limit))
        && rows_keys(&rows, awaited, err);
}

// ----- a job that ends

struct ended_job {
    struct id id;  // of the job; its `high` is 0: there is none
    enum job_state state;
    enum failure_type type;
};

// It may run as far as this is concerned: what is due goes on to its queue or its serial key.
static bool fulfil(struct tx *tx, struct job *job, struct pawl_error *err)
{
    if (!sql_run(tx, Q_LINK_FULFIL, err, INT(job->id.high), INT(tx->now)))
        return false;
    job->waits_for--;
    if (job->waits_for > 0 || job->phase != PHASE_BLOCKED)
        return true;
    struct waiting waiting = waiting_of(job);
    return place_leave(tx, job, err) && place_queue(tx, &waiting, 0, &job->phase, err);
}

// What was never submitted cannot fail yet (JOB-1): it does when it is.
static bool doom(struct tx *tx, const struct ended_job *ended, struct job *job,
                 struct pawl_error *err)
{
    struct str why = doom_text(tx->arena, ended->id, ended->state, ended->type);
    if (job->phase == PHASE_HELD)
        return sql_run(tx, Q_LINK_DOOM, err, INT(job->id.high), TEXT(why))
            && sql_run(tx, Q_WAITS_DELETE_OF, err, INT(job->id.high));
    return job_end_waiting(tx, job, FAILURE_DEPENDENCY_FAILED, why, err);
}

// One whose records are damaged is left to the operator: it must not keep the others waiting.
static bool tell_one(struct tx *tx, const struct ended_job *ended, int64_t key,
                     struct pawl_error *err)
{
    struct job job;
    struct pawl_error why = {0};
    if (!sql_run(tx, Q_WAIT_DELETE, err, INT(ended->id.high), INT(key)))
        return false;
    if (!job_load_row(tx, key, &job, &why))
        return why.code == PAWL_DAMAGED || fail(err, why.code, "%s", why.message);
    bool waits = job.phase == PHASE_HELD || job.phase == PHASE_DELAYED
        || job.phase == PHASE_BLOCKED;  // defensive: in no other is there a row to be told by
    // defensive: the rows of who waits go when it ends, and one by one with what it waits for
    if (!waits || job.waits_for == 0)
        return true;
    return ended->state == JOB_SUCCEEDED ? fulfil(tx, &job, err) : doom(tx, ended, &job, err);
}

static bool first_ending(struct tx *tx, struct ended_job *ended, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *ended = (struct ended_job){0};
    if (!sql_ask_plain(tx, &rows, Q_ENDING_FIRST, err))
        return false;
    if (rows_next(&rows)) {
        ended->id.high = row_int(&rows);
        ended->id.low = row_int(&rows);
        struct str state = row_text(&rows), type = row_text(&rows);
        if (!job_state_parse(state, &ended->state)
            || (type.n && !failure_type_parse(type, &ended->type)))
            return fail(err, PAWL_DAMAGED, "an end holds a word this program does not know");
    }
    return rows_ok(&rows, err);
}

static bool waiting_for(struct tx *tx, int64_t job, size_t limit, struct keys *keys,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_WAITS_FOR, err, INT(job), INT((int64_t)limit))
        && rows_keys(&rows, keys, err);
}

// Of one end. The job that is told is read into memory of its own: a payload may be large.
static bool tell_of(struct tx *tx, const struct ended_job *ended, size_t limit,
                    struct pawl_error *err)
{
    struct keys keys;
    struct arena *arena = tx->arena;
    SCOPED(arena) struct arena scratch = {0};
    if (!waiting_for(tx, ended->id.high, limit, &keys, err))
        return false;
    bool told = true;
    for (size_t i = 0; told && i < keys.count; i++) {
        tx->arena = &scratch;
        told = tell_one(tx, ended, keys.at[i], err);
        tx->arena = arena;
        arena->failed |= scratch.failed;
        arena_reset(&scratch);
    }
    tx->told += keys.count;
    return told
        && (keys.count == limit || sql_run(tx, Q_ENDING_DELETE, err, INT(ended->id.high)));
}

static bool tell_all(struct tx *tx, size_t limit, bool *more, struct pawl_error *err)
{
    size_t told_max = tx->told + limit;
    *more = true;
    while (tx->told < told_max) {
        struct ended_job ended;
        if (!first_ending(tx, &ended, err))
            return false;
        *more = ended.id.high != 0;
        if (!*more)
            return true;
        if (!tell_of(tx, &ended, told_max - tx->told, err))
            return false;
    }
    return true;
}

// What happens to those that are told is Pawl's doing. One that ends by it is told of in its turn,
// by the loop above and not by another one inside it.
bool links_tell(struct tx *tx, size_t limit, bool *more, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    *more = false;
    if (!tx->has_links)
        return true;
    tx->caller = &caller_pawl;
    tx->telling = true;
    bool done = tell_all(tx, limit, more, err);
    tx->telling = false;
    tx->caller = caller;
    return done;
}

static bool ended_linked(struct tx *tx, int64_t job, enum job_state state, struct pawl_error *err)
{
    struct link link;
    int64_t awaited = 0;
    bool more = false;
    if (!link_load(tx, job, &link, err))
        return false;
    if (!link.exists)
        return true;
    if ((link.pending && !sql_run(tx, Q_WAITS_DELETE_OF, err, INT(job)))
        || !sql_run_counting(tx, Q_ENDING_INSERT, &awaited, err, INT(job))
        || (link.batch.high && !batch_member_ended(tx, link.batch.high, state, err)))
        return false;
    return awaited == 0 || tx->telling || tx->told >= TOLD_MAX
        || links_tell(tx, TOLD_MAX - tx->told, &more, err);
}

bool links_ended(struct tx *tx, int64_t job, enum job_state state, struct pawl_error *err)
{
    return !tx->has_links || ended_linked(tx, job, state, err);
}
