// Reads a job with everything its state follows from, and refuses records that contradict each
// other.
#include <assert.h>

#include "engine/job.h"
#include "engine/links.h"
#include "engine/place.h"
#include "model/execution.h"
#include "store/names.h"

bool caller_org(struct tx *tx, int64_t *org, struct pawl_error *err)
{
    *org = 0;
    if (!tx->caller || tx->caller->org_id.n == 0)
        return true;
    if (!name_find(tx, NAME_ORG, tx->caller->org_id, org, err))
        return false;
    if (*org == 0)
        *org = -1;
    return true;
}

bool caller_wall(struct tx *tx, struct pawl_error *err)
{
    int64_t org = 0;
    return caller_org(tx, &org, err) && tx_wall(tx, org, err);
}

bool caller_limited(const struct tx *tx)
{
    return tx->caller && tx->caller->project_count > 0;
}

bool caller_sees_job(struct tx *tx, int64_t job, bool *sees, struct pawl_error *err)
{
    *sees = true;
    if (!caller_limited(tx))
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_JOB_PROJECT, err, INT(job)))
        return false;
    *sees = rows_next(&rows) && caller_sees(tx->caller, row_text(&rows));
    return rows_ok(&rows, err);
}

struct value caller_projects(struct tx *tx)
{
    if (!caller_limited(tx))
        return NONE;
    struct buf all = buf_new(tx->arena, tx->caller->project_count * (ID_TEXT + 1) + 1);
    for (size_t i = 0; i < tx->caller->project_count; i++)
        buf_addf(&all, "%.*s ", STR(tx->caller->projects[i]));
    return TEXT(buf_str(&all));
}

static void read_contract(struct rows *rows, struct job *job)
{
    struct contract *c = &job->contract;
    c->project_id = row_text(rows);
    c->actor_type = (enum actor_type)row_int(rows);
    c->actor_id = row_text(rows);
    c->request_id = row_text(rows);
    c->correlation_id = row_text(rows);
    c->idempotency_key = row_text(rows);
    c->payload = row_text(rows);
    c->scheduled_for = row_int(rows);
    c->traceparent = row_text(rows);
    c->serial_key = row_text(rows);
    c->max_wait_us = row_int(rows);
    c->authorized_by = row_text(rows);
    c->limit_key = row_text(rows);
    c->parent.high = row_int(rows);
    c->parent.low = row_int(rows);
    c->origin = row_text(rows);
    job->created_at = row_int(rows);
    job->priority = row_int(rows);
    c->priority = row_int(rows);
}

// What both queries begin with: the keys, the contract and the time an operator may have set.
static bool read_head(struct tx *tx, struct rows *rows, struct job *job, pawl_time *changed_run_at,
                      struct pawl_error *err)
{
    *job = (struct job){0};
    job->id.high = row_int(rows);
    job->id.low = row_int(rows);
    job->keys.org = row_int(rows);
    job->keys.type = row_int(rows);
    int64_t first_queue = row_int(rows);
    job->keys.queue = row_int(rows);
    job->keys.policy = row_int(rows);
    read_contract(rows, job);
    *changed_run_at = row_int(rows);
    return name_text(tx, NAME_ORG, job->keys.org, &job->contract.org_id, err)
        && name_text(tx, NAME_JOB_TYPE, job->keys.type, &job->contract.job_type, err)
        && name_text(tx, NAME_QUEUE, first_queue, &job->contract.queue, err)
        && name_text(tx, NAME_QUEUE, job->keys.queue, &job->queue, err)
        && policy_load(tx, job->keys.policy, &job->contract.policy, err);
}

// The facts of the job's place, then of its newest execution, then of its outcome.
struct record {
    struct job_facts facts;
    pawl_time changed_run_at, due_at;
    struct execution newest;
    pawl_time committed_at, ended_at;
    int64_t ended_by;  // the execution that ended it; 0: none, it was waiting
    enum error_class last_class;
    struct str last_message;
    bool readable;
};

static void read_place(struct rows *rows, struct record *r)
{
    r->facts.ready = row_int(rows) != 0;
    struct str reason = row_text(rows);
    r->due_at = row_int(rows);
    r->facts.parked = reason.n != 0;
    r->readable = !r->facts.parked || job_phase_parse(reason, &r->facts.parked_as);
}

static void read_newest(struct rows *rows, struct record *r)
{
    struct execution *e = &r->newest;
    e->id.high = row_int(rows);
    r->facts.has_execution = e->id.high != 0;
    e->attempt = row_int(rows);
    struct str status = row_text(rows);
    e->tally.attempts_used = row_int(rows);
    e->tally.retry_count = row_int(rows);
    e->tally.crash_count = row_int(rows);
    e->leased_at = row_int(rows);
    e->started_at = row_int(rows);
    e->committed_at = row_int(rows);
    e->finished_at = row_int(rows);
    e->cancel_requested_at = row_int(rows);
    struct str reason = row_text(rows);
    struct str class = row_text(rows);
    e->error_message = row_text(rows);
    e->progress_percent = row_is_null(rows) ? -1 : 0;
    e->progress_percent += row_int(rows);
    e->progress_message = row_text(rows);
    if (r->facts.has_execution)
        r->readable = r->readable && execution_status_parse(status, &r->facts.newest);
    e->status = r->facts.newest;
    if (reason.n)
        r->readable = r->readable && end_reason_parse(reason, &e->end_reason);
    if (class.n)
        r->readable = r->readable && error_class_parse(class, &e->error_class);
}

static void read_outcome(struct rows *rows, struct record *r, struct job *job)
{
    job->started_at = row_int(rows);
    r->committed_at = row_int(rows);
    r->ended_at = row_int(rows);
    r->facts.committed = r->committed_at != 0;
    r->facts.ended = r->ended_at != 0;
    struct str state = row_text(rows);
    struct str failure = row_text(rows);
    job->last_error = row_text(rows);
    job->dead_letter = row_text(rows);
    job->result = row_text(rows);
    r->ended_by = row_int(rows);
    if (r->facts.ended)
        r->readable = r->readable && job_state_parse(state, &r->facts.outcome);
    if (failure.n)
        r->readable = r->readable && failure_type_parse(failure, &job->failure_type);
}

static pawl_time later(pawl_time a, pawl_time b)
{
    return a > b ? a : b;
}

// What follows from the records: phase, state, counts and times.
static const char *derive(const struct record *r, struct job *job)
{
    const char *problem = "it holds a word this program does not know";
    if (!r->readable || !job_phase_of(&r->facts, &job->phase, &problem))
        return problem;
    const struct execution *e = &r->newest;
    bool ended = job->phase == PHASE_ENDED;
    job->state = ended ? r->facts.outcome : job_phase_state(job->phase);
    struct tally tally = e->tally;
    if (e->end_reason != END_NONE)  // another attempt was to follow unless this one ended the job
        tally = tally_after(&e->tally, e->end_reason, e->error_class, r->ended_by != e->id.high);
    job->attempt = e->attempt;
    job->attempts_used = tally.attempts_used;
    job->retry_count = tally.retry_count;
    job->completed_at = r->ended_at;
    job->cancel_requested_at = e->cancel_requested_at;
    job->progress_percent = r->facts.has_execution ? e->progress_percent : -1;
    job->progress_message = e->progress_message;
    if (job->state != JOB_SUCCEEDED && r->last_class != ERROR_NONE) {
        job->last_error = r->last_message;
        job->error_class = r->last_class;
    }
    if (!r->facts.has_execution && str_starts(job->last_error, ENDED_INVALID))
        job->error_class = ERROR_VALIDATION;
    if (job->dead_letter.n)
        job_bury(job);
    job->run_at = r->due_at ? r->due_at : r->changed_run_at;
    if (!job->run_at)
        job->run_at = later(job->created_at, job->contract.scheduled_for);
    job->updated_at = later(later(job->created_at, r->ended_at),
                            later(later(e->leased_at, e->started_at),
                                  later(e->committed_at, e->finished_at)));
    return job_problem(job);
}

// JOB-5: the last error stays until the job succeeds, also while the next attempt is under way.
static bool read_last_error(struct tx *tx, struct record *r, int64_t job, struct pawl_error *err)
{
    r->last_class = r->newest.error_class;
    r->last_message = r->newest.error_message;
    if (r->newest.attempt < 2 || r->last_class != ERROR_NONE)
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_EXECUTION_LAST_ERROR, err, INT(job)))
        return false;
    if (rows_next(&rows)) {
        r->readable = error_class_parse(row_text(&rows), &r->last_class) && r->readable;
        r->last_message = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

static bool read_job(struct tx *tx, struct rows *rows, struct job *job, const char **problem,
                     struct pawl_error *err)
{
    struct record record = {0};
    if (!read_head(tx, rows, job, &record.changed_run_at, err))
        return false;
    read_place(rows, &record);
    read_newest(rows, &record);
    read_outcome(rows, &record, job);
    if (!read_last_error(tx, &record, job->id.high, err) || !links_read(tx, job, err))
        return false;
    *problem = derive(&record, job);
    return true;
}

// Which job; NONE stands for any.
struct wanted {
    int64_t high;
    struct value low, org;
    const struct caller *caller;  // who must be allowed to see its project; NULL: nobody
};

static bool examine(struct tx *tx, const struct wanted *wanted, struct job *job,
                    const char **problem, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_JOB_LOAD, err, INT(wanted->high), wanted->low, wanted->org))
        return false;
    bool exists = rows_next(&rows);
    if (exists && !read_job(tx, &rows, job, problem, err))
        return false;
    if (exists && caller_sees(wanted->caller, job->contract.project_id))
        return true;
    struct id id = { wanted->high, wanted->low.number };
    return rows_ok(&rows, err)
        && fail(err, PAWL_NOT_FOUND, "there is no job %.*s", STR(id_text(tx->arena, id)));
}

static bool sound(struct tx *tx, const struct job *job, const char *problem,
                  struct pawl_error *err)
{
    return !problem
        || fail(err, PAWL_DAMAGED, "the records of job %.*s are damaged: %s; run `pawl verify`",
                STR(id_text(tx->arena, job->id)), problem);
}

static bool load(struct tx *tx, const struct wanted *wanted, struct job *job,
                 struct pawl_error *err)
{
    const char *problem = NULL;
    return examine(tx, wanted, job, &problem, err) && sound(tx, job, problem, err);
}

bool job_look(struct tx *tx, struct id id, struct job *job, const char **problem,
              struct pawl_error *err)
{
    int64_t org = 0;
    *problem = NULL;
    return caller_org(tx, &org, err)
        && examine(tx, &(struct wanted){ id.high, INT(id.low), INT_OR_NONE(org), tx->caller }, job,
                   problem, err);
}

bool job_load(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    const char *problem = NULL;
    return job_look(tx, id, job, &problem, err) && sound(tx, job, problem, err);
}

bool job_load_row(struct tx *tx, int64_t high, struct job *job, struct pawl_error *err)
{
    return load(tx, &(struct wanted){ high, NONE, NONE, NULL }, job, err);
}

static bool is_place_of(const struct waiting *place, const struct job *job)
{
    return place->org == job->keys.org && place->queue == job->keys.queue
        && place->type == job->keys.type && place->rank == -job->priority;
}

// Without an attempt there is no execution, and so no outcome of one; `ready` is where it is. The
// keys of `executions` refuse a lease if that is not so.
bool job_read_new(struct tx *tx, struct rows *rows, const struct waiting *place,
                  struct loaded *loaded, struct pawl_error *err)
{
    struct record record = { .readable = true };
    struct job *job = &loaded->job;
    if (!read_head(tx, rows, job, &record.changed_run_at, err))
        return false;
    record.facts.ready = is_place_of(place, job);
    loaded->problem = row_int(rows) != 0 ? "it is in more than one place at once"
                                         : derive(&record, job);
    return links_read(tx, job, err);
}

static bool load_new(struct tx *tx, const struct waiting *place, struct loaded *loaded,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    loaded->problem = NULL;
    if (!sql_ask(tx, &rows, Q_JOB_LOAD_NEW, err, INT(place->job)))
        return false;
    if (rows_next(&rows))
        return job_read_new(tx, &rows, place, loaded, err);
    return rows_ok(&rows, err)
        && fail(err, PAWL_DAMAGED, "a job is ready and does not exist; run `pawl verify`");
}

// One that ran before is looked at as a whole, and may be sound where it really is.
static bool load_again(struct tx *tx, const struct waiting *place, struct job *job,
                       struct pawl_error *err)
{
    if (!job_load_row(tx, place->job, job, err))
        return false;
    bool there = job->phase == PHASE_READY && is_place_of(place, job);
    return sound(tx, job, there ? NULL : "it is ready in a place that is not its own", err);
}

bool job_load_ready(struct tx *tx, const struct waiting *place, struct job *job,
                    struct pawl_error *err)
{
    struct loaded fresh;
    const struct loaded *loaded = place->loaded;
    if (place->attempt > 0)
        return load_again(tx, place, job, err);
    if (!loaded && !load_new(tx, place, &fresh, err))
        return false;
    if (!loaded)
        loaded = &fresh;
    *job = loaded->job;
    return sound(tx, job, loaded->problem, err);
}

bool job_examine(struct tx *tx, int64_t high, struct job *job, const char **problem,
                 struct pawl_error *err)
{
    return examine(tx, &(struct wanted){ high, NONE, NONE, NULL }, job, problem, err);
}
