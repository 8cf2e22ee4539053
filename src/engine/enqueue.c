// Storing jobs: the idempotency key decides whether there is a new one.
//
// The hash of (org, project, key) finds the records; the full key, on the job, is always compared.
// All of it happens under the write lock, so two callers with one key get one job.
#include <assert.h>

#include "engine/api_key.h"
#include "engine/artifact.h"
#include "engine/erase.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/letter.h"
#include "engine/links.h"
#include "engine/place.h"
#include "engine/queue.h"
#include "model/input.h"
#include "store/key_index.h"
#include "store/names.h"

enum { RETRIES_MAX = 10000 };

// The key's record, if there is one, and the job that has the key by it.
struct key_slot {
    struct key_search search;
    struct key_record record;
    bool taken;
    struct job holder;
};

static bool same_key(const struct contract *a, const struct contract *b)
{
    return str_eq(a->org_id, b->org_id) && str_eq(a->project_id, b->project_id)
        && str_eq(a->idempotency_key, b->idempotency_key);
}

// A job that retention removed has no key any more.
static bool holder_load(struct tx *tx, struct key_slot *slot, struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (job_load_row(tx, slot->record.job, &slot->holder, &why))
        return true;
    slot->holder = (struct job){0};
    return why.code == PAWL_NOT_FOUND || fail(err, why.code, "%s", why.message);
}

static bool slot_find(struct tx *tx, const struct contract *contract, struct key_slot *slot,
                      struct pawl_error *err)
{
    const struct str parts[] = { contract->org_id, contract->project_id,
                                 contract->idempotency_key };
    *slot = (struct key_slot){0};
    if (!key_search_start(tx, parts, countof(parts), &slot->search, err))
        return false;
    do {
        if (!key_search_next(tx, &slot->search, &slot->record, err))
            return false;
        if (slot->record.job == 0)
            return true;
        if (!holder_load(tx, slot, err))
            return false;
    } while (!same_key(contract, &slot->holder.contract));
    slot->taken = true;
    return true;
}

// The key's time to live counts from its first use and never ends before its job does.
static bool forgotten(const struct tx *tx, const struct job *holder)
{
    return job_state_final(holder->state)
        && tx->now - holder->created_at >= holder->contract.policy.key_ttl_us;
}

static bool slot_take(struct tx *tx, const struct key_slot *slot, const struct job *job,
                      struct pawl_error *err)
{
    pawl_time expires_at = 0;
    if (__builtin_add_overflow(tx->now, job->contract.policy.key_ttl_us, &expires_at))
        expires_at = INT64_MAX;
    return key_put(tx, &slot->search, &slot->record, job->id.high, expires_at, err);
}

static bool deduplicate(struct tx *tx, const struct contract *contract, struct key_slot *slot,
                        struct job *job, struct pawl_error *err)
{
    const struct job *holder = &slot->holder;
    struct contract asked = *contract;
    if (asked.time_in_key)
        asked.scheduled_for = holder->contract.scheduled_for;
    if (!str_eq(contract_hash(tx->arena, &asked), contract_hash(tx->arena, &holder->contract)))
        return fail(err, PAWL_KEY_REUSED, "idempotency key %.*s belongs to job %.*s, whose type, "
                    "payload, serial key or time is another: use a new key for a new job",
                    STR(contract->idempotency_key), STR(id_text(tx->arena, holder->id)));
    *job = *holder;
    return sql_run(tx, Q_KEY_SEEN, err, INT(slot->record.slot), INT(tx->now));
}

static bool not_too_old(struct tx *tx, const struct contract *contract, struct pawl_error *err)
{
    if (contract->scheduled_for == 0 || contract->scheduled_for >= tx->now - CLOCK_DRIFT_US
        || contract->policy.slot     // how late a slot may be, its schedule says
        || contract->id.high != 0)   // it was looked at when the id was promised
        return true;
    return fail(err, PAWL_INVALID, "scheduled_for: lies more than 60 s in the past");
}

static pawl_time first_run_at(const struct tx *tx, const struct contract *c)
{
    pawl_time at = c->scheduled_for > c->not_before ? c->scheduled_for : c->not_before;
    return at > tx->now ? at : tx->now;
}

static bool store(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    const struct contract *c = &job->contract;
    const struct value values[] = {
        INT(job->id.high), INT(job->id.low), INT(job->keys.org), INT(job->keys.type),
        INT(job->keys.queue), INT(c->priority), INT(job->keys.policy), INT(tx->now),
        INT_OR_NONE(c->scheduled_for), INT_OR_NONE(c->max_wait_us), TEXT_OR_NONE(c->serial_key),
        TEXT(c->idempotency_key), TEXT_OR_NONE(c->project_id), INT((int64_t)c->actor_type),
        TEXT(c->actor_id), TEXT(c->request_id), TEXT(c->correlation_id),
        TEXT_OR_NONE(c->traceparent), TEXT_OR_NONE(c->authorized_by),
        INT_OR_NONE(c->parent.high), TEXT_OR_NONE(c->origin), TEXT(c->payload),
        TEXT_OR_NONE(c->limit_key),
    };
    bool keyed = c->limit_key.n > 0;
    return db_later(tx, keyed ? Q_JOB_INSERT_KEYED : Q_JOB_INSERT, values,
                    countof(values) - !keyed, err);
}

static bool job_id(struct tx *tx, const struct contract *c, struct id *id, struct pawl_error *err)
{
    *id = c->id;
    return id->high != 0 || id_make(tx, ID_JOB, id, err);
}

static bool insert(struct tx *tx, const struct contract *c, struct job *job,
                   struct pawl_error *err)
{
    *job = (struct job){
        .contract = *c,
        .created_at = tx->now,
        .updated_at = tx->now,
        .queue = c->queue,
        .priority = c->priority,
        .run_at = first_run_at(tx, c),
        .progress_percent = -1,
    };
    return job_id(tx, c, &job->id, err)
        && org_intern(tx, c->org_id, &job->keys.org, err)
        && name_intern(tx, NAME_JOB_TYPE, c->job_type, &job->keys.type, err)
        && name_intern(tx, NAME_QUEUE, c->queue, &job->keys.queue, err)
        && policy_intern(tx, &c->policy, &job->keys.policy, err)
        && store(tx, job, err);
}

static bool limit_wait(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    if (job->contract.max_wait_us == 0)
        return true;
    pawl_time from = job->run_at > tx->now ? job->run_at : tx->now;
    return sql_run(tx, Q_WAIT_LIMIT_PUT, err, INT(job->id.high), INT(job->keys.org),
                   INT(from + job->contract.max_wait_us));
}

// CREATED -> QUEUED for a job that is in no place yet.
static bool enter_queue(struct tx *tx, struct job *job, struct pawl_error *err)
{
    struct waiting waiting = waiting_of(job);
    job_must_move(job, JOB_QUEUED, FAILURE_NONE);
    return place_queue(tx, &waiting, job->run_at, &job->phase, err) && limit_wait(tx, job, err);
}

static bool place_new(struct tx *tx, struct job *job, struct pawl_error *err)
{
    struct subject subject = job_subject(job);
    struct waiting waiting = waiting_of(job);
    job->state = JOB_CREATED;
    job->phase = PHASE_HELD;
    tx_flow(tx, job->keys.org, job->keys.queue, FLOW_ENQUEUED);
    if (!event_append_by_creator(tx, subject, EVENT_JOB_CREATED, err))
        return false;
    if (job->contract.hold)
        return place_park(tx, &waiting, PHASE_HELD, 0, err);
    return enter_queue(tx, job, err)
        && event_append_by_creator(tx, subject, EVENT_JOB_ENQUEUED, err);
}

// What is to be worked on is there, or the job is not stored.
static bool inputs_there(struct tx *tx, const struct contract *contract, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    return inputs_check(tx, contract, "", &problems, err) && problems_none(&problems, err);
}

// A job that waits for others, or is in a batch.
static bool create_linked(struct tx *tx, const struct contract *contract,
                          const struct key_slot *slot, struct job *job, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    struct link_plan plan;
    return links_plan(tx, contract, "", &problems, &plan, err) && problems_none(&problems, err)
        && insert(tx, contract, job, err) && slot_take(tx, slot, job, err)
        && links_put(tx, &plan, job, err) && place_new(tx, job, err)
        && links_placed(tx, job, err);
}

// What is left of a full disk is for ending the jobs that are there, and those that come of them.
static bool space_left(const struct tx *tx, const struct contract *contract,
                       struct pawl_error *err)
{
    return !db_is_short(tx->db) || contract->origin.n > 0
        || fail(err, PAWL_DISK_FULL, "the disk of the store is full: jobs are ended, cancelled and "
                                     "removed, and new ones taken again when there is room");
}

static bool create(struct tx *tx, const struct contract *contract, const struct key_slot *slot,
                   struct job *job, struct pawl_error *err)
{
    bool linked = contract->after_count > 0 || contract->batch.high != 0;
    bool has_inputs = policy_has_inputs(&contract->policy);
    if (!space_left(tx, contract, err) || !not_too_old(tx, contract, err)
        || !queue_has_room(tx, contract->queue, err)
        || (has_inputs && !inputs_there(tx, contract, err)))
        return false;
    bool created = linked ? create_linked(tx, contract, slot, job, err)
                          : insert(tx, contract, job, err) && slot_take(tx, slot, job, err)
                                && place_new(tx, job, err);
    assert(!created || !job_problem(job));
    return created && (!has_inputs || inputs_put(tx, job, err));
}

// A job without a key gets one that nobody else can have.
static void give_key(struct tx *tx, struct contract *contract)
{
    if (contract->idempotency_key.n == 0)
        contract->idempotency_key = id_text(tx->arena, id_after(0, tx->now, db_random(tx->db)));
}

// A key stores jobs of its own org and its own projects (OPS-10, OPS-18). A program that Pawl is
// part of may have many tenants.
static bool own_tenant(struct tx *tx, struct contract *contract, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    bool own_org = !caller || caller->actor_type != ACTOR_API_KEY
                || str_eq(caller->org_id, contract->org_id);
    const char *problem = caller_project(caller, &contract->project_id);
    if (!own_org)
        return fail(err, PAWL_INVALID, "org_id: is not the org of the caller");
    return !problem || fail(err, PAWL_INVALID, "project_id: %s", problem);
}

bool job_enqueue(struct tx *tx, const struct contract *given, struct job *job,
                 bool *deduplicated, struct pawl_error *err)
{
    struct contract contract = *given;
    struct key_slot slot;
    give_key(tx, &contract);
    if (!own_tenant(tx, &contract, err))
        return false;
    if (!slot_find(tx, &contract, &slot, err))
        return false;
    *deduplicated = slot.taken && !forgotten(tx, &slot.holder);
    return *deduplicated ? deduplicate(tx, &contract, &slot, job, err)
                         : create(tx, &contract, &slot, job, err);
}

bool job_submit(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    if (!job_load(tx, id, job, err))
        return false;
    if (!job_state_final(job->state) && job->state != JOB_CREATED)
        return fail(err, PAWL_CONFLICT, "job %.*s is %s: it was submitted already",
                    STR(id_text(tx->arena, id)), job_state_name(job->state));
    struct job queued = *job;
    bool moved = job_move(&queued, JOB_QUEUED, FAILURE_NONE, err);
    return moved && place_leave(tx, job, err) && enter_queue(tx, job, err)
        && event_append(tx, job_subject(job), EVENT_JOB_ENQUEUED, S(""), err)
        && links_placed(tx, job, err);
}

// Only a key that was made here ends in our number: a caller's own `order#41` is a stem as it is,
// or its retry would take the key of order 42.
static bool numbered(struct str origin)
{
    return str_eq(origin, S("retry")) || str_eq(origin, S("replay")) || str_eq(origin, S("fix"));
}

// `k` and, made by a retry, `k#3` have the stem `k`; the next number is 1 and 4.
static struct str key_stem(struct str key, struct str origin, int64_t *next)
{
    *next = 1;
    for (size_t i = numbered(origin) ? key.n : 0; i > 0; i--) {
        int64_t number = 0;
        if (key.s[i - 1] != '#')
            continue;
        if (str_int((struct str){ key.s + i, key.n - i }, &number) && number > 0
            && number < INT32_MAX) {
            *next = number + 1;
            return (struct str){ key.s, i - 1 };
        }
        break;
    }
    return key;
}

// The first `<key>#<n>` that nobody holds.
static bool free_key(struct tx *tx, const struct contract *old, struct contract *contract,
                     struct key_slot *slot, struct pawl_error *err)
{
    int64_t n = 1;
    struct str stem = key_stem(old->idempotency_key, old->origin, &n);
    for (int i = 0; i < RETRIES_MAX; i++, n++) {
        contract->idempotency_key = str_format(tx->arena, "%.*s#%lld", STR(stem), (long long)n);
        if (!slot_find(tx, contract, slot, err))
            return false;
        if (!slot->taken)
            return true;
    }
    return fail(err, PAWL_CONFLICT, "key %.*s has been retried %d times", STR(stem), RETRIES_MAX);
}

bool job_remake(struct tx *tx, const struct job *old, const struct remake *how, struct job *job,
                struct pawl_error *err)
{
    struct key_slot slot;
    struct contract contract = old->contract;
    if (how->payload.n == 0 && job_erased(old))
        return fail(err, PAWL_CONFLICT, "the payload of job %.*s was erased: it cannot run again",
                    STR(id_text(tx->arena, old->id)));
    contract.parent = old->id;
    contract.origin = how->origin;
    contract.scheduled_for = 0;
    contract.hold = false;
    if (how->payload.n)
        contract.payload = how->payload;
    if (tx->caller) {
        contract.actor_type = tx->caller->actor_type;
        contract.actor_id = tx->caller->actor_id;
        contract.request_id = tx->caller->request_id;
    }
    return free_key(tx, &old->contract, &contract, &slot, err)
        && create(tx, &contract, &slot, job, err);
}

bool job_retry(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    struct job old;
    if (!job_load(tx, id, &old, err))
        return false;
    if (!job_state_final(old.state))
        return fail(err, PAWL_CONFLICT, "job %.*s is %s: only a finished job can be retried",
                    STR(id_text(tx->arena, id)), job_state_name(old.state));
    return job_remake(tx, &old, &(struct remake){ .origin = S("retry") }, job, err)
        && (!letter_open(&old) || letter_close_by(tx, &old, LETTER_REPLAYED, job, err));
}
