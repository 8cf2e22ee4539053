// What clients, workers and operators do with jobs.
#include "engine/api_key.h"
#include "engine/job_bulk.h"
#include "engine/letter.h"
#include "engine/queue.h"
#include "rich_store.h"
#include "scenarios.h"

bool script_add(struct script *s, struct tx *tx, const struct contract *contract,
                struct pawl_error *err)
{
    struct job job;
    bool deduplicated;
    if (!job_enqueue(tx, contract, &job, &deduplicated, err))
        return false;
    s->job[0] = job.id;
    return true;
}

enum { MANY = 40 };

// --- enqueueing

bool deed_enqueue(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "plain");
    return script_add(s, tx, &contract, err);
}

static bool enqueue_keyed(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "keyed");
    contract.idempotency_key = S("one key");
    return script_add(s, tx, &contract, err);
}

static bool enqueue_serial(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "serial");
    contract.serial_key = S("K");
    return script_add(s, tx, &contract, err) && script_add(s, tx, &contract, err);
}

static bool enqueue_delayed(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "delayed");
    contract.scheduled_for = tx->now + HOURS(1);
    return script_add(s, tx, &contract, err);
}

bool deed_enqueue_large(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "large");
    struct buf payload = buf_new(tx->arena, 40000);
    buf_addf(&payload, "{\"text\":\"%030000d\"}", 0);
    contract.payload = buf_str(&payload);
    return script_add(s, tx, &contract, err);
}

bool play_enqueue(struct script *s, struct pawl_error *err)
{
    static script_deed *const deeds[] = { deed_enqueue, enqueue_keyed, enqueue_serial,
                                          enqueue_delayed, deed_enqueue_large, enqueue_keyed };
    for (size_t i = 0; i < countof(deeds); i++)
        if (!script_do(s, deeds[i], err))
            return false;
    return true;
}

bool deed_enqueue_many(struct script *s, struct tx *tx, struct pawl_error *err)
{
    for (int i = 0; i < MANY; i++)
        if (!(i % 2 ? deed_enqueue : enqueue_delayed)(s, tx, err))
            return false;
    return true;
}

bool play_enqueue_many(struct script *s, struct pawl_error *err)
{
    return script_do(s, deed_enqueue_many, err) && script_do(s, deed_enqueue_many, err);
}

// --- work

void prepare_two_jobs(struct script *s)
{
    must_enqueue(s->box, "first");
    must_enqueue(s->box, "second");
}

static bool claim(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct claim claim = { .worker = worker_named("W"), .every_queue = true, .limit = 1 };
    struct claimed *claimed = NULL;
    size_t count = 0;
    if (!execution_claim(tx, &claim, &claimed, &count, err))
        return false;
    if (count == 0)
        return fail(err, PAWL_NOT_FOUND, "there is nothing to claim");
    s->lease[0] = lease_of(&claimed[0].execution, &claim.worker);
    return true;
}

static bool start(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    return execution_start(tx, &s->lease[0], &e, err);
}

static bool heartbeat(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    return execution_heartbeat(tx, &s->lease[0], &(struct progress){ 50, S("half") }, &e, err);
}

static bool commit(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    struct contract child = contract_for(s->box, "child");
    struct commit commit = { .result = S("{\"n\":1}"), .follow_ups = &child, .follow_up_count = 1 };
    return execution_commit(tx, &s->lease[0], &commit, &e, err);
}

static bool done(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    return execution_done(tx, &s->lease[0], &e, err);
}

bool deed_commit_done(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    return execution_commit(tx, &s->lease[0], &(struct commit){ .done = true }, &e, err);
}

bool script_take(struct script *s, struct pawl_error *err)
{
    return script_do(s, claim, err) && script_do(s, start, err);
}

bool play_work(struct script *s, struct pawl_error *err)
{
    return script_take(s, err) && script_do(s, heartbeat, err) && script_do(s, commit, err)
        && script_do(s, done, err) && script_take(s, err) && script_do(s, deed_commit_done, err);
}

static bool fail_now(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    struct work_error error = { .class = ERROR_TRANSIENT, .message = S("no luck") };
    return execution_fail(tx, &s->lease[0], &error, &e, err);
}

static bool fail_for_good(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    struct work_error error = { .class = ERROR_VALIDATION, .message = S("never") };
    return execution_fail(tx, &s->lease[0], &error, &e, err);
}

static bool release(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct execution e;
    return execution_release(tx, &s->lease[0], &e, err);
}

bool play_fail(struct script *s, struct pawl_error *err)
{
    return script_take(s, err) && script_do(s, fail_now, err) && script_take(s, err)
        && script_do(s, fail_for_good, err);
}

static bool put_step(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct step step;
    return step_put(tx, &s->lease[0], S("load"), S("{\"rows\":3}"), &step, err);
}

static bool fail_step(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct step step;
    return step_fail(tx, &s->lease[0], S("store"), S("no luck"), &step, err);
}

bool play_steps(struct script *s, struct pawl_error *err)
{
    return script_take(s, err) && script_do(s, put_step, err) && script_do(s, fail_step, err)
        && script_do(s, deed_commit_done, err) && script_do(s, claim, err)
        && script_do(s, release, err);
}

// --- an operator

void prepare_changeable(struct script *s)
{
    s->job[1] = must_enqueue(s->box, "waits").id;
    s->job[2] = must_enqueue(s->box, "runs").id;
    take(s->box, "runs", true);
    s->job[3] = must_enqueue(s->box, "dead").id;
    struct lease lease = take(s->box, "dead", true);
    must_fail(s->box, &lease, ERROR_VALIDATION);
}

bool deed_cancel_waiting(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job job;
    return job_cancel(tx, s->job[1], &job, err);
}

static bool cancel_running(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job job;
    return job_cancel(tx, s->job[2], &job, err);
}

bool play_cancel(struct script *s, struct pawl_error *err)
{
    return script_do(s, deed_cancel_waiting, err) && script_do(s, cancel_running, err);
}

static bool retry_dead(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job job;
    return job_retry(tx, s->job[3], &job, err);
}

bool play_retry(struct script *s, struct pawl_error *err)
{
    return script_do(s, retry_dead, err);
}

static bool discard_dead(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job job;
    return letter_discard(tx, s->job[3], S("of no use"), &job, err);
}

static bool cancel_all(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job_bulk bulk = { .filter = { .queue = S("q:default"), .limit = 100 } };
    (void)s;
    return jobs_change(tx, &bulk, err);
}

bool play_clear_up(struct script *s, struct pawl_error *err)
{
    return script_do(s, discard_dead, err) && script_do(s, cancel_all, err);
}

static bool pause_queue(struct script *s, struct tx *tx, struct pawl_error *err)
{
    (void)s;
    return queue_pause(tx, S("q:default"), err);
}

static bool purge_queue(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct purge purge = { .queue = S("q:default") };
    (void)s;
    while (!purge.done)
        if (!queue_purge(tx, &purge, 100, err))
            return false;
    return true;
}

static bool resume_queue(struct script *s, struct tx *tx, struct pawl_error *err)
{
    (void)s;
    return queue_resume(tx, S("q:default"), err);
}

bool play_queues(struct script *s, struct pawl_error *err)
{
    return script_do(s, pause_queue, err) && script_do(s, purge_queue, err)
        && script_do(s, resume_queue, err);
}

static bool create_key(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct key_request request = {
        .world = &s->box->world.world,
        .env = S("test"),
        .org_id = s->box->caller.org_id,
        .role = ROLE_WORKER,
    };
    struct key key;
    char text[KEY_TEXT_BYTES_MAX + 1];
    return key_create(tx, &request, &key, text, err) && key_revoke(tx, key.key_id, &key, err);
}

bool play_api_keys(struct script *s, struct pawl_error *err)
{
    return script_do(s, create_key, err);
}
