// Counting down: every join adds one, every end takes one away, and at nought the batch has ended.
#include "engine/batch.h"

#include "engine/api_key.h"
#include "engine/event.h"
#include "engine/links.h"
#include "model/json_field.h"
#include "store/names.h"

#define CALL_AGAIN_US SECONDS(10)

// ----- reading

static bool read_batch(struct tx *tx, struct rows *rows, struct job_batch *b,
                       struct pawl_error *err)
{
    *b = (struct job_batch){0};
    b->id.high = row_int(rows);
    b->id.low = row_int(rows);
    b->org = row_int(rows);
    b->org_id = row_text(rows);
    b->project_id = row_text(rows);
    b->name = row_text(rows);
    b->idempotency_key = row_text(rows);
    b->created_at = row_int(rows);
    b->creator.actor_type = (enum actor_type)row_int(rows);
    b->creator.actor_id = row_text(rows);
    b->creator.request_id = row_text(rows);
    b->creator.correlation_id = row_text(rows);
    b->jobs = row_int(rows);
    b->succeeded = row_int(rows);
    b->failed = row_int(rows);
    b->timed_out = row_int(rows);
    b->ended_at = row_int(rows);
    b->callback.job_type = row_text(rows);
    b->callback.queue = row_text(rows);
    int64_t policy = row_int(rows);
    b->callback.priority = row_int(rows);
    b->callback.serial_key = row_text(rows);
    b->callback.payload = row_text(rows);
    b->callback_job.high = row_int(rows);
    b->callback_job.low = row_int(rows);
    return policy == 0 || policy_load(tx, policy, &b->callback.policy, err);
}

// Which batch; NONE stands for any.
static bool find(struct tx *tx, int64_t high, struct value low, struct value org,
                 struct job_batch *batch, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *batch = (struct job_batch){0};
    if (!sql_ask(tx, &rows, Q_BATCH_LOAD, err, INT(high), low, org))
        return false;
    if (rows_next(&rows) && !read_batch(tx, &rows, batch, err))
        return false;
    return rows_ok(&rows, err);
}

bool batch_load(struct tx *tx, struct id id, struct job_batch *batch, struct pawl_error *err)
{
    int64_t org = 0;
    if (!caller_org(tx, &org, err)
        || !find(tx, id.high, INT(id.low), INT_OR_NONE(org), batch, err))
        return false;
    return (batch->id.high && caller_sees(tx->caller, batch->project_id))
        || fail(err, PAWL_NOT_FOUND, "there is no batch %.*s", STR(id_text(tx->arena, id)));
}

bool batch_open_to(struct tx *tx, int64_t org, struct id id, bool *exists, struct pawl_error *err)
{
    struct job_batch batch;
    if (!find(tx, id.high, INT(id.low), INT(org), &batch, err))
        return false;
    *exists = batch.id.high != 0 && caller_sees(tx->caller, batch.project_id);
    return !*exists || !batch.ended_at
        || fail(err, PAWL_CONFLICT, "batch_id: batch %.*s has ended: nothing can join it any more",
                STR(id_text(tx->arena, id)));
}

// ----- its end

static bool tell(struct tx *tx, const struct job_batch *b, enum event event, struct pawl_error *err)
{
    struct str id = id_text(tx->arena, b->id);
    SCOPED(json) json_t *detail =
        json_pack("{s:I,s:I,s:I,s:I}", "jobs", (json_int_t)b->jobs, "succeeded",
                  (json_int_t)b->succeeded, "failed", (json_int_t)b->failed, "timed_out",
                  (json_int_t)b->timed_out);
    return event_append_for(tx, b->org, str_format(tx->arena, "batch:%.*s", STR(id)), event,
                            json_text(tx->arena, detail), err);
}

// The payload that was given, with what became of the jobs.
static struct str callback_payload(struct tx *tx, const struct job_batch *b)
{
    struct str id = id_text(tx->arena, b->id);
    SCOPED(json) json_t *payload = json_of(b->callback.payload);
    json_t *numbers =
        json_pack("{s:s%,s:o,s:I,s:I,s:I,s:I}", "batch_id", id.s, id.n, "name",
                  json_text_or_null(b->name), "jobs", (json_int_t)b->jobs, "succeeded",
                  (json_int_t)b->succeeded, "failed", (json_int_t)b->failed, "timed_out",
                  (json_int_t)b->timed_out);
    if (json_object_set_new(payload, "batch", numbers) != 0)
        tx->arena->failed = true;
    return json_text(tx->arena, payload);
}

// In the name of whoever made the batch.
static struct contract callback_contract(struct tx *tx, const struct job_batch *b)
{
    struct contract contract = b->callback;
    contract.org_id = b->org_id;
    contract.project_id = b->project_id;
    contract.actor_type = b->creator.actor_type;
    contract.actor_id = b->creator.actor_id;
    contract.request_id = b->creator.request_id;
    contract.correlation_id = b->creator.correlation_id;
    contract.idempotency_key = str_format(tx->arena, "batch:%.*s:callback",
                                          STR(id_text(tx->arena, b->id)));
    contract.payload = callback_payload(tx, b);
    return contract;
}

// A job that has the key of the callback is not it: there is none before the batch ends. Then the
// callback has a key of its own.
static bool enqueue_callback(struct tx *tx, const struct job_batch *b, struct job *job,
                             struct pawl_error *err)
{
    struct contract contract = callback_contract(tx, b);
    struct pawl_error why = {0};
    bool known = false;
    bool done = job_enqueue(tx, &contract, job, &known, &why);
    if (done && !known)
        return true;
    if (!done && why.code != PAWL_KEY_REUSED)
        return fail(err, why.code, "%s", why.message);
    contract.idempotency_key = S("");
    return job_enqueue(tx, &contract, job, &known, err);
}

static bool call_later(struct tx *tx, const struct job_batch *b, struct pawl_error *err)
{
    return sql_run(tx, Q_BATCH_CALL_LATER, err, INT(b->id.high), INT(tx->now + CALL_AGAIN_US));
}

// The end of a job never fails because its batch's callback is refused: that is tried again. Nor
// does it on a full disk, which takes no new job while others end (OPS-9).
static bool call_back(struct tx *tx, const struct job_batch *b, struct pawl_error *err)
{
    struct job job;
    struct pawl_error why = {0};
    const struct caller *caller = tx->caller;
    if (db_is_short(tx->db))
        return call_later(tx, b, err);
    tx->caller = &caller_pawl;
    bool made = enqueue_callback(tx, b, &job, &why);
    tx->caller = caller;
    if (made)
        return sql_run(tx, Q_BATCH_CALLED_BACK, err, INT(b->id.high), INT(job.id.high));
    if (!pawl_code(why.code)->refusal)
        return fail(err, why.code, "%s", why.message);
    return call_later(tx, b, err);
}

bool batch_call_back(struct tx *tx, int64_t key, struct pawl_error *err)
{
    struct job_batch batch;
    return find(tx, key, NONE, NONE, &batch, err) && call_back(tx, &batch, err);
}

static bool end(struct tx *tx, int64_t key, struct pawl_error *err)
{
    struct job_batch batch;
    return sql_run(tx, Q_BATCH_END, err, INT(key), INT(tx->now))
        && find(tx, key, NONE, NONE, &batch, err) && tell(tx, &batch, EVENT_BATCH_ENDED, err)
        && (batch.callback.job_type.n == 0 || call_back(tx, &batch, err));
}

static bool count(struct tx *tx, int64_t key, enum job_state state, int64_t *left,
                  struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_BATCH_COUNT, err, INT(key), INT(state == JOB_SUCCEEDED),
                   INT(state == JOB_FAILED), INT(state == JOB_TIMED_OUT))
        && rows_number(&rows, left, err);
}

bool batch_member_ended(struct tx *tx, int64_t key, enum job_state state, struct pawl_error *err)
{
    int64_t left = 0;
    return count(tx, key, state, &left, err) && (left > 0 || end(tx, key, err));
}

bool batch_joined(struct tx *tx, int64_t key, struct pawl_error *err)
{
    return sql_run(tx, Q_BATCH_JOIN, err, INT(key), INT(1));
}

// ----- making one

void callback_check(const struct contract *c, bool keyed, const char *prefix,
                    struct problems *problems)
{
    const struct {
        const char *field;
        bool given;
    } refused[] = {
        { "idempotency_key", keyed },
        { "scheduled_for", c->scheduled_for != 0 },
        { "max_wait", c->max_wait_us != 0 },
        { "after", c->after_count > 0 },
        { "batch_id", c->batch.high != 0 },
        { "submit", c->hold },
        { "authorized_by", c->authorized_by.n > 0 },
        { "limit_key", c->limit_key.n > 0 },
    };
    for (size_t i = 0; i < countof(refused); i++)
        if (refused[i].given)
            problem_add(problems, str_format(problems->arena, "%s%s", prefix, refused[i].field).s,
                        "is not for a callback: it runs when the last job of the batch has ended");
    SCOPED(json) json_t *payload = json_of(c->payload);
    if (json_object_get(payload, "batch"))
        problem_add(problems, str_format(problems->arena, "%spayload.batch", prefix).s,
                    "is what Pawl puts there: the numbers of the batch");
    if (c->payload.n > PAYLOAD_BYTES_MAX - BATCH_ROOM_BYTES)
        problem_add(problems, str_format(problems->arena, "%spayload", prefix).s,
                    "must leave %d bytes of its maximum for the numbers of the batch",
                    BATCH_ROOM_BYTES);
}

static bool of_key(struct tx *tx, const struct batch_request *r, int64_t org, struct id *id,
                   struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *id = (struct id){0};
    if (r->idempotency_key.n == 0)
        return true;
    if (!sql_ask(tx, &rows, Q_BATCH_OF_KEY, err, INT(org), TEXT(r->project_id),
                 TEXT(r->idempotency_key)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err);
    id->high = row_int(&rows);
    id->low = row_int(&rows);
    return str_eq(row_text(&rows), r->content)
        || fail(err, PAWL_KEY_REUSED, "idempotency key %.*s belongs to batch %.*s, whose content "
                                      "is another: use a new key for a new batch",
                STR(r->idempotency_key), STR(id_text(tx->arena, *id)));
}

static bool insert(struct tx *tx, const struct batch_request *r, int64_t org, struct id *id,
                   struct pawl_error *err)
{
    static const struct contract none;
    const struct contract *c = r->callback ? r->callback : &none;
    const struct contract *first = &r->jobs[0];
    int64_t policy = 0;
    if (!id_make(tx, ID_BATCH, id, err)
        || (r->callback && !policy_intern(tx, &c->policy, &policy, err)))
        return false;
    return sql_run(tx, Q_BATCH_INSERT, err, INT(id->high), INT(id->low), INT(org),
                   TEXT_OR_NONE(r->project_id), TEXT_OR_NONE(r->name),
                   TEXT_OR_NONE(r->idempotency_key), TEXT(r->content), INT(tx->now),
                   INT((int64_t)first->actor_type), TEXT(first->actor_id),
                   TEXT(first->request_id), TEXT(first->correlation_id),
                   TEXT_OR_NONE(c->job_type), TEXT_OR_NONE(c->queue), INT_OR_NONE(policy),
                   INT(c->priority), TEXT_OR_NONE(c->serial_key), TEXT_OR_NONE(c->payload));
}

// Every job of every job that there is not, by its place.
static bool links_exist(struct tx *tx, const struct batch_request *r, struct pawl_error *err)
{
    for (size_t i = 0; i < r->count; i++) {
        struct link_plan plan;
        const char *prefix = str_format(tx->arena, "jobs[%zu].", i).s;
        if (r->jobs[i].after_count > 0
            && !links_plan(tx, &r->jobs[i], prefix, r->problems, &plan, err))
            return false;
    }
    return problems_none(r->problems, err);
}

static bool add_job(struct tx *tx, const struct batch_request *r, size_t i, struct id batch,
                    struct pawl_error *err)
{
    struct contract contract = r->jobs[i];
    struct pawl_error why = {0};
    struct job job;
    bool known = false;
    contract.batch = batch;
    if (!job_enqueue(tx, &contract, &job, &known, &why))
        return fail(err, why.code, "jobs[%zu]: %s", i, why.message);
    return !known
        || fail(err, PAWL_KEY_REUSED, "jobs[%zu].idempotency_key: belongs to job %.*s, and the "
                                      "jobs of a batch must be new",
                i, STR(id_text(tx->arena, job.id)));
}

// It was one of its own jobs; from here on only those count.
static bool made(struct tx *tx, struct id id, struct pawl_error *err)
{
    int64_t left = 0;
    struct job_batch batch;
    return sql_run(tx, Q_BATCH_JOIN, err, INT(id.high), INT(-1))
        && find(tx, id.high, NONE, NONE, &batch, err)
        && tell(tx, &batch, EVENT_BATCH_CREATED, err)
        && count(tx, id.high, JOB_QUEUED, &left, err) && (left > 0 || end(tx, id.high, err));
}

static bool make(struct tx *tx, const struct batch_request *r, struct job_batch *batch,
                 struct pawl_error *err)
{
    struct id id;
    int64_t org = 0;
    if (!org_intern(tx, r->org_id, &org, err) || !insert(tx, r, org, &id, err))
        return false;
    for (size_t i = 0; i < r->count; i++)
        if (!add_job(tx, r, i, id, err))
            return false;
    return made(tx, id, err) && find(tx, id.high, NONE, NONE, batch, err);
}

bool batch_create(struct tx *tx, const struct batch_request *given, struct job_batch *batch,
                  bool *known, struct pawl_error *err)
{
    struct batch_request r = *given;
    struct pawl_error why = {0};
    struct id id;
    int64_t org = 0;
    const char *problem = caller_project(tx->caller, &r.project_id);
    if (problem)
        return fail(err, PAWL_INVALID, "project_id: %s", problem);
    if (!name_find(tx, NAME_ORG, r.org_id, &org, err) || !of_key(tx, &r, org, &id, err))
        return false;
    *known = id.high != 0;
    if (*known)
        return batch_load(tx, id, batch, err);
    if (!links_exist(tx, &r, err) || !tx_mark(tx, err))
        return false;
    if (make(tx, &r, batch, &why))
        return tx_keep(tx, err);
    return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
}
